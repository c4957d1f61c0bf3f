//! The questions of other machines, and the offers of answers to them. A thread connects to the machines and looks at what they report; it
//! rings the inbox's bell once there is something else to see. Only the end of the inbox waits for a machine, for a moment.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::address::{Address, HostName};
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::Answer;
use crate::mailbox::documents::checks::check_answer::{self, Given};
use crate::mailbox::documents::shown::is_same;
use crate::mailbox::who::caller::Caller;
use crate::peers::collection::no_peer;
use crate::peers::remote_question::Asked;
use crate::peers::{Peers, RemoteQuestion};
use crate::surface::ask_answer::answering;
use crate::surface::askbox::inbox::sender::elsewhere::Elsewhere;
use crate::surface::askbox::inbox::sender::shown::{RoundAt, Shown};
use crate::surface::askbox::inbox::sender::{CHANNEL, Offered, Seen, Sent};
use crate::surface::askbox::machines::{self, answer};
use crate::surface::program::{self, Context};
use crate::{text, thread};

/// How long the reports of machines are gathered before the screen is told.
const GATHERED: Duration = Duration::from_millis(150);
/// How many offers are followed.
const FOLLOWED: usize = 500;

/// The other machines of the configuration. Where there are none, nothing is done.
#[derive(Debug)]
pub struct Others(Arc<Shared>);

#[derive(Debug)]
struct Shared(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Once they are open.
    peers: Option<Arc<Peers>>,
    offered: Vec<Uuid>,
    latest: Arc<Elsewhere>,
}

