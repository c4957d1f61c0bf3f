//! The messages to the courier's thread.

use crate::news::channel::Said;
use askbox_mailbox::WorkflowId;

/// A message to the thread.
pub(super) enum Note {
    /// Something may have happened to a workflow.
    Look(WorkflowId),
    /// Anything may have happened.
    LookAtAll,
    /// A dialog at a terminal may have opened or ended.
    Dialogs,
    /// Something came from the channel of a target.
    Said(String, Said),
    Leave,
}
