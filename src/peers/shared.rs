//! What the threads of all peers share: the peers themselves, and what they have reported.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::peers::peer::Peer;
use crate::peers::state::State;

/// How long an offer is tried.
pub(super) const OFFERED_WITHIN: Duration = Duration::from_secs(30);

pub(super) struct Shared {
    pub(super) peers: Vec<Box<dyn Peer>>,
    /// Where the caches lie.
    pub(super) folder: Option<PathBuf>,
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
    pub(super) wake: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.state.fmt(f)
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let result = change(&mut state);
        state.revision += 1;
        drop(state);
        self.changed.notify_all();
        (self.wake)();
        result
    }
}
