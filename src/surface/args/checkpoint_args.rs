//! `checkpoint`'s arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::id::WorkflowId;
use crate::surface::args::common::{Common, EXIT_CODES};
use crate::surface::args::values;

/// Save and read the state that a fresh process resumes from
///
///   $ checkpoint save docs-42 --step review --completed draft --file-ref backup=/tmp/doc.bak
///   /home/ann/.claude/questions/checkpoints/docs-42.json
///
///   $ eval "$(checkpoint env docs-42)"; case "$USER_ANSWER" in merge) … esac
///
/// save, show, env and path take their ID from $WORKFLOW_ID or $ASKBOX_WORKFLOW_ID where none is
/// given.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment, name = "checkpoint", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub struct Checkpoint {
    #[allow(missing_docs)]
    #[command(subcommand)]
    pub command: Command,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

#[allow(missing_docs)]
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Save a complete checkpoint, replacing the one before; prints where it lies
    ///
    /// From the flags; else from --file; else JSON from standard input. Flags beside --file
    /// come on top of it. Fields that askbox does not know are kept.
    ///
    ///   $ checkpoint save docs-42 < state.json
    ///
    ///   $ checkpoint save docs-42 --step review --completed draft --pending ship --state tries=3
    #[command(verbatim_doc_comment)]
    Save(Box<Save>),
    /// Print one value, bare
    ///
    /// FIELD is a dotted path. Text is printed as it is, null as nothing, the rest as JSON.
    ///
    ///   $ checkpoint get docs-42 files.backup
    ///   /tmp/doc.bak
    #[command(verbatim_doc_comment)]
    Get {
        /// Whose checkpoint
        id: WorkflowId,
        /// Such as user_answer, files.backup or completed_steps.0
        field: String,
    },
    /// Set one value
    ///
    ///   $ checkpoint set docs-42 state_variables.tries 4 --as-json
    #[command(verbatim_doc_comment)]
    Set {
        /// Whose checkpoint
        id: WorkflowId,
        /// A dotted path such as state_variables.branch
        field: String,
        /// The value; `-` reads it from standard input; one that begins with - follows `--`
        #[arg(allow_negative_numbers = true)]
        value: String,
        /// The value is JSON, not text
        #[arg(long)]
        as_json: bool,
    },
    /// Close the current step and open the next one
    ///
    ///   $ checkpoint step docs-42 ship
    #[command(verbatim_doc_comment)]
    Step {
        /// Whose checkpoint
        id: WorkflowId,
        /// The step that begins
        name: String,
    },
    /// Show a checkpoint to a human, or its document with --json
    Show {
        /// Whose checkpoint
        id: Option<WorkflowId>,
    },
    /// Print shell assignments for `eval`: every value one quoted word
    ///
    /// WORKFLOW_ID, CHECKPOINT_FILE, CURRENT_STEP, COMPLETED_STEPS, PENDING_STEPS, CONTEXT,
    /// NEXT_ACTION, USER_ANSWER, one FILE_<KEY> for each file, one STATE_<KEY> for each state
    /// variable, one USER_ANSWER_<ID> for each question of a batch. Lists have one item a
    /// line.
    ///
    ///   $ eval "$(checkpoint env docs-42)" && cp "$FILE_BACKUP" .
    #[command(verbatim_doc_comment)]
    Env {
        /// Whose checkpoint
        id: Option<WorkflowId>,
        /// What every name begins with, such as CP_
        #[arg(long, value_name = "P", default_value = "", hide_default_value = true, value_parser = values::variable_prefix)]
        prefix: String,
    },
    /// Print where the checkpoint lies, or would lie
    ///
    ///   $ jq .files "$(checkpoint path docs-42)"
    #[command(verbatim_doc_comment)]
    Path {
        /// Whose checkpoint
        id: Option<WorkflowId>,
    },
    /// Check a checkpoint; what holds a slash or is a file is a path, else an id
    ///
    ///   $ checkpoint validate /tmp/workflow_42_checkpoint.json
    #[command(verbatim_doc_comment)]
    Validate {
        /// A file or an id
        target: String,
    },
    /// List the checkpoints of the mailbox
    List,
    /// Remove a checkpoint
    Rm {
        /// Whose checkpoint
        id: WorkflowId,
    },
}

#[allow(missing_docs)]
#[derive(Debug, Args)]
pub struct Save {
    /// Whose checkpoint; otherwise $WORKFLOW_ID or $ASKBOX_WORKFLOW_ID
    pub id: Option<WorkflowId>,
    /// Read JSON from this file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The step in progress
    #[arg(long, value_name = "NAME")]
    pub step: Option<String>,
    /// The steps done
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub completed: Vec<String>,
    /// The steps to come
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub pending: Vec<String>,
    /// A file the next process needs; repeat it for each
    #[arg(long, value_name = "KEY=PATH", value_parser = values::pair)]
    pub file_ref: Vec<(String, String)>,
    /// Something to remember; repeat it for each
    #[arg(long, value_name = "KEY=VALUE", value_parser = values::pair)]
    pub state: Vec<(String, String)>,
    /// Where the work stands, in words
    #[arg(long, value_name = "TEXT")]
    pub context: Option<String>,
    /// What to do after the user responds
    #[arg(long, value_name = "TEXT")]
    pub next_action: Option<String>,
    /// What kind of work it is
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
}

impl Save {
    /// Whether any field is given by a flag.
    #[must_use]
    pub fn has_fields(&self) -> bool {
        let texts = [&self.step, &self.context, &self.next_action, &self.kind];
        let (lists, pairs) = ([&self.completed, &self.pending], [&self.file_ref, &self.state]);
        texts.iter().any(|t| t.is_some()) || lists.iter().any(|l| !l.is_empty()) || pairs.iter().any(|p| !p.is_empty())
    }
}
