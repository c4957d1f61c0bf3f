//! Where the dialogs of one program are served.

use crate::commands::live::programs::Program;
use askbox_config::Config;
use askbox_mailbox::Mailbox;

/// The mailbox, the operator's wishes, and the program whose dialogs these are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Office<'a> {
    pub(super) mailbox: &'a Mailbox,
    pub(super) config: &'a Config,
    pub(super) program: Program,
}
