//! The flags and the exit statuses that all programs share.

use std::path::PathBuf;

use crate::error::Result;
use crate::mailbox::Mailbox;

/// The exit statuses, as `--help` shows them.
pub const EXIT_CODES: &str = "Exit status:
  0  done
  1  failed: the disk, the system
  2  usage: the arguments do not make sense
  3  no such workflow, question, checkpoint or mailbox
  4  conflict: already pending, answered or claimed; nobody will answer
  5  invalid: a document or an id that does not say what it must
  6  still waiting: the time ran out";

/// Flags of every program.
#[derive(Debug, Clone, clap::Args)]
pub struct Common {
    /// The mailbox folder; otherwise $ASKBOX_DIR, otherwise ~/.claude/questions
    #[arg(long, global = true, value_name = "DIR")]
    pub mailbox: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub json: bool,
}

impl Common {
    /// The mailbox, which must exist.
    pub fn open(&self) -> Result<Mailbox> {
        Mailbox::open(Mailbox::locate(self.mailbox.as_deref())?)
    }

    /// The mailbox, made where it is missing.
    pub fn open_or_create(&self) -> Result<Mailbox> {
        Mailbox::open_or_create(Mailbox::locate(self.mailbox.as_deref())?)
    }
}
