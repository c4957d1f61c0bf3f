//! What the thread that tells people is told itself.

use crate::id::WorkflowId;
use crate::news::buttons::listener::Ticket;
use crate::news::buttons::replies::Heard;
use crate::news::post::Place;

/// What the thread is told.
pub(super) enum Note {
    /// Something may have happened to a workflow.
    Look(WorkflowId),
    /// Anything may have happened.
    LookAtAll,
    /// A program has ended that told these events.
    Told(String, Vec<Place>, Result<(), String>),
    /// A message came in the topic for replies of a target. Its stream reads on once the ticket is dropped.
    Heard(String, Heard, Ticket),
    /// The stream of a target ended, for this reason.
    Silent(String, String),
    Leave,
}
