//! The questions of other machines, and the offers of answers to them. A thread connects to the machines and reads their reports. When the
//! screen must change, it wakes the inbox. Only at its end does the inbox wait a moment for a machine.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::sender::machines::Machines;
use crate::sender::{CHANNEL, Offered, Seen, Sent, ShownQuestion};
use askbox_cli::{Context, answering, program};
use askbox_mailbox::documents::checks::check_answer::Given;
use askbox_mailbox::documents::shown::is_same;
use askbox_mailbox::{Address, Answer, Caller, Error, HostName, Result, RoundAt, WorkflowId, check_answer, text, thread};
use askbox_peers::collection::no_peer;
use askbox_peers::machines::{self, answer};
use askbox_peers::remote_question::Asked;
use askbox_peers::{Peers, RemoteQuestion};

/// The time during which reports are gathered before the screen is told.
const GATHERED: Duration = Duration::from_millis(150);
/// The maximum number of offers whose progress is followed.
const FOLLOWED: usize = 500;

/// The other machines of the configuration. If there are none, nothing is done.
#[derive(Debug)]
pub struct Others(Arc<Shared>);

#[derive(Debug)]
struct Shared(Mutex<OthersState>);

#[derive(Debug)]
struct OthersState {
    /// The connections, once they are open.
    peers: Option<Arc<Peers>>,
    offered: Vec<Uuid>,
    latest: Arc<Machines>,
}

impl Shared {
    fn new(latest: Machines) -> Arc<Self> {
        Arc::new(Self(Mutex::new(OthersState { peers: None, offered: Vec::new(), latest: Arc::new(latest) })))
    }
}

impl Others {
    /// Starts to connect to the machines of the configuration. Their last known state is read from disk. That may take a while, and the
    /// first picture does not wait for it. `ring` is called whenever the screen must change.
    pub fn connect(context: &Context, ring: impl Fn() + Send + 'static) -> Self {
        if !program::has_peers() {
            return Self::nobody();
        }
        let shared = Shared::new(Machines::default());
        let (theirs, context) = (Arc::downgrade(&shared), context.clone());
        if let Err(e) = thread::start(move || follow(&theirs, &context, &ring)) {
            thread::locked(&shared.0).latest = Arc::new(Machines::without(program::message(&e)));
        }
        Self(shared)
    }

    /// The state without other machines.
    pub fn nobody() -> Self {
        Self(Shared::new(Machines::nobody()))
    }

    /// The latest state of the machines.
    pub fn latest(&self) -> Arc<Machines> {
        Arc::clone(&thread::locked(&self.0.0).latest)
    }

    /// The connections, once they are open.
    pub fn peers(&self) -> Option<Arc<Peers>> {
        thread::locked(&self.0.0).peers.clone()
    }

    /// The waiting question of a workflow on a machine, if it is known.
    pub(super) fn pending(&self, host: &HostName, workflow: &WorkflowId) -> Result<ShownQuestion> {
        let latest = self.latest();
        match latest.question(host, workflow) {
            Some(question) => answer::as_round(question).map(|round| ShownQuestion { host: Some(host.clone()), round }),
            None => Err(Error::not_found(
                waits_no_more(&latest, host, workflow),
                format!("see what waits there: ask-answer list --host {host}"),
            )),
        }
    }

    /// Checks that a question still waits in the form that was shown. `Err` says how it ended.
    pub(super) fn still_waits(&self, host: &HostName, shown: &ShownQuestion) -> std::result::Result<(), String> {
        let (latest, id) = (self.latest(), &shown.round.id);
        let address = shown.address();
        match latest.question(host, &id.workflow).map(|question| question.asked.as_ref()) {
            Some(Ok(asked)) if asked.question == id.question => {
                if asked.document().is_ok_and(|document| is_same(&document.typed, shown.question())) {
                    Ok(())
                } else {
                    Err(format!("{address} was changed while you read it"))
                }
            }
            Some(_) => Err(format!("{address} asks another question by now")),
            None => {
                let fate = self.peers().and_then(|peers| peers.fate(host, &id.workflow, id.question));
                Err(fate
                    .map_or_else(|| waits_no_more(&latest, host, &id.workflow), |fate| format!("{address}: {}", fate.said.excerpt(300))))
            }
        }
    }

    /// How a round on another machine ended, in that machine's words. `None` if that is not known, or if this offer was accepted for it.
    pub fn lost_to(&self, at: &RoundAt, offer: Uuid) -> Option<String> {
        let fate = self.peers()?.fate(at.host.as_ref()?, &at.round.workflow, at.round.question)?;
        (fate.offer != Some(offer)).then(|| fate.said.excerpt(300))
    }

