//! The threads that work for the surface that looks at the peers: one for each peer. It connects again and again, takes what the peer
//! reports, and saves the known state of its machines.
//!
//! An offer that was not confirmed is made again by itself, once its machine is reached. The same offer counts once, and gets the same
//! verdict again. Only offers of this process are made again, never two at the same time to one machine, and none that a later answer has
//! replaced.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::cache;
use crate::offers::Offers;
use crate::peer::{Change, Peer, Progress, Stop};
use crate::state::PeersState;
use askbox_mailbox::{HostName, thread};

/// How long an offer is tried.
pub(crate) const OFFERED_WITHIN: Duration = Duration::from_secs(30);

pub(crate) struct Shared {
    pub(crate) peers: Vec<Box<dyn Peer>>,
    /// The folder of the caches.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) state: Mutex<PeersState>,
    pub(crate) changed: Condvar,
    pub(crate) wake: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.state.fmt(f)
    }
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, PeersState> {
        thread::locked(&self.state)
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut PeersState) -> T) -> T {
        let mut state = self.lock();
        let result = change(&mut state);
        state.revision += 1;
        drop(state);
        self.changed.notify_all();
        (self.wake)();
        result
    }
}

/// The pauses between two attempts to reach a peer: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A connection that lasted this long begins the pauses anew.
const LASTED: Duration = Duration::from_secs(10);
/// The shortest time between two writings of a cache.
const CACHE_EVERY: Duration = Duration::from_secs(5);

