//! `ask-answer`'s arguments.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::args::common::{Common, EXIT_CODES};
use crate::args::seen_round::SeenRound;
use crate::args::value_parsers;
use askbox_mailbox::{Address, Error, HostName, QuestionId};

const EXAMPLES: &str = "Examples:
  $ ask-answer list
  WORKFLOW  AGE  PROJECT  ASKED BY  QUESTION
  docs-42   2h   manual   reviewer  The sections overlap. How should we proceed?

  $ ask-answer list --filter 'project:manual overlap'

  $ ask-answer docs-42 merge

  Words of one's own that are close to an option:
  $ ask-answer docs-42 --text 'merged already'

  Several questions that were asked at once:
  $ ask-answer db-7 which=pg 'why=Staging has it'

  A long answer from a file, and a result of Claude Code's AskUserQuestion:
  $ ask-answer essay - < draft.md
  $ ask-answer docs-42 --file result.json

  A question of another machine:
  $ ask-answer build:docs-42 merge

  A workflow whose id is also a command:
  $ ask-answer -- list yes";

/// Answer the questions that agents posted
///
/// Without arguments, on a terminal: the inbox, which shows the pending questions and asks for their answers.
///
/// The question decides what fits as an answer: one value for a single question (quote several words), any number of keys for a
/// multi_choice, ID=VALUE pairs for several questions that were asked at once.
#[derive(Debug, Parser)]
#[command(name = "ask-answer", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = EXIT_CODES, after_long_help = [EXAMPLES, "\n\n", EXIT_CODES].concat())]
#[command(override_usage = "ask-answer [OPTIONS] ID ANSWER…\n       ask-answer [OPTIONS] COMMAND …\n       ask-answer")]
pub struct AskAnswer {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub reply: ReplyArgs,
    #[command(flatten)]
    pub common: Common,
}

/// The arguments of an answer, without the commands.
#[derive(Debug, Parser)]
#[command(name = "ask-answer")]
struct AnswerAlone {
    #[command(flatten)]
    reply: ReplyArgs,
    #[command(flatten)]
    common: Common,
}

impl AskAnswer {
    /// Parses the arguments of most calls, which are an answer. This is faster: clap would describe each command with its flags before it
    /// reads a word.
    ///
    /// Returns `None` for all other arguments, and for wrong ones. The whole description then parses them, or finds the words for the
    /// error.
    pub fn answer_alone(args: &[OsString]) -> Option<Self> {
        let names_a_command = |word: &OsString| word.to_str().is_some_and(Command::has_subcommand);
        if args.iter().any(names_a_command) {
            return None;
        }
        let AnswerAlone { reply, common } = crate::args::parse(args).ok()?;
        Some(Self { command: None, reply, common })
    }
}

#[derive(Debug, Args)]
pub struct ReplyArgs {
    // One argument holds both. clap reads a word as a command's name only before the first value.
    /// The workflow, and the answer to its question
    ///
    /// The answer `-` is read from standard input, without its last newline. An answer that begins with - or is a command follows `--`.
    #[arg(value_names = ["ID", "ANSWER"], num_args = 1.., allow_negative_numbers = true)]
    pub words: Vec<String>,
    /// Read the answer as JSON from a file; `-` is standard input
    ///
    /// The file holds text, a list (for a multi_choice), an object by question id (for several questions), or the result of Claude
    /// Code's AskUserQuestion ({"answers": {…}, "annotations": {…}}). Without an ID it holds resume entries of AG-UI, for questions of
    /// `ask-answer list --format ag-ui`.
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The name of the person who answers [default: $USER]
    #[arg(long, value_name = "NAME", global = true)]
    pub by: Option<String>,
    /// Answer only this round, not a newer question of the same workflow
    ///
    /// `show` prints it with a part of a hash, as in ID:HASH. Then the answer also counts only if the question is still as it was shown.
    #[arg(long, value_name = "QUESTION_ID", value_parser = value_parsers::round::<SeenRound>)]
    pub round: Option<SeenRound>,
    /// The answer is in the person's own words, even if it is close to an option
    ///
    /// Without this, an answer that looks like a misspelt option, or is nothing but a number or a letter, is refused.
    #[arg(long, global = true)]
    pub text: bool,
    /// A note for the agent, in addition to the answer
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// Take an answer that was given on another machine: an offer as JSON from a file, `-` for standard input; for programs
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub offer: Option<PathBuf>,
    /// Take the request of a person on another machine about a session, as JSON from a file, `-` for standard input; for programs
    #[arg(long, value_name = "FILE", conflicts_with = "offer", hide_short_help = true)]
    pub sessions: Option<PathBuf>,
}

