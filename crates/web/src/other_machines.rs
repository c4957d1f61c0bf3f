//! The questions of other machines, and the answers that this page has offered to them. No request waits for a machine. The page calls an
//! offer an answer only after its machine has accepted it.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use uuid::Uuid;

use crate::changes::Changes;
use crate::filled_part::{self, GivenPart};
use crate::index::{OtherMachine, Row};
use askbox_cli::PersonsDecision;
use askbox_config::Config;
use askbox_mailbox::documents::checks::check_answer::Given;
use askbox_mailbox::{Answer, Caller, Decided, HostName, Result, RoundId, check_answer, text, thread};
use askbox_peers::collection::no_peer;
use askbox_peers::known::HostView;
use askbox_peers::machines::{self, answer, offer_state};
use askbox_peers::{Peers, Progress, RemoteQuestion};

/// The time during which reports of machines are gathered before pages are told.
const GATHERED: Duration = Duration::from_millis(150);
/// The maximum number of offers that are remembered.
const REMEMBERED: usize = 500;

type Rows = Arc<Vec<Arc<Row>>>;

/// The other machines, their questions and the offers to them.
#[derive(Debug)]
pub struct OtherMachines {
    peers: Arc<Peers>,
    offered: Arc<Mutex<VecDeque<Offered>>>,
    rows: Arc<Mutex<KnownRows>>,
}

/// The rows as they were made last.
#[derive(Debug, Default)]
struct KnownRows {
    /// The revision of the machines' state behind them, once there are rows.
    revision: Option<u64>,
    /// The question of each row. A question that is over is not kept for it.
    questions: Vec<Weak<RemoteQuestion>>,
    rows: Rows,
}

/// An answer that was offered from this page.
#[derive(Debug, Clone)]
pub struct Offered {
    /// The id of the offer.
    pub id: Uuid,
    /// The machine.
    pub host: HostName,
    /// The round on that machine.
    pub round: RoundId,
    /// The question that it answers. After an answer is taken back, the machine reports the question anew, and `question` is not that one.
    question: Weak<RemoteQuestion>,
    /// The question in one line.
    pub title: String,
    /// The answer.
    pub answer: Answer,
    /// The answer to each part, in words.
    pub given: Vec<GivenPart>,
    /// The options that were chosen. Shown to the person if the answer was not accepted.
    pub chosen: String,
    /// The texts that were written. Shown to the person if the answer was not accepted.
    pub written: String,
}

impl Offered {
    /// The answer in words.
    pub fn said(&self) -> String {
        match self.given.as_slice() {
            [] => self.answer.word().to_owned(),
            parts => parts.iter().map(GivenPart::words).collect::<Vec<_>>().join("; "),
        }
    }
}

impl OtherMachines {
    /// Connects to the machines of the configuration. Pages are told about their changes.
    ///
    /// # Errors
    /// If the system refuses a thread or a descriptor.
    pub fn start(config: &Config, changes: Changes) -> Result<Self> {
        let (wake, woken) = sync_channel(1);
        let peers = Arc::new(Peers::of_configuration(config, move || {
            // If the channel is full, a message that says the same is already waiting.
            let _ = wake.try_send(());
        })?);
        let (offered, rows) = (Arc::<Mutex<VecDeque<Offered>>>::default(), Arc::<Mutex<KnownRows>>::default());
        if !peers.is_empty() {
            let (peers, offered, rows) = (Arc::downgrade(&peers), Arc::clone(&offered), Arc::clone(&rows));
            thread::start(move || {
                let mut told = 0;
                while woken.recv().is_ok() {
                    std::thread::sleep(GATHERED);
                    let Some(peers) = peers.upgrade() else { return };
                    // A machine reports every few seconds that it is there. That alone does not change a page.
                    let now = fingerprint(&peers, &thread::locked(&offered));
                    if now != told {
                        // Rows of questions that are over are given back now, even if nobody looks at a page.
                        thread::locked(&rows).renew(&peers);
                        changes.tell("*");
                        told = now;
                    }
                }
            })?;
        }
        Ok(Self { peers, offered, rows })
    }

