//! How long a process waits for a lock that another process holds for a short time.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The patience of a command, for every lock.
const OF_A_COMMAND: Duration = Duration::from_secs(20);
/// The patience of a service, for each lock once.
const OF_A_SERVICE: Duration = Duration::from_millis(500);

/// How long to wait for locks. By default that of a command, which has nothing else to do.
///
/// A service has other work: it waits a moment for each lock, and from then on only tries that lock, until it was free once.
#[derive(Debug, Clone, Default)]
pub struct Patience {
    /// The locks for which a service does not wait any more; `None` for a command. All clones share them.
    held: Option<Arc<Mutex<HashSet<PathBuf>>>>,
}

impl Patience {
    /// The patience of a service.
    #[must_use]
    pub fn of_a_service() -> Self {
        Self { held: Some(Arc::default()) }
    }

    /// How long to wait for this lock.
    pub(super) fn limit(&self, lock: &Path) -> Duration {
        match self.with_held(|held| held.contains(lock)) {
            None => OF_A_COMMAND,
            Some(false) => OF_A_SERVICE,
            Some(true) => Duration::ZERO,
        }
    }

    /// The lock was taken.
    pub(super) fn was_free(&self, lock: &Path) {
        if self.with_held(|held| held.remove(lock)) == Some(true) {
            #[cfg(feature = "relaunch")]
            tracing::info!("{} is free again", lock.display());
        }
    }

    /// The lock stayed held for as long as [`limit`](Self::limit) said.
    pub(super) fn was_held(&self, lock: &Path, error: &crate::Error) {
        if self.with_held(|held| held.insert(lock.to_path_buf())) == Some(true) {
            #[cfg(feature = "relaunch")]
            tracing::warn!(hint = %error.hint(), "{error}; what needs it waits, and all else goes on");
            #[cfg(not(feature = "relaunch"))]
            let _ = error;
        }
    }

    fn with_held<T>(&self, look: impl FnOnce(&mut HashSet<PathBuf>) -> T) -> Option<T> {
        self.held.as_ref().map(|held| look(&mut held.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Lock;
    use std::time::Instant;

    #[test]
    fn a_service_waits_once_for_a_held_lock_and_again_only_after_it_was_free() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let patience = Patience::of_a_service();
        let took = || {
            let started = Instant::now();
            (Lock::acquire_with(&path, &patience.clone()).map_err(|e| e.is_held()).err(), started.elapsed() >= OF_A_SERVICE)
        };
        let held = Lock::acquire(&path).unwrap();
        assert_eq!(took(), (Some(true), true));
        assert_eq!(patience.limit(&path), Duration::ZERO);
        assert_eq!(took().0, Some(true));
        drop(held);
        assert_eq!(took().0, None);
        assert_eq!(patience.limit(&path), OF_A_SERVICE);
    }
}
