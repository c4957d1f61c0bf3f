//! One thread for each peer: it connects again and again, takes what the peer reports, and keeps what is known of its machines.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::peers::cache;
use crate::peers::peer::{Change, Stop};
use crate::peers::threads::again::{self, Sign};
use crate::peers::threads::shared::Shared;

/// The pauses between two attempts to reach a peer: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A connection that lasted this long begins the pauses anew.
const LASTED: Duration = Duration::from_secs(10);
/// The shortest time between two writings of a cache.
const CACHE_EVERY: Duration = Duration::from_secs(5);

/// Connects again and again, with growing pauses, until the work is to end.
pub(in crate::peers) fn keep_connected(shared: &Arc<Shared>, n: usize, stop: &Stop) {
    let peer = &shared.peers[n];
    let mut pause = FIRST_PAUSE;
    let kept = Mutex::new(Instant::now().checked_sub(CACHE_EVERY));
    while !stop.is_set() {
        let begun = Instant::now();
        let report = |change: Change| {
            let is_listed = matches!(change, Change::Listed { .. });
            let sign = Sign::of(&change);
            let left = shared.change(|state| state.take(n, change));
            shared.folder.iter().for_each(|folder| left.iter().for_each(|host| cache::forget(folder, host)));
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if is_listed || kept.is_none_or(|at| at.elapsed() >= CACHE_EVERY) {
                *kept = Some(Instant::now());
                keep(shared, n);
            }
            if let Some(sign) = sign {
                again::offer(shared, n, sign, stop);
            }
        };
        let problem = peer.watch(&report, stop);
        if begun.elapsed() >= LASTED {
            pause = FIRST_PAUSE;
        }
        if problem.lasts {
            pause = LONGEST_PAUSE;
        }
        if stop.is_set() {
            break;
        }
        shared.change(|state| state.unreachable(n, &problem));
        keep(shared, n);
        // Not all machines at once after a cut, nor all surfaces of one machine.
        let share = f64::from(u32::from_be_bytes(*Uuid::new_v4().as_bytes().first_chunk().unwrap_or(&[0; 4]))) / f64::from(u32::MAX);
        if stop.wait(pause.mul_f64(0.75 + share / 2.0)) {
            break;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    keep(shared, n);
}

/// Writes the caches of a peer's machines. One that cannot be written costs the age that is shown next time, nothing else.
fn keep(shared: &Shared, n: usize) {
    let Some(folder) = &shared.folder else { return };
    let views: Vec<_> = {
        let state = shared.lock();
        state
            .hosts
            .iter()
            .filter(|(_, known)| known.peer == n)
            .map(|(host, known)| (known.view(host, shared.peers[n].name()), known.unreached(host)))
            .collect()
    };
    for (view, unreached) in views {
        let _ = cache::keep(folder, &view, unreached);
    }
}