impl Shared {
    fn new(latest: Elsewhere) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State { peers: None, offered: Vec::new(), latest: Arc::new(latest) })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Others {
    /// Begins to connect to the machines of the configuration. What was known of them last is read, which may take a while: the first picture
    /// does not wait for it. `ring` is called whenever there is something else to see.
    pub fn connect(context: &Context, ring: impl Fn() + Send + 'static) -> Self {
        if !program::has_peers() {
            return Self::nobody();
        }
        let shared = Shared::new(Elsewhere::default());
        let (theirs, context) = (Arc::downgrade(&shared), context.clone());
        if let Err(e) = thread::start(move || follow(&theirs, &context, &ring)) {
            shared.lock().latest = Arc::new(Elsewhere::without(program::message(&e)));
        }
        Self(shared)
    }

    /// No other machine.
    pub fn nobody() -> Self {
        Self(Shared::new(Elsewhere::nobody()))
    }

    /// What is known now.
    pub fn latest(&self) -> Arc<Elsewhere> {
        Arc::clone(&self.0.lock().latest)
    }

    fn peers(&self) -> Option<Arc<Peers>> {
        self.0.lock().peers.clone()
    }

    /// The question of a workflow there, as it is known to wait.
    pub(super) fn pending(&self, host: &HostName, workflow: &WorkflowId) -> Result<Shown> {
        let latest = self.latest();
        match latest.question(host, workflow) {
            Some(question) => answer::as_round(question).map(|round| Shown { host: Some(host.clone()), round }),
            None => Err(Error::not_found(
                waits_no_more(&latest, host, workflow),
                format!("see what waits there: ask-answer list --host {host}"),
            )),
        }
    }

    /// Whether a question still waits as it was shown. `Err` says what became of it.
    pub(super) fn still_waits(&self, host: &HostName, shown: &Shown) -> std::result::Result<(), String> {
        let (latest, id) = (self.latest(), &shown.round.id);
        let address = shown.address();
        match latest.question(host, &id.workflow).map(|question| question.asked.as_ref()) {
            Some(Ok(asked)) if asked.question == id.question => {
                if is_same(&asked.document.typed, shown.question()) {
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

    /// What became of a round there that waits no longer, in its machine's words, unless this offer was accepted for it.
    pub fn lost_to(&self, at: &RoundAt, offer: Uuid) -> Option<String> {
        let fate = self.peers()?.fate(at.host.as_ref()?, &at.round.workflow, at.round.question)?;
        (fate.offer != Some(offer)).then(|| fate.said.excerpt(300))
    }

    /// Offers an answer to the machine that has the question. What becomes of it is found in [`Self::latest`].
    pub(super) fn send(&self, person: &Caller, host: &HostName, shown: &Shown, answer: Answer) -> Result<Sent> {
        let (latest, question) = (self.latest(), shown.question());
        let peers = self.peers().ok_or_else(|| no_peer(host))?;
        machines::may_take_offers(latest.machine(host).ok_or_else(|| no_peer(host))?)?;
        person.may_decide(question)?;
        let answer = Answer { channel: answer::channel(CHANNEL), ..answer };
        // Words that are close to an option were asked back already.
        let answer = check_answer::check(question, answer, Given::InOwnWords)?;
        let asked = Asked { question: shown.round.id.question, hash: question.hash()?, document: shown.round.document.clone() };
        let offer = asked.offer(person, answer.clone(), true)?;
        let in_words = |of_value: String| if answer.value.is_some() { of_value } else { answer.word().into() };
        let offered = Offered {
            id: offer.offer_id,
            title: text::excerpt(&question.title(), 200),
            acknowledged: in_words(answering::acknowledged_as(question, &answer)),
            note: answer.note.clone(),
        };
        let words = in_words(answering::in_words(&answer));
        {
            let mut state = self.0.lock();
            state.offered.push(offered.id);
            let many = state.offered.len().saturating_sub(FOLLOWED);
            state.offered.drain(..many);
        }
        peers.offer(host, offer)?;
        Ok(Sent { at: shown.at(), words, warning: None, offer: Some(offered) })
    }

    /// Waits until each of these offers has reached its machine or a database, or has not, at most for `limit`. Then looks once more.
    pub fn settle(&self, offers: &[Uuid], limit: Duration) {
        let Some(peers) = self.peers() else { return };
        let end = Instant::now() + limit;
        for offer in offers {
            let _ = peers.sent(*offer, end.saturating_duration_since(Instant::now()));
        }
        look(&self.0, &peers);
    }
}

/// Connects, and looks at what the machines report, until the inbox ends.
fn follow(shared: &Weak<Shared>, context: &Context, ring: &impl Fn()) {
    let (wake, woken) = sync_channel(1);
    let opened = context.loaded().and_then(|loaded| {
        Peers::of_configuration(&loaded.config, move || {
            // One that waits to be taken says the same.
            let _ = wake.try_send(());
        })
    });
    let Some(ours) = shared.upgrade() else { return };
    let peers = match opened {
        Ok(peers) => Arc::new(peers),
        Err(e) => {
            ours.lock().latest = Arc::new(Elsewhere::without(program::message(&e)));
            return ring();
        }
    };
    ours.lock().peers = Some(Arc::clone(&peers));
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

/// Looks at what the machines have reported. Returns whether there is something else to see.
fn look(shared: &Shared, peers: &Peers) -> bool {
    let offered = shared.lock().offered.clone();
    let now = Elsewhere::of(peers, &offered);
    let mut state = shared.lock();
    if now.looks_like(&state.latest) {
        return false;
    }
    state.latest = Arc::new(now);
    true
}

/// A question of another machine, as the list sees it.
pub(super) fn seen(question: &Arc<RemoteQuestion>) -> std::result::Result<Seen<'_>, String> {
    match &question.asked {
        Ok(asked) => Ok(Seen { id: Some(asked.question), question: &asked.document.typed }),
        Err(why) => Err(why.excerpt(200)),
    }
}

/// An offer is no answer of this machine, and its machine knows best.
pub(super) fn cannot_be_taken_back(host: &HostName, workflow: &WorkflowId) -> Error {
    Error::conflict(
        format!("an answer that was sent to {host} is taken back there, not here: on {host}, ask-answer undo {workflow}"),
        "tab shows the answers before it",
    )
}

fn waits_no_more(latest: &Elsewhere, host: &HostName, workflow: &WorkflowId) -> String {
    match latest.machine(host) {
        Some(_) => format!("{} waits for no answer any more", Address { host: Some(host.clone()), workflow: workflow.clone() }),
        None => program::message(&no_peer(host)),
    }
}