    /// The connections.
    pub fn peers(&self) -> Arc<Peers> {
        Arc::clone(&self.peers)
    }

    /// True if there are no other machines.
    pub fn is_nobody(&self) -> bool {
        self.peers.is_empty()
    }

    /// The waiting questions of other machines.
    pub fn rows(&self) -> Rows {
        if self.peers.is_empty() {
            return Arc::default();
        }
        let mut known = thread::locked(&self.rows);
        // The last known state is shown even before any machine has reported.
        known.renew(&self.peers);
        Arc::clone(&known.rows)
    }

    /// Notes about machines that are not reached, or that have more questions than are kept here.
    pub fn notes(&self) -> Vec<String> {
        let (ways, views) = (self.peers.ways(), self.peers.view());
        let lost = machines::not_reached(&ways, &views).into_iter().map(|lost| lost.why);
        let hosts = views.iter().flat_map(|view| {
            let more = (view.left_out > 0).then(|| format!("{} has {} more questions than are shown here", view.host, view.left_out));
            [machines::no_mailbox(view), more].into_iter().flatten()
        });
        lost.chain(hosts).collect()
    }

    /// The machine with this name.
    ///
    /// # Errors
    /// [`Error::NotFound`](askbox_mailbox::error::Error::NotFound) if no peer leads to it.
    pub fn machine(&self, host: &HostName) -> Result<HostView> {
        self.peers.view().into_iter().find(|view| view.host == *host).ok_or_else(|| no_peer(host))
    }

    /// The waiting question of a workflow on a machine, if it is known.
    pub fn question(&self, host: &HostName, round: &RoundId) -> Option<Arc<RemoteQuestion>> {
        self.peers.question(host, &round.workflow)
    }

    /// How a round on another machine ended, in that machine's words, if it has reported that.
    pub fn fate(&self, host: &HostName, round: &RoundId) -> Option<String> {
        self.peers.fate(host, &round.workflow, round.question).map(|fate| fate.said.excerpt(300))
    }

    /// The last answer that this page has offered for a round, and its progress.
    pub fn offered(&self, host: &HostName, round: &RoundId) -> Option<(Offered, Progress)> {
        let last = last_of(&thread::locked(&self.offered), host, round)?.clone();
        let progress = self.progress(&last);
        Some((last, progress))
    }

    fn progress(&self, offered: &Offered) -> Progress {
        self.peers.progress(offered.id).unwrap_or(Progress::UnderWay)
    }

    /// The answers that this page has offered, the newest first, and their progress.
    pub fn all_offered(&self) -> Vec<(Offered, Progress)> {
        let all: Vec<_> = thread::locked(&self.offered).iter().rev().cloned().collect();
        all.into_iter().map(|offered| (offered.clone(), self.progress(&offered))).collect()
    }

