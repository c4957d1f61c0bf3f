//! `ask-answer`'s arguments.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::surface::program::{Common, EXIT_CODES};

/// Answer the questions that agents left
///
/// On a terminal, without arguments: the inbox.
///
///   $ ask-answer list
///   WORKFLOW  AGE  ASKED BY  QUESTION
///   docs-42   2h   reviewer  The sections overlap. How should we proceed?
///
///   $ ask-answer docs-42 merge
///
/// What kind of answer fits is the question's to say: one value for one question (quote several
/// words), any number of keys for a multi_choice, ID=VALUE pairs for several questions asked at
/// once. `-` reads the value from standard input.
///
///   $ ask-answer db-7 which=pg 'why=It is what staging has'
///
///   $ ask-answer essay - < draft.md
///
/// An id that is also a subcommand's name follows `--`: ask-answer -- list yes
#[derive(Debug, Parser)]
#[command(
    verbatim_doc_comment,
    name = "ask-answer",
    version,
    after_help = EXIT_CODES,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    verbatim_doc_comment,
    override_usage = "ask-answer [OPTIONS] ID ANSWER…\n       ask-answer [OPTIONS] COMMAND …\n       ask-answer"
)]
pub struct AskAnswer {
    #[allow(missing_docs)]
    #[command(subcommand)]
    pub command: Option<Command>,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub reply: Reply,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

#[allow(missing_docs)]
#[derive(Debug, Default, Args)]
pub struct Reply {
    /// Whose question
    pub id: Option<String>,
    /// The answer; `-` reads it from standard input, without its last newline; one that begins with - follows `--`
    #[arg(allow_negative_numbers = true)]
    pub answer: Vec<String>,
    /// Read the answer as JSON from a file; `-` is standard input
    ///
    /// Text, a list (multi_choice), an object by question id (several questions), or what
    /// Claude Code's AskUserQuestion gave back ({"answers": {…}, "annotations": {…}}).
    ///
    ///   $ ask-answer docs-42 --file result.json
    #[arg(verbatim_doc_comment, short, long, value_name = "FILE", conflicts_with = "answer")]
    pub file: Option<PathBuf>,
    /// Who answers; otherwise $USER
    #[arg(long, value_name = "NAME", global = true)]
    pub by: Option<String>,
    /// Answer this round only, not a newer question of the same workflow
    #[arg(long, value_name = "QUESTION_ID")]
    pub round: Option<String>,
    /// Words for the agent beside the answer
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

#[allow(missing_docs)]
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the pending questions: larger priority first, then the oldest
    List,
    /// Show a workflow's question, or how its last one ended
    Show {
        /// Whose question
        id: String,
        /// `ask-user-question` prints the input for Claude Code's AskUserQuestion
        ///
        ///   $ ask-answer show docs-42 --format ask-user-question
        #[arg(verbatim_doc_comment, long, value_name = "FORMAT", value_parser = ["text", "json", "ask-user-question"], conflicts_with = "json")]
        format: Option<String>,
    },
    /// Refuse to answer; the agent is told so, and goes on without
    Decline {
        /// Whose question
        id: String,
        /// Why, for the agent
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
        /// Decline this round only
        #[arg(long, value_name = "QUESTION_ID")]
        round: Option<String>,
    },
    /// Take a question back; no agent is started
    Cancel {
        /// Whose question
        id: String,
        /// Why, for the record
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
        /// Every question at or below it; nobody in the tree is relaunched any more
        #[arg(long)]
        tree: bool,
    },
    /// Write a long answer in $VISUAL or $EDITOR
    Edit {
        /// Whose question
        id: String,
    },
}

impl AskAnswer {
    pub(super) const WORDS: [&str; 5] = ["list", "show", "decline", "cancel", "edit"];
    const WITH_VALUE: [&str; 6] = ["--mailbox", "--file", "-f", "--by", "--round", "--note"];

    /// Brings a subcommand's name to the front, so that `--mailbox DIR list` is the list, while in `ID list` and `-- list x`
    /// the word is an answer and an id.
    #[must_use]
    pub fn arrange(mut args: Vec<OsString>) -> Vec<OsString> {
        let mut n = 1;
        while let Some(arg) = args.get(n).and_then(|a| a.to_str()) {
            match arg {
                "--" => break,
                flag if Self::WITH_VALUE.contains(&flag) => n += 2,
                flag if flag.starts_with('-') => n += 1,
                word => {
                    if Self::WORDS.contains(&word) {
                        args[1..=n].rotate_right(1);
                    }
                    break;
                }
            }
        }
        args
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subcommand_is_one_only_in_the_first_place() {
        let arrange = |words: &str| {
            let args = std::iter::once("ask-answer").chain(words.split(' ')).map(OsString::from).collect();
            let out: Vec<_> = AskAnswer::arrange(args).into_iter().skip(1).map(|a| a.into_string().unwrap()).collect();
            out.join(" ")
        };
        assert_eq!(arrange("--mailbox list list --json"), "list --mailbox list --json");
        assert_eq!(arrange("--json show x"), "show --json x");
        assert_eq!(arrange("wf list"), "wf list");
        assert_eq!(arrange("-- list x"), "-- list x");
        let parsed = AskAnswer::parse_from(["ask-answer", "wf", "list"]);
        assert!(parsed.command.is_none() && parsed.reply.answer == ["list"]);
        let parsed = AskAnswer::parse_from(["ask-answer", "--", "list", "x"]);
        assert!(parsed.command.is_none() && parsed.reply.id.as_deref() == Some("list"));
        let parsed = AskAnswer::parse_from(["ask-answer", "wf", "-1.5", "--by", "bob"]);
        assert!(parsed.reply.answer == ["-1.5"] && parsed.reply.by.as_deref() == Some("bob"));
        assert!(matches!(AskAnswer::parse_from(["ask-answer", "list", "--mailbox", "m"]).command, Some(Command::List)));
    }
}
