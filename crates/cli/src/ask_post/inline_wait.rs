//! `ask-post --wait`: waits for the answer and takes it over if it comes in time.
//!
//! A person at a terminal who waits with `ask-post --wait`: says what the wait is for, and at Ctrl-C that the question still waits.
//!
//! The one who hears the answer of a waiting `ask-post`: the agent whose command it is, and the reader of its output. A command outlives
//! its agent if that is killed, for its output goes to a file then.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::{Context, answering, hangup, program};
use askbox_mailbox::platform::ancestry::NearestAgent;
use askbox_mailbox::transitions::post::IfPending;
use askbox_mailbox::{
    Answer, AttachedFile, Error, Mailbox, Question, QuestionDocument, Receipt, Result, RoundId, Waker, WorkflowId, post, thread, time,
};
use askbox_run::asking::hold::{Begun, Look};
use askbox_run::claim::heard::{self, Sign};
use askbox_run::claim::inline::{self, Hearer};
use askbox_run::claim::{Claim, OnRecord};
use askbox_run::process::poll_thread::{self, PollThread};
use askbox_run::recovery::of_asker;

/// The process that the round's end names.
const CHANNEL: &str = "ask-post --wait";

/// The outcome of a wait.
pub(super) enum Waited<T> {
    /// The answer was handed over.
    Done(T),
    /// No answer came in time, or nobody would hear it any more. The question stays pending, or its answer is the watcher's.
    InVain(Box<Receipt>),
}

/// Posts a question, and waits for its answer. It claims the answer, so that no agent is relaunched, and passes it to `hand_over`. The
/// round is delivered once `hand_over` has succeeded. If this process is killed before that, a watcher relaunches the agent. If an earlier
/// process has asked the same and has not lived to hear the answer, that answer is passed on at once.
///
/// If the waiting fails, that is only a warning: the question is posted, and its answer then reaches the agent as it does without `--wait`.
///
/// # Errors
/// Those of [`post::post_with_files`]. [`Error::Conflict`] if another process waits already, or if the round ended without an answer.
pub(super) fn post_and_wait<T>(
    context: &Context,
    mailbox: &Mailbox,
    (document, files): (QuestionDocument, &[AttachedFile]),
    if_pending: IfPending,
    limit: Duration,
    print: impl Fn(&RoundId, &Question, &Answer) -> Result<T>,
) -> Result<Waited<T>> {
    // A broken configuration must not stop the asker from waiting, so the default policy is used. The policy need not protect anything
    // here: an agent controls what its own commands read.
    let policy = context.config().unwrap_or_default().answers.policy();
    let could_not_wait = |e: &Error| program::warn(&format!("could not wait: {}", program::message(e)));
    // Before the post: an agent that ends from then on is noticed.
    let hearer = OutputHearer::find();
    let waiter = match inline::begin(mailbox, &document.typed.workflow_id) {
        Ok(waiter) => waiter,
        Err(e @ Error::Conflict { .. }) => return Err(e),
        Err(e) => {
            could_not_wait(&e);
            return post::post_with_files(mailbox, document, files, if_pending).map(|receipt| Waited::InVain(Box::new(receipt)));
        }
    };
    let left = of_asker::left_behind(mailbox, &document.typed)?;
    let asked = document.typed.clone();
    let mut held = match waiter.post_unless_answered(mailbox, &policy, left, (document, files), if_pending)? {
        Begun::Held(held) => *held,
        Begun::Answered(_waiter, claim) => {
            program::say("the same question was answered before; this is its answer\n");
            return hand_over(&hearer, mailbox, *claim, print).map(Waited::Done);
        }
    };
    let end = Instant::now() + limit;
    let _person_waits = PersonWaits::begin(&asked, limit);
    loop {
        let look = held.look(mailbox, &policy, end.saturating_duration_since(Instant::now()), &hearer);
        match look.and_then(|look| match look {
            Look::Answered(claim) => hand_over(&hearer, mailbox, *claim, &print).map(|done| Some(Waited::Done(done))),
            Look::Ended(question) => Err(ended(&question)),
            Look::Waits => Ok(Some(Waited::InVain(Box::new(held.receipt.clone())))),
            Look::Changed => Ok(None),
        }) {
            Ok(Some(waited)) => return Ok(waited),
            Ok(None) => {
                program::warn("the question was changed after it was asked, so its answer is not yours; it is asked anew");
                held = held.ask_anew(mailbox)?;
            }
            Err(e @ Error::Conflict { .. }) => return Err(e),
            Err(e) => {
                could_not_wait(&e);
                return Ok(Waited::InVain(Box::new(held.receipt.clone())));
            }
        }
    }
}