    /// Offers an answer to the machine that has the question. [`Self::latest`] later shows the result.
    pub(super) fn send(&self, person: &Caller, host: &HostName, shown: &ShownQuestion, answer: Answer) -> Result<Sent> {
        let (latest, question) = (self.latest(), shown.question());
        let peers = self.peers().ok_or_else(|| no_peer(host))?;
        machines::may_take_offers(latest.machine(host).ok_or_else(|| no_peer(host))?)?;
        person.may_decide(question)?;
        let answer = Answer { channel: answer::channel(CHANNEL), ..answer };
        // The person has already been asked about words that are close to an option.
        let answer = check_answer::check(question, answer, Given::InOwnWords)?;
        let asked = Asked::of_document(shown.round.id.question, &shown.round.document)?;
        let offer = asked.offer(person, answer.clone(), true)?;
        let offered = Offered {
            id: offer.offer_id,
            title: text::excerpt(&question.title(), 200),
            acknowledged: answering::acknowledged(question, &answer),
            note: answer.note.clone(),
        };
        let words = answering::in_words(&answer);
        {
            let mut state = thread::locked(&self.0.0);
            state.offered.push(offered.id);
            let many = state.offered.len().saturating_sub(FOLLOWED);
            state.offered.drain(..many);
        }
        peers.offer(host, offer)?;
        Ok(Sent { at: shown.at(), words, hold_up: None, warning: None, offer: Some(offered), end: None })
    }

    /// Waits until each of these offers has reached its machine or a database, or has failed, for `limit` at most. Then reads the reports
    /// once more.
    pub fn settle(&self, offers: &[Uuid], limit: Duration) {
        let Some(peers) = self.peers() else { return };
        let end = Instant::now() + limit;
        for offer in offers {
            let _ = peers.sent(*offer, end.saturating_duration_since(Instant::now()));
        }
        look(&self.0, &peers);
    }
}

/// Connects to the machines and reads their reports, until the inbox ends.
fn follow(shared: &Weak<Shared>, context: &Context, ring: &impl Fn()) {
    let (wake, woken) = sync_channel(1);
    let opened = context.loaded().and_then(|loaded| {
        Peers::of_configuration(&loaded.config, move || {
            // If the channel is full, a message that says the same is already waiting.
            let _ = wake.try_send(());
        })
    });
    let Some(ours) = shared.upgrade() else { return };
    let peers = match opened {
        Ok(peers) => Arc::new(peers),
        Err(e) => {
            thread::locked(&ours.0).latest = Arc::new(Machines::without(program::message(&e)));
            return ring();
        }
    };
    thread::locked(&ours.0).peers = Some(Arc::clone(&peers));
    let peers_of = Arc::downgrade(&peers);
    drop((ours, peers));
    loop {
        let (Some(shared), Some(peers)) = (shared.upgrade(), peers_of.upgrade()) else { return };
        if look(&shared, &peers) {
            ring();
        }
        drop((shared, peers));
        if woken.recv().is_err() {
            return;
        }
        std::thread::sleep(GATHERED);
    }
}

/// Reads the reports of the machines. Returns true if the screen must change.
fn look(shared: &Shared, peers: &Peers) -> bool {
    let offered = thread::locked(&shared.0).offered.clone();
    let offers = offered.iter().filter_map(|id| Some((*id, peers.progress(*id)?))).collect();
    let now = Machines { machines: peers.view(), ways: peers.ways(), offers, problem: None, is_open: true };
    let mut state = thread::locked(&shared.0);
    if now.looks_like(&state.latest) {
        return false;
    }
    state.latest = Arc::new(now);
    true
}

/// Passes a question of another machine to `look`, in the form for the list.
pub(super) fn look_at<T>(question: &RemoteQuestion, look: impl FnOnce(std::result::Result<Seen<'_>, String>) -> T) -> T {
    match question.document() {
        Ok(document) => look(Ok(Seen { id: question.round().map(|round| round.question), question: &document.typed })),
        Err(why) => look(Err(why.excerpt(200))),
    }
}

/// The error for taking back an offered answer. The answer belongs to the other machine, and only that machine knows its state.
pub(super) fn cannot_be_taken_back(host: &HostName, workflow: &WorkflowId) -> Error {
    let hint = "tab shows the answers before it";
    Error::conflict(format!("an answer that was sent to {host} is taken back there, not here: on {host}, ask-answer undo {workflow}"), hint)
}

fn waits_no_more(latest: &Machines, host: &HostName, workflow: &WorkflowId) -> String {
    match latest.machine(host) {
        Some(_) => format!("{} waits for no answer any more", Address { host: Some(host.clone()), workflow: workflow.clone() }),
        None => program::message(&no_peer(host)),
    }
}
