//! `ask-answer`'s arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::id::{QuestionId, WorkflowId};
use crate::surface::args::common::{Common, EXIT_CODES};
use crate::surface::args::values;

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
    disable_help_subcommand = true,
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
#[derive(Debug, Args)]
pub struct Reply {
    // One argument for both: clap takes a command's name for a command only before the first value.
    /// The workflow whose question it is, and the answer
    ///
    /// The answer `-` is read from standard input, without its last newline. An answer that begins
    /// with - follows `--`.
    #[arg(verbatim_doc_comment, value_names = ["ID", "ANSWER"], num_args = 1.., allow_negative_numbers = true)]
    pub words: Vec<String>,
    /// Read the answer as JSON from a file; `-` is standard input
    ///
    /// Text, a list (multi_choice), an object by question id (several questions), or what
    /// Claude Code's AskUserQuestion gave back ({"answers": {…}, "annotations": {…}}).
    ///
    ///   $ ask-answer docs-42 --file result.json
    #[arg(verbatim_doc_comment, short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Who answers; otherwise $USER
    #[arg(long, value_name = "NAME", global = true)]
    pub by: Option<String>,
    /// Answer this round only, not a newer question of the same workflow
    #[arg(long, value_name = "QUESTION_ID", value_parser = values::question_id)]
    pub round: Option<QuestionId>,
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
        id: WorkflowId,
        /// `ask-user-question` prints the input for Claude Code's AskUserQuestion
        ///
        ///   $ ask-answer show docs-42 --format ask-user-question
        #[arg(verbatim_doc_comment, long, value_name = "FORMAT", value_enum, conflicts_with = "json")]
        format: Option<Format>,
    },
    /// Refuse to answer; the agent is told so, and goes on without
    Decline {
        /// Whose question
        id: WorkflowId,
        /// Why, for the agent
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
        /// Decline this round only
        #[arg(long, value_name = "QUESTION_ID", value_parser = values::question_id)]
        round: Option<QuestionId>,
    },
    /// Take a question back; no agent is started
    Cancel {
        /// Whose question
        id: WorkflowId,
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
        id: WorkflowId,
    },
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
    use super::*;

    fn parse(line: &str) -> AskAnswer {
        AskAnswer::parse_from(std::iter::once("ask-answer").chain(line.split(' ')))
    }

    #[test]
    fn a_command_is_one_only_before_the_first_word() {
        for line in ["--mailbox list list --json", "list --mailbox m", "--json list"] {
            assert!(
                matches!(parse(line), AskAnswer { command: Some(Command::List), reply: Reply { words, .. }, .. } if words.is_empty()),
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
}
