//! `checkpoint`'s arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::args::common::{Common, EXIT_CODES};
use crate::args::value_parsers;
use askbox_mailbox::WorkflowId;

const EXAMPLES: &str = "Examples:
  $ checkpoint save docs-42 --step review --completed draft \\
      --file-ref backup=/tmp/doc.bak
  /home/ann/.claude/questions/checkpoints/docs-42.json

  $ checkpoint show docs-42
  $ checkpoint get docs-42 files.backup
  /tmp/doc.bak

In a script (Claude Code refuses `eval` and `$(…)` by default):
  $ eval \"$(checkpoint env docs-42)\" && echo \"$CURRENT_STEP: $USER_ANSWER\"
  review: merge";

/// Save and read the state that a fresh process resumes from
///
/// The commands save, show, env and path use $WORKFLOW_ID, else $ASKBOX_WORKFLOW_ID, where no ID is given.
#[derive(Debug, Parser)]
#[command(name = "checkpoint", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = EXIT_CODES, after_long_help = [EXAMPLES, "\n\n", EXIT_CODES].concat())]
pub struct Checkpoint {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Save a complete checkpoint, replacing the previous one; prints its path
    ///
    /// The checkpoint comes from the flags, from --file, or as JSON from standard input. Flags override the fields of --file.
    /// Fields that askbox does not know are kept.
    #[command(after_help = "Examples:
  $ checkpoint save docs-42 --step review --completed draft --state tries=3
  $ echo '{\"current_step\": \"review\"}' | checkpoint save docs-42
  $ checkpoint save docs-42 < state.json")]
    Save(Box<Save>),
    /// Print one value
    ///
    /// Text is printed as it is, null as an empty line, anything else as JSON.
    #[command(after_help = "Examples:
  $ checkpoint get docs-42 files.backup
  /tmp/doc.bak")]
    Get {
        /// The workflow
        id: WorkflowId,
        /// A dotted path, such as user_answer, files.backup or completed_steps.0
        field: String,
    },
    /// Set one value
    #[command(after_help = "Examples:
  $ checkpoint set docs-42 state_variables.branch fix-7
  $ checkpoint set docs-42 state_variables.tries 4 --as-json")]
    Set {
        /// The workflow
        id: WorkflowId,
        /// A dotted path, such as state_variables.branch
        field: String,
        /// The value; `-` reads it from standard input; a value that begins with - follows `--`
        #[arg(allow_negative_numbers = true)]
        value: String,
        /// Read the value as JSON instead of text
        #[arg(long)]
        as_json: bool,
    },
    /// Move the current step to the completed ones and begin the next
    #[command(after_help = "Examples:
  $ checkpoint step docs-42 ship")]
    Step {
        /// The workflow
        id: WorkflowId,
        /// The step that begins
        name: String,
    },
    /// Show a checkpoint; with --json, its document
    Show {
        /// The workflow
        id: Option<WorkflowId>,
    },
    /// Print a checkpoint as shell assignments for `eval`
    ///
    /// Every value is quoted. The variables are WORKFLOW_ID, CHECKPOINT_FILE, CURRENT_STEP, COMPLETED_STEPS, PENDING_STEPS, CONTEXT,
    /// NEXT_ACTION and USER_ANSWER, one FILE_<KEY> for each file, one STATE_<KEY> for each state variable, and one USER_ANSWER_<ID>
    /// for each of several questions. Lists hold one item a line.
    #[command(after_help = "In a script (Claude Code refuses `eval` and `$(…)` by default; see `checkpoint show` and `get`):
  $ eval \"$(checkpoint env docs-42)\" && cp \"$FILE_BACKUP\" .")]
    Env {
        /// The workflow
        id: Option<WorkflowId>,
        /// A prefix for every variable's name, such as CP_
        #[arg(long, value_name = "P", default_value = "", hide_default_value = true, value_parser = value_parsers::variable_prefix)]
        prefix: String,
    },
    /// Print the path of a checkpoint, whether it exists or not
    #[command(after_help = "Examples:
  $ checkpoint path docs-42
  /home/ann/.claude/questions/checkpoints/docs-42.json

In a script (Claude Code refuses `$(…)` by default):
  $ jq .files \"$(checkpoint path docs-42)\"")]
    Path {
        /// The workflow
        id: Option<WorkflowId>,
    },
    /// Check that a checkpoint can be resumed from
    #[command(after_help = "Examples:
  $ checkpoint validate docs-42
  $ checkpoint validate ./state.json")]
    Validate {
        /// A path, if it contains a slash or names an existing file; otherwise a workflow
        target: String,
    },
    /// List the checkpoints of the mailbox
    List,
    /// Remove a checkpoint
    Rm {
        /// The workflow
        id: WorkflowId,
    },
}

#[derive(Debug, Args)]
pub struct Save {
    /// The workflow [default: $WORKFLOW_ID, else $ASKBOX_WORKFLOW_ID]
    pub id: Option<WorkflowId>,
    /// Read the checkpoint as JSON from this file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The current step
    #[arg(long, value_name = "NAME")]
    pub step: Option<String>,
    /// The completed steps
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub completed: Vec<String>,
    /// The steps that remain
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub pending: Vec<String>,
    /// A file that the next process needs; repeat for each
    #[arg(long, value_name = "KEY=PATH", value_parser = value_parsers::pair)]
    pub file_ref: Vec<(String, String)>,
    /// A value that the next process needs; repeat for each
    #[arg(long, value_name = "KEY=VALUE", value_parser = value_parsers::pair)]
    pub state: Vec<(String, String)>,
    /// A summary of the work so far
    #[arg(long, value_name = "TEXT")]
    pub context: Option<String>,
    /// What to do when the answer is there
    #[arg(long, value_name = "TEXT")]
    pub next_action: Option<String>,
    /// The kind of work
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
}

impl Save {
    /// True if any field is set by a flag.
    pub fn has_fields(&self) -> bool {
        let texts = [&self.step, &self.context, &self.next_action, &self.kind];
        let (lists, pairs) = ([&self.completed, &self.pending], [&self.file_ref, &self.state]);
        texts.iter().any(|t| t.is_some()) || lists.iter().any(|l| !l.is_empty()) || pairs.iter().any(|p| !p.is_empty())
    }
}