    /// Offers the decision of a device about a question of another machine. The filled-in form is kept until that machine has decided.
    ///
    /// # Errors
    /// [`Error::Failed`](askbox_mailbox::error::Error::Failed) if the machine takes no offers now; [`Error::Invalid`](askbox_mailbox::error::Error::Invalid)
    /// if the value does not fit.
    pub fn offer(&self, question: &Arc<RemoteQuestion>, decision: PersonsDecision, person: &Caller, draft: (String, String)) -> Result<()> {
        let host = &question.host;
        let view = self.machine(host)?;
        machines::may_take_offers(&view)?;
        let (round, asked) = (answer::as_round(question)?, answer::asked(question)?);
        let typed = &round.document.typed;
        person.may_decide(typed)?;
        // The person has already been asked about words that are close to an option.
        let given = check_answer::check(typed, decision.given_by(person), Given::InOwnWords)?;
        let said = |answer: &Answer| {
            let Answer { value, edited, note, always, stops, asks_back, by, .. } = answer.clone();
            (value, edited, note, always, stops, asks_back, by)
        };
        let same = |offered: &Offered| said(&offered.answer) == said(&given);
        // The verdict may come before the report that the question no longer waits.
        let counts = |progress: &Progress| matches!(progress, Progress::Decided(verdict) if verdict.decided == Decided::Accepted);
        // Held until the offer is remembered, because two tabs may send the form at the same time.
        let mut all = thread::locked(&self.offered);
        if let Some(offered) = last_of(&all, host, &round.id).filter(|offered| same(offered)) {
            let progress = self.progress(offered);
            if progress.is_open() || (counts(&progress) && std::ptr::eq(offered.question.as_ptr(), Arc::as_ptr(question))) {
                // A browser that got no reply sends its form once more.
                return Ok(());
            }
        }
        let offer = asked.offer(person, given.clone(), true)?;
        let (chosen, written) = draft;
        all.push_back(Offered {
            id: offer.offer_id,
            host: host.clone(),
            round: round.id.clone(),
            question: Arc::downgrade(question),
            title: text::excerpt(&typed.title(), 300),
            given: filled_part::in_words(typed, &given),
            answer: given,
            chosen,
            written,
        });
        if all.len() > REMEMBERED {
            all.pop_front();
        }
        drop(all);
        self.peers.offer(host, offer)
    }
}

/// The last answer that was offered for a round.
fn last_of<'a>(all: &'a VecDeque<Offered>, host: &HostName, round: &RoundId) -> Option<&'a Offered> {
    all.iter().rev().find(|offered| offered.host == *host && offered.round == *round)
}

impl KnownRows {
    /// Makes the rows anew, if anything has changed. A document is read only if its question has changed.
    fn renew(&mut self, peers: &Peers) {
        let now = peers.revision();
        if self.revision.replace(now) == Some(now) {
            return;
        }
        let views = peers.view();
        let known: HashMap<_, _> = self.questions.iter().map(Weak::as_ptr).zip(self.rows.iter()).collect();
        let mut rows = Vec::with_capacity(views.iter().map(|view| view.questions.len()).sum());
        for view in &views {
            // When a machine was heard is shown only while it is away.
            let as_of = view.as_of.filter(|_| view.is_stale());
            let there = Arc::new(OtherMachine { host: view.host.clone(), is_away: view.is_stale(), as_of });
            for question in &view.questions {
                let sent_by = question.round().and_then(|round| offer_state::first_sender(view, round.question));
                let row = match known.get(&Arc::as_ptr(question)) {
                    Some(row) if row.sent_by == sent_by && row.elsewhere.as_ref() == Some(&there) => Arc::clone(row),
                    Some(row) => Arc::new(Row { elsewhere: Some(Arc::clone(&there)), sent_by, ..Row::clone(row) }),
                    None => Arc::new(Row { elsewhere: Some(Arc::clone(&there)), sent_by, ..row(question) }),
                };
                rows.push(row);
            }
        }
        self.questions = views.iter().flat_map(|view| view.questions.iter().map(Arc::downgrade)).collect();
        self.rows = Arc::new(rows);
    }
}

fn row(question: &RemoteQuestion) -> Row {
    let id = question.address().to_string();
    match question.document() {
        Ok(document) => Row::from_question(None, id, &document.typed, question.round().map(|round| round.question)),
        Err(why) => Row::unreadable(id, format!("unreadable: {}", why.excerpt(200))),
    }
}

