//! The places of those that are connected. Whoever has not shown a session is a stranger: the oldest stranger makes room for a new one, and
//! none stays for long. So nobody who cannot sign in keeps a person from the page, however many connections are left half open.
//!
//! A person's connection is a stranger's until its first request is there, which may take a round trip of a tunnel. So one that has just come has
//! a while for that, and more of these are kept than of others.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// The most connections of strangers at once, without those that have just come.
const MAX_STRANGERS: usize = 64;
/// How long a connection has just come.
const JUST_COME: Duration = Duration::from_secs(1);
/// The most connections of strangers at once with those that have just come, if the process may open as many files.
const MAX_JUST_COME: usize = 512;
/// The most connections of devices that are signed in. Further ones stay strangers.
const MAX_SIGNED_IN: usize = 128;

/// All places.
#[derive(Debug, Clone)]
pub struct Places {
    taken: Arc<Mutex<Taken>>,
    /// The most strangers at once.
    most: usize,
}

#[derive(Debug, Default)]
struct Taken {
    /// The strangers, the oldest first.
    strangers: VecDeque<Stranger>,
    signed_in: usize,
    last: u64,
}

#[derive(Debug)]
struct Stranger {
    id: u64,
    since: Instant,
    /// Dropping this ends the connection.
    kept: oneshot::Sender<()>,
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
    has_shown: Arc<AtomicBool>,
    is_known: Arc<AtomicBool>,
    places: Places,
}

impl Places {
    /// No place is taken. At most this many files may be open in this process.
    pub fn new(files: u64) -> Self {
        let half = usize::try_from(files / 2).unwrap_or(usize::MAX);
        Self { taken: Arc::default(), most: half.clamp(MAX_STRANGERS, MAX_JUST_COME) }
    }

    /// A place for one more stranger.
    pub fn take(&self) -> Place {
        self.take_at(Instant::now())
    }

    fn take_at(&self, now: Instant) -> Place {
        let (kept, taken) = oneshot::channel();
        let mut all = self.lock();
        let makes_room = |oldest: &Stranger| now.duration_since(oldest.since) >= JUST_COME;
        while all.strangers.len() >= self.most || all.strangers.len() >= MAX_STRANGERS && all.strangers.front().is_some_and(makes_room) {
            all.strangers.pop_front();
        }
        all.last += 1;
        let id = all.last;
        all.strangers.push_back(Stranger { id, since: now, kept });
        Place { caller: Caller { id, has_shown: Arc::default(), is_known: Arc::default(), places: self.clone() }, taken }
    }

    /// The oldest stranger goes: the system has no room for one more connection.
    pub fn make_room(&self) {
        self.lock().strangers.pop_front();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
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
            all.strangers.retain(|stranger| stranger.id != self.caller.id);
        }
    }
}

impl Caller {
    /// It has shown a session: it makes room for nobody any more.
    pub fn is_signed_in(&self) {
        self.has_shown.store(true, Ordering::Relaxed);
        let mut all = self.places.lock();
        if self.is_known() || all.signed_in >= MAX_SIGNED_IN {
            return;
        }
        // One whose place is taken already ends as it was to end.
        if let Some(stranger) = all.strangers.iter().position(|other| other.id == self.id).and_then(|at| all.strangers.remove(at)) {
            self.is_known.store(true, Ordering::Relaxed);
            all.signed_in += 1;
            // The connection hears that nobody will take its place.
            let _ = stranger.kept.send(());
        }
    }

    /// Whether it has shown a session, be there a place for it or not.
    pub fn has_shown_a_session(&self) -> bool {
        self.has_shown.load(Ordering::Relaxed)
    }

    /// Whether it has shown a session, and has its place.
    pub fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_over(place: &mut Place) -> bool {
        place.taken.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn a_stranger_makes_room_for_the_next_and_never_takes_the_place_of_who_is_signed_in() {
        let (places, begun) = (Places::new(1024), Instant::now());
        let mut person = places.take_at(begun);
        person.caller().is_signed_in();
        let mut strangers: Vec<_> = (0..MAX_STRANGERS).map(|_| places.take_at(begun)).collect();
        assert!(!strangers.iter_mut().any(is_over));
        strangers.push(places.take_at(begun + JUST_COME / 2));
        assert!(!strangers.iter_mut().any(is_over), "each has a while to say who it is");
        // One by one the others go.
        drop(strangers.pop());
        let next = places.take_at(begun + JUST_COME);
        assert!(is_over(&mut strangers[0]) && !is_over(&mut strangers[1]));
        assert_eq!(person.taken.try_recv(), Ok(()), "it stays");
        strangers[0].caller().is_signed_in();
        assert!(!strangers[0].caller().is_known(), "its place is taken");
        drop((next, strangers, person));
        let all = places.lock();
        assert_eq!((all.strangers.len(), all.signed_in), (0, 0));
    }

    #[test]
    fn those_that_have_just_come_have_an_end_as_well_and_room_is_made_when_there_is_none() {
        for (files, most) in [(1 << 20, MAX_JUST_COME), (1024, 512), (256, 128), (20, MAX_STRANGERS)] {
            let (places, now) = (Places::new(files), Instant::now());
            let mut strangers: Vec<_> = (0..most).map(|_| places.take_at(now)).collect();
            assert!(!strangers.iter_mut().any(is_over), "{files}");
            strangers.push(places.take_at(now));
            assert_eq!(strangers.iter_mut().filter_map(|place| is_over(place).then_some(())).count(), 1, "{files}");
            assert!(is_over(&mut strangers[0]), "{files}");
            // Behind a flood only as many are kept as of others.
            strangers.push(places.take_at(now + JUST_COME));
            assert_eq!(places.lock().strangers.len(), MAX_STRANGERS, "{files}");
            places.make_room();
            assert_eq!(places.lock().strangers.len(), MAX_STRANGERS - 1, "{files}");
        }
    }

    #[test]
    fn those_who_are_signed_in_have_an_end_as_well() {
        let places = Places::new(1024);
        let all: Vec<_> = (0..=MAX_SIGNED_IN).map(|_| places.take()).inspect(|place| place.caller().is_signed_in()).collect();
        assert_eq!(all.iter().filter(|place| place.caller().is_known()).count(), MAX_SIGNED_IN);
    }
}
