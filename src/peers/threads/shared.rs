//! What the threads of all peers share: the peers themselves, and what they have reported.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::peers::peer::Peer;
use crate::peers::state::State;

/// How long an offer is tried.
pub(in crate::peers) const OFFERED_WITHIN: Duration = Duration::from_secs(30);

pub(in crate::peers) struct Shared {
    pub(in crate::peers) peers: Vec<Box<dyn Peer>>,
    /// Where the caches lie.
    pub(in crate::peers) folder: Option<PathBuf>,
    pub(in crate::peers) state: Mutex<State>,
    pub(in crate::peers) changed: Condvar,
    pub(in crate::peers) wake: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.state.fmt(f)
    }
}

impl Shared {
    pub(in crate::peers) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::peers) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let result = change(&mut state);
        state.revision += 1;
        drop(state);
        self.changed.notify_all();
        (self.wake)();
        result
    }
}
