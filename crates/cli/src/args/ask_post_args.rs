//! `ask-post`'s arguments.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Parser};

use crate::args::common::{Common, EXIT_CODES};
use crate::args::value_parsers;
use askbox_mailbox::{Choice, Kind, OnExpiry, Time, WorkflowId};

const EXAMPLES: &str = "Examples:
  Save your state, ask, and exit:
  $ checkpoint save docs-42 --step review --next-action 'apply the choice'
  $ ask-post 'The sections overlap. How should we proceed?' -w docs-42 \\
      -o merge='Merge the two' -o keep='Keep both'
  QUESTION_POSTED:docs-42

  Ask with a time limit and a default:
  $ ask-post 'Deploy tonight?' -w ship -t yes_no --timeout 2h --default no

  Ask several questions at once:
  $ echo '{\"questions\": [{\"id\": \"which\", \"question\": \"DB?\"}, {\"id\": \"why\", \"question\": \"Why?\"}]}' |
      ask-post -w db-7 --file -

  Wait up to five minutes for the answer, and print it:
  $ ask-post 'Which port?' -w web -t number --wait 5m

  Show a diff beside the question:
  $ git diff | ask-post 'Commit this?' -w fix -t yes_no --attach -

  Wait for a file, or until a time, and for no person:
  $ ask-post -w build --until-file out/built --timeout 2h
  $ ask-post 'Look at the deployment again' -w deploy --until 30m

