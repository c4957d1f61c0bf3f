//! The places of connections. A connection that has not shown a session is a stranger. The oldest stranger makes room for a new one, and no
//! stranger stays for long. So people can reach the page however many connections strangers leave half open.
//!
//! A person's connection also counts as a stranger until its first request arrives, which may take a round trip through a tunnel. So a new
//! connection gets a moment for that, and more new connections are kept than older ones.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use askbox_mailbox::thread;
use tokio::sync::oneshot;

/// The maximum number of strangers at once, without new connections.
const MAX_STRANGERS: usize = 64;
/// The time during which a connection counts as new.
const JUST_COME: Duration = Duration::from_secs(1);
/// The maximum number of strangers at once together with new connections, if the process may open that many files.
const MAX_JUST_COME: usize = 512;
/// The maximum number of connections of signed-in devices. Further ones stay strangers.
const MAX_SIGNED_IN: usize = 128;

/// All places for connections.
#[derive(Debug, Clone)]
pub struct Places {
    taken: Arc<Mutex<Taken>>,
    /// The maximum number of strangers at once.
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

/// One place. It lasts as long as its connection.
pub struct Place {
    /// Who took it.
    pub caller: Caller,
    /// Resolves with an error when another connection takes the place, and with a value when nobody can take it any more.
    pub taken: oneshot::Receiver<()>,
}

/// The caller of a connection, as requests of that connection see it.
#[derive(Debug, Clone)]
pub struct Caller {
    id: u64,
    has_shown: Arc<AtomicBool>,
    is_known: Arc<AtomicBool>,
    places: Places,
}

impl Places {
    /// Starts with all places free. `files` is the number of files that this process may open.
    pub fn new(files: u64) -> Self {
        let half = usize::try_from(files / 2).unwrap_or(usize::MAX);
        Self { taken: Arc::default(), most: half.clamp(MAX_STRANGERS, MAX_JUST_COME) }
    }

    /// Takes a place for one more stranger.
    pub fn take(&self, now: Instant) -> Place {
        let (kept, taken) = oneshot::channel();
        let mut all = thread::locked(&self.taken);
        let makes_room = |oldest: &Stranger| now.duration_since(oldest.since) >= JUST_COME;
        while all.strangers.len() >= self.most || all.strangers.len() >= MAX_STRANGERS && all.strangers.front().is_some_and(makes_room) {
            all.strangers.pop_front();
        }
        all.last += 1;
        let id = all.last;
        all.strangers.push_back(Stranger { id, since: now, kept });
        Place { caller: Caller { id, has_shown: Arc::default(), is_known: Arc::default(), places: self.clone() }, taken }
    }

    /// Ends the oldest stranger, because the system has no room for one more connection.
    pub fn make_room(&self) {
        thread::locked(&self.taken).strangers.pop_front();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = thread::locked(&self.caller.places.taken);
        if self.caller.is_known() {
            all.signed_in -= 1;
        } else {
            all.strangers.retain(|stranger| stranger.id != self.caller.id);
        }
    }
}

impl Caller {
    /// Notes that the connection has shown a session, so that it no longer makes room for others.
    pub fn is_signed_in(&self) {
        self.has_shown.store(true, Ordering::Relaxed);
        let mut all = thread::locked(&self.places.taken);
        if self.is_known() || all.signed_in >= MAX_SIGNED_IN {
            return;
        }
        // If its place is taken already, the connection still ends.
        if let Some(stranger) = all.strangers.iter().position(|other| other.id == self.id).and_then(|at| all.strangers.remove(at)) {
            self.is_known.store(true, Ordering::Relaxed);
            all.signed_in += 1;
            // Tells the connection that nobody will take its place.
            let _ = stranger.kept.send(());
        }
    }

    /// True if the connection has shown a session, whether or not it got a lasting place.
    pub fn has_shown_a_session(&self) -> bool {
        self.has_shown.load(Ordering::Relaxed)
    }

    /// True if the connection has shown a session and got a lasting place.
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
    fn a_stranger_never_takes_the_place_of_a_signed_in_device() {
        let (places, begun) = (Places::new(1024), Instant::now());
        let mut person = places.take(begun);
        person.caller.is_signed_in();
        let mut strangers: Vec<_> = (0..MAX_STRANGERS).map(|_| places.take(begun)).collect();
        assert!(!strangers.iter_mut().any(is_over));
        strangers.push(places.take(begun + JUST_COME / 2));
        assert!(!strangers.iter_mut().any(is_over), "each has a while to say who it is");
        // Each new stranger ends one of the others.
        drop(strangers.pop());
        let next = places.take(begun + JUST_COME);
        assert!(is_over(&mut strangers[0]) && !is_over(&mut strangers[1]));
        assert_eq!(person.taken.try_recv(), Ok(()), "it stays");
        strangers[0].caller.is_signed_in();
        assert!(!strangers[0].caller.is_known(), "its place is taken");
        drop((next, strangers, person));
        let all = thread::locked(&places.taken);
        assert_eq!((all.strangers.len(), all.signed_in), (0, 0));
    }

    #[test]
    fn a_connection_that_has_just_come_has_an_end_as_well() {
        for (files, most) in [(1 << 20, MAX_JUST_COME), (1024, 512), (256, 128), (20, MAX_STRANGERS)] {
            let (places, now) = (Places::new(files), Instant::now());
            let mut strangers: Vec<_> = (0..most).map(|_| places.take(now)).collect();
            assert!(!strangers.iter_mut().any(is_over), "{files}");
            strangers.push(places.take(now));
            assert_eq!(strangers.iter_mut().filter_map(|place| is_over(place).then_some(())).count(), 1, "{files}");
            assert!(is_over(&mut strangers[0]), "{files}");
            // After a flood of new connections, only the usual number is kept.
            strangers.push(places.take(now + JUST_COME));
            assert_eq!(thread::locked(&places.taken).strangers.len(), MAX_STRANGERS, "{files}");
            places.make_room();
            assert_eq!(thread::locked(&places.taken).strangers.len(), MAX_STRANGERS - 1, "{files}");
        }
    }

    #[test]
    fn those_who_are_signed_in_have_an_end_as_well() {
        let places = Places::new(1024);
        let all: Vec<_> = (0..=MAX_SIGNED_IN).map(|_| places.take(Instant::now())).inspect(|place| place.caller.is_signed_in()).collect();
        assert_eq!(all.iter().filter(|place| place.caller.is_known()).count(), MAX_SIGNED_IN);
    }
}
