//! Why a turn is over.

use crate::history::Call;
use crate::host::Stop;
use crate::model::Failure;

/// Why a turn is over.
#[derive(Debug)]
pub(crate) enum End {
    /// The model has finished, with these words.
    Finished(String),
    /// This call waits for a person. It may be a subagent's.
    Waits(Call),
    /// A hook ended the turn.
    ByHook,
    Stopped(Stop),
    /// The API gave no reply.
    Failed(Failure),
    /// The model was asked as often as it may be.
    MaxRounds(usize),
}
