//! The places of those that are connected. Whoever has not shown a session is a stranger: the oldest stranger makes room for a new one, and
//! none stays for long. So nobody who cannot sign in keeps a person from the page, however many connections are left half open.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

/// The most connections of strangers at once.
const MAX_STRANGERS: usize = 64;
/// The most connections of devices that are signed in. Further ones stay strangers.
const MAX_SIGNED_IN: usize = 128;

/// All places.
#[derive(Debug, Clone, Default)]
pub struct Places(Arc<Mutex<Taken>>);

#[derive(Debug, Default)]
struct Taken {
    /// The strangers, the oldest first. Dropping what is kept of one ends its connection.
    strangers: VecDeque<(u64, oneshot::Sender<()>)>,
    signed_in: usize,
    last: u64,
}

/// One place, for as long as its connection lasts.
#[derive(Debug)]
pub struct Place {
    caller: Caller,
    /// Comes when another connection takes the place.
    pub taken: oneshot::Receiver<()>,
}

/// Whose connection it is, as its requests know it.
#[derive(Debug, Clone)]
pub struct Caller {
    id: u64,
    is_known: Arc<AtomicBool>,
    places: Places,
}

impl Places {
    /// A place for one more stranger.
    pub fn take(&self) -> Place {
        let (kept, taken) = oneshot::channel();
        let mut all = self.lock();
        if all.strangers.len() >= MAX_STRANGERS {
            all.strangers.pop_front();
        }
        all.last += 1;
        let id = all.last;
        all.strangers.push_back((id, kept));
        Place { caller: Caller { id, is_known: Arc::default(), places: self.clone() }, taken }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Whose connection has it.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = self.caller.places.lock();
        if self.caller.is_known() {
            all.signed_in -= 1;
        } else {
            all.strangers.retain(|(id, _)| *id != self.caller.id);
        }
    }
}

impl Caller {
    /// It has shown a session: it makes room for nobody any more.
    pub fn is_signed_in(&self) {
        let mut all = self.places.lock();
        if self.is_known() || all.signed_in >= MAX_SIGNED_IN {
            return;
        }
        // One whose place is taken already ends as it was to end.
        if let Some((_, kept)) = all.strangers.iter().position(|(id, _)| *id == self.id).and_then(|at| all.strangers.remove(at)) {
            self.is_known.store(true, Ordering::Relaxed);
            all.signed_in += 1;
            // The connection hears that nobody will take its place.
            let _ = kept.send(());
        }
    }

    /// Whether it has shown a session.
    pub fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_makes_room_for_the_next_and_never_takes_the_place_of_who_is_signed_in() {
        let places = Places::default();
        let mut person = places.take();
        person.caller().is_signed_in();
        let mut strangers: Vec<_> = (0..MAX_STRANGERS).map(|_| places.take()).collect();
        let is_over = |place: &mut Place| place.taken.try_recv() == Err(oneshot::error::TryRecvError::Closed);
        assert!(!strangers.iter_mut().any(is_over));
        let next = places.take();
        assert!(is_over(&mut strangers[0]) && !is_over(&mut strangers[1]));
        assert_eq!(person.taken.try_recv(), Ok(()), "it stays");
        strangers[0].caller().is_signed_in();
        assert!(!strangers[0].caller().is_known(), "its place is taken");
        drop((next, strangers, person));
        let all = places.lock();
        assert_eq!((all.strangers.len(), all.signed_in), (0, 0));
    }

    #[test]
    fn those_who_are_signed_in_have_an_end_as_well() {
        let places = Places::default();
        let all: Vec<_> = (0..=MAX_SIGNED_IN).map(|_| places.take()).inspect(|place| place.caller().is_signed_in()).collect();
        assert_eq!(all.iter().filter(|place| place.caller().is_known()).count(), MAX_SIGNED_IN);
    }
}
