//! The flags and the exit statuses that all programs share.

use std::path::PathBuf;

/// The exit statuses, as `--help` shows them.
pub const EXIT_CODES: &str = "Exit status:
  0  done
  1  failed: an I/O error, or any other failure
  2  usage: wrong arguments
  3  not found: no such workflow, question, checkpoint or mailbox
  4  conflict: already pending, answered or claimed; or there will be no answer
  5  invalid: a document or an id is not valid
  6  still waiting: the time is over";

/// Flags of every program.
#[derive(Debug, Clone, clap::Args)]
pub struct Common {
    /// The mailbox folder [default: $ASKBOX_DIR, else ~/.claude/questions]
    #[arg(long, global = true, value_name = "DIR")]
    pub mailbox: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub json: bool,
}
