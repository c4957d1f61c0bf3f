//! An offer that was not confirmed is made again by itself, once its machine is reached: the same offer counts once, and the same verdict is
//! told again. Only this process's offers, never two at the same time to one machine, and none that a later answer has replaced.

use std::sync::Arc;

use crate::address::HostName;
use crate::id::WorkflowId;
use crate::peers::offers::Progress;
use crate::peers::peer::{Change, Stop};
use crate::peers::threads::shared::{OFFERED_WITHIN, Shared};
use crate::thread;

/// A report that says that a machine may be asked again.
pub(in crate::peers) struct Sign {
    host: HostName,
    kind: Kind,
}

enum Kind {
    /// It was connected to anew.
    Listed,
    /// A question of this workflow waits no longer.
    Gone(WorkflowId),
    /// It is there.
    Heard,
}

impl Sign {
    pub(in crate::peers) fn of(change: &Change) -> Option<Self> {
        let (host, kind) = match change {
            Change::Listed { host } => (host, Kind::Listed),
            Change::Gone { host, workflow, .. } => (host, Kind::Gone(workflow.clone())),
            Change::Heard { host, .. } => (host, Kind::Heard),
            _ => return None,
        };
        Some(Self { host: host.clone(), kind })
    }
}

/// Makes the offers again that the machine has not confirmed, in a thread of its own, if it is time.
pub(in crate::peers) fn offer(shared: &Arc<Shared>, n: usize, sign: Sign, stop: &Stop) {
    let Sign { host, kind } = sign;
    {
        let mut state = shared.lock();
        let at_once = match kind {
            Kind::Listed => true,
            Kind::Gone(workflow) => state.offers.concerns(&host, &workflow),
            Kind::Heard => false,
        };
        if !state.is_led_to(n, &host) || !state.offers.begin_again(&host, at_once) {
            return;
        }
    }
    let (theirs, to, stop) = (Arc::clone(shared), host.clone(), stop.clone());
    let started = thread::start(move || {
        while offer_next(&theirs, n, &to, &stop) {}
        theirs.lock().offers.end_again(&to);
    });
    if started.is_err() {
        // The next sign tries it once more.
        shared.lock().offers.end_again(&host);
    }
}

/// Makes the next offer again. `false` if there is none, or if the machine has confirmed nothing.
fn offer_next(shared: &Shared, n: usize, host: &HostName, stop: &Stop) -> bool {
    if stop.is_set() {
        return false;
    }
    let Some(offer) = shared.lock().offers.next(host) else { return false };
    let progress = Progress::of(shared.peers[n].offer(host, &offer, OFFERED_WITHIN));
    let is_told = matches!(progress, Progress::Decided(_) | Progress::Sent);
    if is_told {
        shared.change(|state| state.told_again(host, &offer, progress));
    }
    is_told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{QuestionId, RoundId};
    use crate::mailbox::Answer;
    use crate::mailbox::documents::answer::AnswerValue;
    use crate::mailbox::documents::offer::{Decided, Offer, Verdict};
    use crate::peers::Peers;
    use crate::peers::peer::{NotOffered, Offered, Problem};
    use crate::peers::played::{cut, list, played};
    use crate::time;
    use std::sync::Mutex;
    use std::time::Duration;
    use uuid::Uuid;

    const SOON: Duration = Duration::from_secs(20);

    fn offer_of(id: QuestionId, word: &str) -> Offer {
        let round = RoundId { workflow: "w".parse().unwrap(), question: id };
        Offer::new(&round, Uuid::nil(), None, Answer::value(AnswerValue::Text(word.into()), "ann", "inbox"), true)
    }

    fn verdict(offer: &Offer, decided: Decided) -> Result<Offered, NotOffered> {
        let said = "the machine's words".into();
        Ok(Offered::Decided(Verdict { offer_id: offer.offer_id, decided, said, hint: None, warning: None }))
    }

    fn decided(peers: &Peers, offer: &Offer) -> Decided {
        match peers.resolved(offer.offer_id, SOON) {
            Some(Progress::Decided(verdict)) => verdict.decided,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_offer_that_was_not_confirmed_is_made_again_when_its_machine_is_listed_again_and_its_verdict_is_known() {
        let (host, id) = ("build".parse::<HostName>().unwrap(), QuestionId::from_uuid(Uuid::now_v7()));
        let seen = Arc::<Mutex<Vec<Uuid>>>::default();
        let theirs = Arc::clone(&seen);
        let (build, changes) = played("build", move |offer| {
            let mut seen = theirs.lock().unwrap();
            seen.push(offer.offer_id);
            match seen.len() {
                1 => cut(),
                // The first attempt after the cut does not even reach it.
                2 => Err(NotOffered { problem: Problem::passing("cut off", "wait"), may_have_arrived: false }),
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
    fn an_earlier_answer_is_made_again_only_when_the_later_one_has_ended_the_round() {
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
    fn a_machine_that_only_says_that_it_is_there_is_asked_again_after_a_pause_and_at_once_when_the_question_is_gone() {
        let mut offers = crate::peers::offers::Offers::default();
        let host: HostName = "build".parse().unwrap();
        let offer = offer_of(QuestionId::from_uuid(Uuid::now_v7()), "a");
        offers.begin(&host, &offer);
        assert!(!offers.begin_again(&host, true), "it is under way");
        offers.set(offer.offer_id, Progress::Unconfirmed(Problem::passing("cut", "")));
        offers.keep(&host, offer.clone());
        assert!(offers.begin_again(&host, false));
        assert!(!offers.begin_again(&host, true), "it is being offered already");
        offers.end_again(&host);
        assert!(!offers.begin_again(&host, false), "a moment ago it was in vain");
        assert!(!offers.begin_again(&"tower".parse().unwrap(), true), "another machine gets nothing");
        assert!(offers.concerns(&host, &offer.workflow_id) && offers.begin_again(&host, true));
        let gone = Change::Heard { host: host.clone(), at: time::now() };
        assert!(Sign::of(&gone).is_some() && Sign::of(&Change::Begins { host, version: "1".into() }).is_none());
    }
}