/// A hash that changes when a page has something new to show.
fn fingerprint(peers: &Peers, offered: &VecDeque<Offered>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for view in peers.view() {
        (view.host.as_str(), format!("{:?} {:?}", view.reach, view.no_mailbox), view.left_out).hash(&mut hasher);
        view.undecided.iter().for_each(|sent| sent.offer.hash(&mut hasher));
        for question in &view.questions {
            question.workflow.as_str().hash(&mut hasher);
            question.asked.as_ref().ok().map(|asked| (asked.question, asked.hash)).hash(&mut hasher);
        }
    }
    for offered in offered {
        format!("{:?}", peers.progress(offered.id)).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use askbox_mailbox::AnswerValue;
    use askbox_mailbox::documents::offer::{Offer, Verdict};
    use askbox_peers::{Change, Peer, Problem, Stop};

    const SOON: Duration = Duration::from_secs(20);

    /// The machine `build`, which reports what comes through the channel.
    struct Build(Mutex<Receiver<Change>>);

    impl Peer for Build {
        fn name(&self) -> &'static str {
            "build"
        }

        fn hosts(&self) -> Vec<HostName> {
            vec!["build".parse().unwrap()]
        }

        fn watch(&self, report: &dyn Fn(Change), stop: &Stop) -> Problem {
            let changes = thread::locked(&self.0);
            while !stop.is_set() {
                if let Ok(change) = changes.recv_timeout(Duration::from_millis(20)) {
                    report(change);
                }
            }
            Problem::passing("stopped", "")
        }

        fn offer(&self, _: &HostName, _: &Offer, _: Duration) -> Progress {
            Progress::Sent
        }
    }

    #[test]
    fn a_form_that_is_sent_twice_is_one_offer_until_it_is_undone() {
        let (host, id) = ("build".parse::<HostName>().unwrap(), "0192d3a0-0000-7000-8000-000000000001".parse().unwrap());
        let round = RoundId { workflow: "w".parse().unwrap(), question: id };
        let (tell, changes) = channel();
        let waits = || {
            let text = br#"{"workflow_id":"w","question":"Which?","options":{"a":"A","b":"B"}}"#;
            Change::Question(Box::new(RemoteQuestion::read(host.clone(), round.workflow.clone(), id, text)))
        };
        for change in [Change::Begins(host.clone(), "1".into()), waits(), Change::Listed(host.clone())] {
            tell.send(change).unwrap();
        }
        let peers = Arc::new(Peers::open(vec![Box::new(Build(Mutex::new(changes)))], None, || {}).unwrap());
        peers.settle_with(&host, SOON);
        let page = OtherMachines { peers, offered: Arc::default(), rows: Arc::default() };
        let person = Caller::person("ann", "web").unwrap();
        let offer = |question: &Arc<RemoteQuestion>| {
            let decision = PersonsDecision::Answer(AnswerValue::Text("a".into()), String::new());
            page.offer(question, decision, &person, (String::new(), String::new())).unwrap();
        };
        let send = |question: &Arc<RemoteQuestion>| {
            // Eight tabs at the same moment.
            let begins = Barrier::new(8);
            std::thread::scope(|scope| {
                let tab = || {
                    begins.wait();
                    offer(question);
                };
                (0..8).for_each(|_| drop(scope.spawn(tab)));
            });
            page.all_offered().len()
        };
        let shown = page.question(&host, &round).unwrap();
        assert_eq!((send(&shown), send(&shown)), (1, 1), "it is under way");
        let offer_id = page.all_offered()[0].0.id;
        tell.send(Change::Decided(Verdict { offer_id, decided: Decided::Accepted, said: "answered".into(), hint: None, warning: None }))
            .unwrap();
        assert!(matches!(page.peers.outcome(offer_id, SOON), Progress::Decided(_)));
        assert_eq!(send(&page.question(&host, &round).unwrap()), 1, "the machine has not reported yet that the question is over");
        // The answer is taken back.
        let gone =
            Change::Gone { host: host.clone(), workflow: "w".parse().unwrap(), question: Some(id), fate: "answered".into(), offer: None };
        tell.send(gone).unwrap();
        tell.send(waits()).unwrap();
        let end = std::time::Instant::now() + SOON;
        let told_anew = || page.question(&host, &round).filter(|question| !Arc::ptr_eq(question, &shown));
        while told_anew().is_none() && std::time::Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(send(&told_anew().unwrap()), 2);
    }
}
