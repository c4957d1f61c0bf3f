//! `ask-post`'s arguments.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::id::WorkflowId;
use crate::mailbox::documents::options::Choice;
use crate::mailbox::documents::question::{Kind, OnExpiry};
use crate::surface::args::common::{Common, EXIT_CODES};
use crate::surface::args::values;

/// Leave a question for the user and exit; the answer comes to a later process
///
/// The question becomes one file in the mailbox. Once this program has ended with 0, the question
/// survives a power cut, and the agent may exit. Somebody answers (`ask-answer`), minutes or days
/// later, and the watcher (`relaunch watch`) starts the agent again, from its checkpoint and with
/// the answer.
///
/// Prints QUESTION_POSTED:<workflow_id>.
///
///   $ checkpoint save docs-42 --step review --completed draft,backup --next-action 'apply the choice'
///
///   $ ask-post 'The sections overlap. How should we proceed?' -w docs-42 -o merge='Merge' -o keep='Keep'
///   QUESTION_POSTED:docs-42
///
/// The same question again is a no-op with the same receipt; another one while the first is pending
/// is a conflict.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment, name = "ask-post", version, after_help = EXIT_CODES, group = clap::ArgGroup::new("content").required(true).args(["question", "file"]))]
pub struct AskPost {
    /// The question, for a human; `-` reads it from standard input
    pub question: Option<String>,

    /// The line of work that asks; otherwise $WORKFLOW_ID, $ASKBOX_WORKFLOW_ID, or a new id
    ///
    /// 1 to 128 of A-Z a-z 0-9 . _ - , starting with a letter or digit.
    #[arg(verbatim_doc_comment, short, long, value_name = "ID")]
    pub workflow: Option<WorkflowId>,

    /// An option; repeat it for each
    ///
    /// KEY is what the answer's value will be, DESCRIPTION tells the human what it means.
    /// Free text is allowed beside the options unless --no-free-text says not.
    ///
    ///   $ ask-post 'Which database?' -o pg='PostgreSQL, as in staging' -o sqlite='One file'
    #[arg(verbatim_doc_comment, short, long = "option", value_name = "KEY=DESCRIPTION", value_parser = values::option)]
    pub option: Vec<Choice>,

    /// The checkpoint that the next process resumes from; otherwise the one that `checkpoint save` wrote
    #[arg(short, long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,

    /// What kind of answer is asked for; otherwise a choice where there are options, else text
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    pub kind: Option<Kind>,

    /// When the wait ends, such as 90s, 2h or 3d
    ///
    /// Silence never decides by itself: without --default or --on-expiry the question stays
    /// open and is marked overdue.
    ///
    ///   $ ask-post 'Deploy tonight?' -t yes_no --timeout 2h --default no
    #[arg(verbatim_doc_comment, long, value_name = "DURATION", value_parser = values::duration)]
    pub timeout: Option<Duration>,

    /// The answer that applies when nobody answered in time; recorded as such
    #[arg(long, value_name = "ANSWER", requires = "timeout")]
    pub default: Option<String>,

    /// What happens when nobody answered in time; `default` where there is a --default, else `keep`
    #[arg(long, value_name = "WHAT", requires = "timeout")]
    pub on_expiry: Option<OnExpiry>,

    /// How often the human is reminded, such as 4h
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub remind_every: Option<Duration>,

    /// Larger comes first in the inbox; 0 where it is not given
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub priority: Option<i32>,

    /// What the human should know to decide, in Markdown
    #[arg(long, value_name = "TEXT")]
    pub context: Option<String>,

    /// Who asks, such as an agent's name; otherwise $ASKBOX_ASKED_BY
    #[arg(long, value_name = "NAME")]
    pub asked_by: Option<String>,

    /// Take nothing but the options
    #[arg(long)]
    pub no_free_text: bool,

    /// Replace the question that is pending
    #[arg(long)]
    pub supersede: bool,

    /// Read the question from a JSON file; `-` is standard input
    ///
    /// A question document, several questions asked at once ({"questions": […]}), or the
    /// input of Claude Code's AskUserQuestion. Flags come on top of it.
    ///
    ///   $ echo '{"questions": [{"question": "Which DB?"}, {"question": "Why?"}]}' | ask-post --file -
    #[arg(verbatim_doc_comment, short, long, value_name = "FILE", conflicts_with_all = ["option", "kind", "no_free_text"])]
    pub file: Option<PathBuf>,

    /// The file is a JSON array of independent questions, each with its own workflow_id
    ///
    /// Each is posted, or refused, for itself: one receipt a line, in order. The exit status
    /// is the first failure's.
    ///
    ///   $ jq -s . questions/*.json | ask-post --batch --file -
    #[arg(verbatim_doc_comment, long, requires = "file", conflicts_with_all = [
        "workflow", "checkpoint", "timeout", "default", "on_expiry", "remind_every", "priority", "context", "wait",
    ])]
    pub batch: bool,

    /// Wait this long for the answer and print it, instead of exiting at once
    ///
    /// An answer that comes in time is printed and taken over: nothing else relaunches.
    /// Otherwise QUESTION_POSTED:<id> is printed and the question stays, as ever. Where the
    /// human declines, or somebody withdraws the question, nothing is printed and the exit
    /// status is 4.
    ///
    ///   $ answer=$(ask-post 'Which port?' -w web -t number --wait 5m)
    #[arg(verbatim_doc_comment, long, value_name = "DURATION", value_parser = values::duration)]
    pub wait: Option<Duration>,

    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}
