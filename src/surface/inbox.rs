//! The inbox.

use crate::error::Result;
use crate::mailbox::Mailbox;

/// Runs the inbox.
pub fn run(_mailbox: &Mailbox, _by: &str) -> Result<()> {
    Ok(())
}