#[derive(Debug, Subcommand, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Command {
    /// List the pending questions, by priority and then by age
    List {
        /// Only the questions that have all these words: in the id, the asker, the project or the question; also project:NAME, by:NAME, priority:N (at least N), is:live
        #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true)]
        filter: String,
        /// Whose questions: a machine of the configuration (`[peers.HOST]`), `local` or `all` [default: all; with --json local]
        #[arg(long, value_name = "HOST", value_parser = Hosts::parse)]
        host: Option<Hosts>,
        /// Print each question in another protocol's words, one object a line; the answers come back with `ask-answer --file -`
        #[arg(long, value_name = "FORMAT", value_enum, conflicts_with_all = ["json", "watch"])]
        format: Option<ListFormat>,
        /// With --json: print each question of this machine, and then each change, one object a line, until the reader goes; for programs
        #[arg(long)]
        watch: bool,
    },
    /// Show a workflow's question, or how its last one ended
    Show {
        /// The workflow; HOST:ID on another machine
        id: Address,
        /// How to print it [default: text]
        #[arg(long, value_name = "FORMAT", value_enum, conflicts_with = "json")]
        format: Option<Format>,
        /// Write one of the files beside the question to standard output, exactly as it was attached
        #[arg(long, value_name = "NAME", conflicts_with_all = ["format", "json"])]
        attachment: Option<String>,
    },
    /// Decline to answer; the agent is relaunched and told so
    Decline {
        /// The workflow; HOST:ID on another machine
        id: Address,
        /// The reason, for the agent
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
        /// Decline only this round
        #[arg(long, value_name = "QUESTION_ID", value_parser = value_parsers::round::<SeenRound>)]
        round: Option<SeenRound>,
        /// Refuse this tool call whenever the workflow makes it, without asking; needs --round, which says which call you have seen
        ///
        /// `ask-answer show` prints the command, and the call as a rule of `[approvals]`. Only exactly this call of this workflow is refused.
        /// To take it back: relaunch approve --revoke ID
        #[arg(long)]
        always: bool,
        /// End the session's turn as well, for the dialog of a live session; the agent is told nothing
        #[arg(long, conflicts_with_all = ["always", "note"])]
        stop: bool,
    },
    /// Ask back before you decide; the agent is relaunched with your question, and asks again
    #[command(after_help = "Examples:
  $ ask-answer ask-back docs-42 'Which section do you mean?'")]
    AskBack {
        /// The workflow; HOST:ID on another machine
        id: Address,
        /// Your question to the agent
        #[arg(value_name = "QUESTION", allow_hyphen_values = true)]
        question: String,
        /// Ask back only in this round
        #[arg(long, value_name = "QUESTION_ID", value_parser = value_parsers::round::<QuestionId>)]
        round: Option<QuestionId>,
    },
    /// Take an answer back; the question waits again
    ///
    /// This is possible as long as no run and no waiting process has taken the answer. An answer that was the asker's default cannot be
    /// taken back. A question whose time is over meanwhile stays open: no default applies to it any more.
    Undo {
        /// The workflow
        id: Address,
        /// Take only the answer of this round back
        #[arg(long, value_name = "QUESTION_ID", value_parser = value_parsers::round::<QuestionId>)]
        round: Option<QuestionId>,
    },
    /// Withdraw a question; no agent is relaunched
    Cancel {
        /// The workflow
        id: Address,
        /// The reason, for the record
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
        /// Withdraw also every question below the workflow; no agent of this tree is relaunched
        #[arg(long)]
        tree: bool,
        /// Withdraw only the question of this round, not a newer one of the same workflow
        #[arg(long, value_name = "QUESTION_ID", value_parser = value_parsers::round::<QuestionId>, conflicts_with = "tree")]
        round: Option<QuestionId>,
    },
    /// Write a long answer in $VISUAL or $EDITOR; or change a tool call before you allow it
    ///
    /// If the question is whether a tool call may be made, the editor opens with the call's text: a command of Bash, the content of Write,
    /// or the new text of Edit. You see what you have changed, and confirm it. Then exactly the changed call is made, one time, and the
    /// agent is told that you changed it.
    Edit {
        /// The workflow; HOST:ID on another machine
        id: Address,
        /// Read the call's new text from this file instead; `-` is standard input. Needs --round, which says which call you have seen
        #[arg(long, value_name = "FILE")]
        input: Option<PathBuf>,
        /// Change only the call of this round, as `show` prints it
        #[arg(long, value_name = "QUESTION_ID", value_parser = value_parsers::round::<SeenRound>)]
        round: Option<SeenRound>,
        /// A note for the agent, beside the answer or the changed call
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
}