In a script (Claude Code refuses `$(…)` and `jq` into a pipe by default):
  $ port=$(ask-post 'Which port?' -w web -t number --wait 5m)
  $ jq -s . questions/*.json | ask-post --batch --file -";

/// Post a question for the user and exit; the answer reaches a later process
///
/// The question becomes one file in the mailbox. When this program exits with 0, it has printed QUESTION_POSTED:<workflow_id>,
/// and the question survives a power cut. The agent may then exit. A person answers later with `ask-answer`, and the watcher (`relaunch
/// watch`) starts the agent again with its checkpoint and the answer.
///
/// Posting the same question again changes nothing and prints the same line. Posting another question while one is pending is a
/// conflict (exit status 4), unless --supersede is given.
#[derive(Debug, Parser)]
#[command(name = "ask-post", version, max_term_width = 100, after_help = EXIT_CODES, after_long_help = [EXAMPLES, "\n\n", EXIT_CODES].concat())]
#[command(group = ArgGroup::new("content").required(true).multiple(true).args(["question", "file", "until_file", "until"]))]
pub struct AskPost {
    /// The question, for a person; `-` reads it from standard input
    #[arg(conflicts_with = "file")]
    pub question: Option<String>,

    /// The workflow that asks [default: $WORKFLOW_ID, else $ASKBOX_WORKFLOW_ID, else a new id]
    ///
    /// An id is 1 to 128 characters of A-Z a-z 0-9 . _ - and starts with a letter or digit.
    #[arg(short, long, value_name = "ID")]
    pub workflow: Option<WorkflowId>,

    /// An option to choose from; repeat for each
    ///
    /// KEY is the value of the answer; DESCRIPTION says what it means. The person may also answer in their own words, unless
    /// --no-free-text is given.
    #[arg(short, long = "option", value_name = "KEY=DESCRIPTION", value_parser = value_parsers::option)]
    pub option: Vec<Choice>,

    /// The checkpoint to resume from [default: the one that `checkpoint save` wrote for the workflow]
    #[arg(short, long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,

    /// The kind of answer [default: `choice` with options, `number` with a bound, else `text`]
    #[arg(short = 't', long = "type", value_name = "TYPE", value_parser = value_parsers::kind())]
    pub kind: Option<Kind>,

    /// The smallest number that is an answer
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub min: Option<f64>,

    /// The largest number that is an answer
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max: Option<f64>,

    /// The distance between two numbers that are answers, counted from --min, else from 0
    #[arg(long, value_name = "N")]
    pub step: Option<f64>,

    /// What the number counts, such as GB; it is shown beside the bounds
    #[arg(long, value_name = "WORDS")]
    pub unit: Option<String>,

    /// How long the question may stay unanswered, such as 90s, 2h or 3d
    ///
    /// When the timeout is over, --on-expiry or --default says what happens. Without both, the question stays open and is marked
    /// overdue. ask-post ends at once all the same; with --wait it stays until the answer.
    #[arg(long, value_name = "DURATION", value_parser = value_parsers::duration)]
    pub timeout: Option<Duration>,

    /// The answer that applies when the timeout is over; it is recorded as a default
    #[arg(long, value_name = "ANSWER", requires = "timeout")]
    pub default: Option<String>,

    /// What happens when the timeout is over [default: `default` with --default, else `keep`]
    #[arg(long, value_name = "WHAT", requires = "timeout", value_parser = value_parsers::on_expiry())]
    pub on_expiry: Option<OnExpiry>,

    /// Wait for this file instead of a person: once it is there, it is the answer
    ///
    /// The path may lead anywhere; a folder counts as well. Nothing of its content is read: write the file under another name and rename it
    /// when it is complete. A person may still answer, decline or cancel. When --timeout is over, the agent is told that the file did not
    /// come, unless --default or --on-expiry says otherwise. QUESTION may say what the wait is for.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["option", "kind", "no_free_text", "remind_every", "min", "max", "step", "unit"])]
    pub until_file: Option<PathBuf>,

    /// Wait until this time instead of for a person, such as 2h or 2026-11-23T18:00:00Z
    #[arg(long, value_name = "TIME", value_parser = value_parsers::moment, conflicts_with_all = ["until_file", "option", "kind", "no_free_text", "remind_every", "min", "max", "step", "unit"])]
    pub until: Option<Time>,

    /// How often to remind the person, such as 4h
    #[arg(long, value_name = "DURATION", value_parser = value_parsers::duration)]
    pub remind_every: Option<Duration>,

    /// The priority; higher comes first in the inbox [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub priority: Option<i32>,

    /// What the person should know to decide, as Markdown
    #[arg(long, value_name = "TEXT")]
    pub context: Option<String>,

    /// A text, a diff or an image that the person sees beside the question; repeat it for each file
    ///
    /// The mailbox keeps a copy, which nobody can exchange afterwards. The content decides its type. A text in UTF-8 has
    /// up to 1 MiB, and a unified diff is coloured. A PNG, JPEG, GIF or WebP image has up to 4 MiB. At most 8 files and 8 MiB. `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    pub attach: Vec<PathBuf>,

    /// The name of the agent that asks [default: $ASKBOX_ASKED_BY]
    #[arg(long, value_name = "NAME")]
    pub asked_by: Option<String>,

    /// Accept only the options as an answer
    #[arg(long)]
    pub no_free_text: bool,

    /// Replace the workflow's pending question
    #[arg(long)]
    pub supersede: bool,

    /// Read the question from a JSON file; `-` is standard input
    ///
    /// The file holds a question document, several questions to answer at once ({"questions": […]}), or the input of Claude Code's
    /// AskUserQuestion. Flags override its fields.
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["option", "kind", "no_free_text", "min", "max", "step", "unit"])]
    pub file: Option<PathBuf>,

    /// Read a JSON array of independent questions from --file
    ///
    /// Each question has its own workflow_id, and is posted or refused independently of the others. One line is printed for each,
    /// in order. The exit status is that of the first failure.
    #[arg(long, requires = "file", conflicts_with_all = [
        "question", "workflow", "checkpoint", "timeout", "default", "on_expiry", "remind_every", "priority", "context", "wait",
        "until", "until_file", "attach",
    ])]
    pub batch: bool,

    /// Wait this long for the answer and print it
    ///
    /// If the answer comes in time, it is printed, and no agent is relaunched for it. Otherwise QUESTION_POSTED:<workflow_id> is
    /// printed and the question stays pending. If the person declines, or the question is withdrawn, nothing is printed and the
    /// exit status is 4.
    #[arg(long, value_name = "DURATION", value_parser = value_parsers::duration)]
    pub wait: Option<Duration>,

    #[command(flatten)]
    pub common: Common,
}