/// Hands the claimed answer over. The round stays claimed until the agent has heard it: if it has ended meanwhile, a watcher launches an
/// agent with the answer.
fn hand_over<T>(
    hearer: &OutputHearer,
    mailbox: &Mailbox,
    claim: Claim<OnRecord>,
    print: impl Fn(&RoundId, &Question, &Answer) -> Result<T>,
) -> Result<T> {
    let question = &claim.document.typed;
    let Some(answer) = question.answer.as_ref().filter(|_| !hearer.is_gone()) else { return Err(nobody_hears(&claim.round())) };
    let done = print(&claim.round(), question, answer)?;
    if hearer.agent.is_gone() {
        return Err(nobody_hears(&claim.round()));
    }
    match hearer.agent() {
        Some(agent) if heard::note_given(mailbox, question, &claim.run, agent, Sign::AnyResult)? => {}
        _ => claim.delivered(mailbox, CHANNEL)?,
    }
    Ok(done)
}

fn nobody_hears(round: &RoundId) -> Error {
    Error::failed(format!("the agent that asked {} has ended", round.workflow), "nothing: a watcher launches an agent with the answer")
}

fn ended(question: &Question) -> Error {
    let how = question.closed.as_ref().map_or("is over", |closed| closed.state.in_a_sentence());
    let hint = "continue without the answer, or ask again";
    Error::conflict(format!("the question of {} {how}; there will be no answer", question.workflow_id), hint)
}

/// A wait that a person watches. Dropping it ends the wait: a signal then ends the program without a word.
#[must_use = "the wait is over when this is dropped"]
pub(super) struct PersonWaits(Arc<AtomicBool>);

impl PersonWaits {
    /// Says what is waited for, until when, and how to answer. `None` if nobody sits at a terminal.
    pub(super) fn begin(question: &Question, limit: Duration) -> Option<Self> {
        if !program::says_to_terminal() {
            return None;
        }
        let id = &question.workflow_id;
        let end = chrono::TimeDelta::from_std(limit).ok().and_then(|limit| time::now().checked_add_signed(limit));
        let until = end.map_or_else(String::new, |end| format!(" until {} ({})", time::local_clock(end), time::human(limit)));
        let event = question.until.as_ref().map(|until| format!(" ({})", until.words())).unwrap_or_default();
        let how = answering::how_to_answer(question);
        let waits = Arc::new(AtomicBool::new(true));
        // A person who reads the words may press Ctrl-C at once.
        tell_at_signal(id.clone(), Arc::clone(&waits));
        program::say(&format!("{id} is asked, and this waits{until} for the answer{event}\nto answer, in another terminal: {how}\n"));
        Some(Self(waits))
    }
}

impl Drop for PersonWaits {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Ends the program at a signal as the system would, after the words about the question. If the system refuses the thread, the signal ends
/// the program without them.
fn tell_at_signal(id: WorkflowId, waits: Arc<AtomicBool>) {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    let _ = thread::start(move || {
        for signal in signals.forever() {
            if waits.load(Ordering::Relaxed) {
                program::say(&format!(
                    "\n{id} still waits for its answer, and an agent is started with it then\nhint: to wait again, repeat the command; to \
                     withdraw the question: ask-answer cancel {id}\n"
                ));
            }
            let _ = emulate_default_handler(signal);
        }
    });
}

/// The hearer of this process's output.
struct OutputHearer {
    agent: NearestAgent,
    /// Wakes the wait. Dropped with this.
    thread: Mutex<Option<PollThread>>,
}

impl OutputHearer {
    /// Finds it. Call this before the question is posted, so that an agent that ends from then on is noticed.
    pub(super) fn find() -> Self {
        Self { agent: NearestAgent::of_this_process(), thread: Mutex::default() }
    }

    /// The agent, if it is known.
    pub(super) fn agent(&self) -> Option<heard::Agent> {
        heard::Agent::of(&self.agent)
    }
}

impl Hearer for OutputHearer {
    fn is_gone(&self) -> bool {
        self.agent.is_gone() || hangup::is_gone()
    }

    fn wake_at_end(&self, waker: Waker) {
        // Without the thread, the wait looks again every few seconds.
        let Ok(mut thread) = PollThread::new() else { return };
        let by_hangup = waker.clone();
        let mut sources = vec![hangup::source(move || by_hangup.wake())];
        if let NearestAgent::Is(process) = &self.agent
            && let Ok(process) = process.as_fd().try_clone_to_owned()
        {
            sources.push(poll_thread::to_read(process, move |_| {
                waker.wake();
                false
            }));
        }
        thread.start(sources);
        if let Ok(mut kept) = self.thread.lock() {
            *kept = Some(thread);
        }
    }
}