askbox_mailbox::words!(Command);

impl Command {
    /// The names of all commands. The description of the arguments takes long to build, so an answer is compared with this list.
    pub const NAMES: &[&str] = <Self as strum::VariantNames>::VARIANTS;
}

/// The machines whose questions are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosts {
    /// All machines.
    All,
    /// This machine.
    Here,
    /// The machine with this name.
    One(HostName),
}

impl Hosts {
    fn parse(text: &str) -> Result<Self, Error> {
        Ok(match text {
            "all" => Self::All,
            "local" => Self::Here,
            name => Self::One(name.parse()?),
        })
    }
}

/// How `ask-answer list` prints the questions for programs of another protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// The interrupts of AG-UI
    AgUi,
}

/// How `ask-answer show` prints a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// The question's state and document
    Json,
    /// The input for Claude Code's AskUserQuestion
    AskUserQuestion,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_commands_are_those_of_the_answerers_description() {
        let described = AskAnswer::command();
        assert_eq!(described.get_subcommands().map(clap::Command::get_name).collect::<Vec<_>>(), Command::NAMES);
    }

    fn parse(line: &str) -> AskAnswer {
        AskAnswer::parse_from(std::iter::once("ask-answer").chain(line.split(' ')))
    }

    #[test]
    fn a_command_is_one_only_before_the_first_word() {
        for line in ["--mailbox list list --json", "list --mailbox m", "--json list"] {
            assert!(
                matches!(parse(line), AskAnswer { command: Some(Command::List { .. }), reply: ReplyArgs { words, .. }, .. } if words.is_empty()),
                "{line}"
            );
        }
        for (line, words) in [("wf list", ["wf", "list"]), ("-- list x", ["list", "x"]), ("wf --by bob -- list", ["wf", "list"])] {
            let parsed = parse(line);
            assert!(parsed.command.is_none() && parsed.reply.words == words, "{line}: {parsed:?}");
        }
        let parsed = parse("wf -1.5 --by bob");
        assert!(parsed.reply.words == ["wf", "-1.5"] && parsed.reply.by.as_deref() == Some("bob"));
    }

    #[test]
    fn an_answer_is_read_the_same_without_the_commands() {
        let short = |line: &[&str]| AskAnswer::answer_alone(&line.iter().map(OsString::from).collect::<Vec<_>>());
        for line in [
            &["ask-answer", "w", "merge"][..],
            &["ask-answer"],
            &["ask-answer", "w"],
            &["ask-answer", "--json", "w", "a", "b=c", "--note", "why", "--by=ann"],
            &["ask-answer", "w", "-3", "--mailbox", "/m", "--text"],
            &["ask-answer", "w", "--round", "15c96f27-091a-5dc1-bcce-0d2e49721bc0", "--", "--yes", "-x"],
            &["ask-answer", "w", "-f", "answer.json"],
            &["ask-answer", "--offer", "-"],
            &["ask-answer", "", "lists"],
        ] {
            let whole = AskAnswer::try_parse_from(line).unwrap();
            assert_eq!(format!("{:?}", short(line).unwrap()), format!("{whole:?}"));
        }
        for line in [
            &["ask-answer", "list"][..],
            &["ask-answer", "w", "--", "list"],
            &["ask-answer", "--mailbox", "/m", "ask-back", "w", "why?"],
            &["ask-answer", "w", "--nonsense"],
            &["ask-answer", "w", "--round", "1"],
            &["ask-answer", "--help"],
            &["ask-answer", "--version"],
        ] {
            assert!(short(line).is_none(), "{line:?}");
        }
    }
}
