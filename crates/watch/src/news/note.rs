//! The messages to the courier's thread.

use crate::news::buttons::{Heard, Ticket};
use crate::news::post::Place;
use askbox_mailbox::id::WorkflowId;

/// A message to the thread.
pub(super) enum Note {
    /// Something may have happened to a workflow.
    Look(WorkflowId),
    /// Anything may have happened.
    LookAtAll,
    /// A dialog at a terminal may have opened or ended.
    Dialogs,
    /// The program that sent these events has ended.
    Told(String, Vec<Place>, Result<(), String>),
    /// A message came in the topic for replies of a target. Its stream reads on once the ticket is dropped.
    Heard(String, Heard, Ticket),
    /// The stream of a target ended, for this reason.
    Silent(String, String),
    Leave,
}