/// Connects again and again, with growing pauses, until the work is to end.
pub(crate) fn keep_connected(shared: &Arc<Shared>, n: usize, stop: &Stop) {
    let peer = &shared.peers[n];
    let mut pause = FIRST_PAUSE;
    let kept = Mutex::new(Instant::now().checked_sub(CACHE_EVERY));
    while !stop.is_set() {
        let begun = Instant::now();
        let report = |change: Change| {
            let is_listed = matches!(change, Change::Listed(..));
            // A surface that sees this change may make an offer at once. That offer needs no repetition because of this change, so the
            // decision is made before the surface sees it.
            let (left, again) = shared.change(|state| {
                let again = asked_again(&change, &state.offers);
                (state.take(n, change), again.filter(|(host, at_once)| begins_again(state, n, host, *at_once)))
            });
            if let Some((host, _)) = again {
                offer_again(shared, n, host, stop);
            }
            shared.folder.iter().for_each(|folder| left.iter().for_each(|host| cache::forget(folder, host)));
            let mut kept = thread::locked(&kept);
            if is_listed || kept.is_none_or(|at| at.elapsed() >= CACHE_EVERY) {
                *kept = Some(Instant::now());
                keep(shared, n);
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
        // Spread the attempts: after a cut, not all machines and not all surfaces of one machine should connect at the same moment.
        let share = f64::from(u32::from_be_bytes(*Uuid::new_v4().as_bytes().first_chunk().unwrap_or(&[0; 4]))) / f64::from(u32::MAX);
        if stop.wait(pause.mul_f64(0.75 + share / 2.0)) {
            break;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    keep(shared, n);
}

/// Writes the caches of a peer's machines. If a cache cannot be written, the age that is shown next time is wrong, and nothing else.
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

/// The machine that may be asked again after this change, and whether at once: after a new connection, or as soon as a question no longer waits
/// that an offer answers. After another sign of life, a pause is kept.
fn asked_again(change: &Change, offers: &Offers) -> Option<(HostName, bool)> {
    match change {
        Change::Listed(host) => Some((host.clone(), true)),
        Change::Gone { host, workflow, .. } => Some((host.clone(), offers.concerns(host, workflow))),
        Change::Heard(host, _) => Some((host.clone(), false)),
        _ => None,
    }
}

/// True if offers are to be made again to the machine now. Then the caller makes them with [`offer_again`].
fn begins_again(state: &mut PeersState, n: usize, host: &HostName, at_once: bool) -> bool {
    state.hosts.get(host).is_some_and(|known| known.peer == n) && state.offers.begin_again(host, at_once)
}

/// Makes the offers again that the machine has not confirmed, in a thread of its own.
fn offer_again(shared: &Arc<Shared>, n: usize, host: HostName, stop: &Stop) {
    let (theirs, to, stop) = (Arc::clone(shared), host.clone(), stop.clone());
    let started = thread::start(move || {
        loop {
            while offer_next(&theirs, n, &to, &stop) {}
            let mut state = theirs.lock();
            if !state.offers.end_again(&to) || !begins_again(&mut state, n, &to, true) {
                break;
            }
        }
    });
    if started.is_err() {
        // The next sign starts another attempt.
        shared.lock().offers.end_again(&host);
    }
}

/// Makes the next offer again. Returns false if there is none, or if the machine has not confirmed this one.
fn offer_next(shared: &Shared, n: usize, host: &HostName, stop: &Stop) -> bool {
    if stop.is_set() {
        return false;
    }
    let Some(offer) = shared.lock().offers.next(host) else { return false };
    let progress = shared.peers[n].offer(host, &offer, OFFERED_WITHIN);
    let is_told = matches!(progress, Progress::Decided(_) | Progress::Sent);
    if is_told {
        shared.change(|state| state.told_again(host, &offer, progress));
    }
    is_told
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::sync::{Mutex, Weak};
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;
    use crate::Peers;
    use crate::peer::Problem;
    use crate::tests::{cut, list, played};
    use askbox_mailbox::documents::offer::{Decided, Offer, Verdict};
    use askbox_mailbox::{Answer, AnswerValue, QuestionId, RoundId, time};

    const SOON: Duration = Duration::from_secs(20);

    fn offer_of(id: QuestionId, word: &str) -> Offer {
        let round = RoundId { workflow: "w".parse().unwrap(), question: id };
        Offer::new(&round, Uuid::nil(), None, Answer::value(AnswerValue::Text(word.into()), "ann", "inbox"), true)
    }

    fn verdict(offer: &Offer, decided: Decided) -> Progress {
        let said = "the machine's words".into();
        Progress::Decided(Verdict { offer_id: offer.offer_id, decided, said, hint: None, warning: None })
    }

    fn decided(peers: &Peers, offer: &Offer) -> Decided {
        match peers.resolved(offer.offer_id, SOON) {
            Some(Progress::Decided(verdict)) => verdict.decided,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_unconfirmed_offer_is_made_again_with_the_next_list() {
        let (host, id) = ("build".parse::<HostName>().unwrap(), QuestionId::from_uuid(Uuid::now_v7()));
        let seen = Arc::<Mutex<Vec<Uuid>>>::default();
        let theirs = Arc::clone(&seen);
        let (build, changes) = played("build", move |offer| {
            let mut seen = theirs.lock().unwrap();
            seen.push(offer.offer_id);
            match seen.len() {
                1 => cut(),
                // The first attempt after the cut does not even reach it.
                2 => Progress::NotSent(Problem::passing("cut off", "wait")),
                _ => verdict(offer, Decided::Accepted),
            }
        });
        let peers = Peers::open(vec![build], None, || {}).unwrap();
        list(&changes, &host, id);
        let offer = offer_of(id, "a");
        peers.settle_with(&host, SOON);
        peers.offer(&host, offer.clone()).unwrap();
        let first = peers.outcome(offer.offer_id, SOON);
        assert!(matches!(first, Progress::Unconfirmed(_)), "{first:?}");
        for attempts in [2, 3] {
            list(&changes, &host, id);
            let end = std::time::Instant::now() + SOON;
            while seen.lock().unwrap().len() < attempts && std::time::Instant::now() < end {
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(seen.lock().unwrap().len(), attempts);
            if attempts == 2 {
                assert!(matches!(peers.progress(offer.offer_id), Some(Progress::Unconfirmed(_))), "it may have arrived the first time");
            }
        }
        assert_eq!(decided(&peers, &offer), Decided::Accepted);
        assert_eq!(*seen.lock().unwrap(), [offer.offer_id; 3]);
        assert!(peers.question(&host, &"w".parse().unwrap()).is_none(), "it waits no longer");
    }

    #[test]
    fn a_list_from_before_an_offer_does_not_make_it_again() {
        let (host, id) = ("build".parse::<HostName>().unwrap(), QuestionId::from_uuid(Uuid::now_v7()));
        let (build, changes) = played("build", |_| cut());
        let (stop, stops) = Stop::new().unwrap();
        let (to, stops) = (host.clone(), Mutex::new(Some(stops)));
        let shared = Arc::new_cyclic(|shared: &Weak<Shared>| {
            let shared = shared.clone();
            // The surface sees the list, and makes an offer, while the thread that took the list is still busy with it.
            let wake = move || {
                let shared = shared.upgrade().unwrap();
                let mut state = shared.lock();
                if state.hosts[&to].is_settled() && stops.lock().unwrap().take().is_some() {
                    let offer = offer_of(id, "a");
                    state.offers.begin(&to, &offer);
                    state.offered(&to, offer, Progress::Unconfirmed(Problem::passing("cut off", "wait")));
                }
            };
            Shared { peers: vec![build], folder: None, state: Mutex::default(), changed: Condvar::new(), wake: Box::new(wake) }
        });
        list(&changes, &host, id);
        keep_connected(&shared, 0, &stop);
        let mut state = shared.lock();
        assert!(state.offers.concerns(&host, &"w".parse().unwrap()));
        assert!(state.offers.begin_again(&host, false), "nothing was made again a moment ago");
    }

    #[test]
    fn a_list_during_an_attempt_brings_another_attempt() {
        let (host, id) = ("build".parse::<HostName>().unwrap(), QuestionId::from_uuid(Uuid::now_v7()));
        let ((begun, is_begun), (go_on, goes_on)) = (channel(), channel());
        let (goes_on, count) = (Mutex::new(goes_on), AtomicUsize::new(0));
        let (build, changes) = played("build", move |offer| match count.fetch_add(1, Ordering::Relaxed) {
            0 => cut(),
            1 => {
                begun.send(()).unwrap();
                goes_on.lock().unwrap().recv_timeout(SOON).unwrap();
                cut()
            }
            _ => verdict(offer, Decided::Accepted),
        });
        let peers = Peers::open(vec![build], None, || {}).unwrap();
        list(&changes, &host, id);
        peers.settle_with(&host, SOON);
        let offer = offer_of(id, "a");
        peers.offer(&host, offer.clone()).unwrap();
        assert!(matches!(peers.outcome(offer.offer_id, SOON), Progress::Unconfirmed(_)));
        list(&changes, &host, id);
        is_begun.recv_timeout(SOON).unwrap();
        // The next list comes while the attempt is under way, and is read before the change that follows it.
        list(&changes, &host, id);
        changes.send(Some(Change::Mailbox(host.clone(), Some("/m".into())))).unwrap();
        let end = Instant::now() + SOON;
        while peers.view()[0].no_mailbox.is_none() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        go_on.send(()).unwrap();
        assert_eq!(decided(&peers, &offer), Decided::Accepted);
    }

    #[test]
    fn an_earlier_answer_is_made_again_once_the_later_has_ended_it() {
        let (host, id) = ("build".parse::<HostName>().unwrap(), QuestionId::from_uuid(Uuid::now_v7()));
        let seen = Arc::<Mutex<Vec<Uuid>>>::default();
        let theirs = Arc::clone(&seen);
        let (build, changes) = played("build", move |offer| {
            let mut seen = theirs.lock().unwrap();
            seen.push(offer.offer_id);
            match seen.len() {
                1 | 2 => cut(),
                3 => verdict(offer, Decided::Accepted),
                _ => verdict(offer, Decided::Lost),
            }
        });
        let peers = Peers::open(vec![build], None, || {}).unwrap();
        list(&changes, &host, id);
        peers.settle_with(&host, SOON);
        let (earlier, later) = (offer_of(id, "a"), offer_of(id, "b"));
        for offer in [&earlier, &later] {
            peers.offer(&host, offer.clone()).unwrap();
            assert!(matches!(peers.outcome(offer.offer_id, SOON), Progress::Unconfirmed(_)));
        }
        list(&changes, &host, id);
        assert_eq!((decided(&peers, &later), decided(&peers, &earlier)), (Decided::Accepted, Decided::Lost));
        assert_eq!(seen.lock().unwrap()[2..], [later.offer_id, earlier.offer_id]);
    }

    #[test]
    fn a_machine_without_its_list_is_asked_again_after_a_pause() {
        let mut offers = crate::offers::Offers::default();
        let host: HostName = "build".parse().unwrap();
        let offer = offer_of(QuestionId::from_uuid(Uuid::now_v7()), "a");
        offers.begin(&host, &offer);
        assert!(!offers.begin_again(&host, true), "it is under way");
        offers.set(offer.offer_id, Progress::Unconfirmed(Problem::passing("cut", "")));
        offers.keep(&host, offer.clone());
        assert!(offers.begin_again(&host, false));
        assert!(!offers.begin_again(&host, false), "it is being offered already");
        assert!(!offers.end_again(&host), "a sign of life asks for nothing");
        assert!(!offers.begin_again(&host, false), "a moment ago it was in vain");
        assert!(!offers.begin_again(&"tower".parse().unwrap(), true), "another machine gets nothing");
        assert!(offers.concerns(&host, &offer.workflow_id) && offers.begin_again(&host, true));
        assert_eq!(asked_again(&Change::Heard(host.clone(), time::now()), &offers), Some((host.clone(), false)));
        assert_eq!(asked_again(&Change::Begins(host, "1".into()), &offers), None);
    }
}
