//! Requests of a live agent become questions of the run's workflow, one after the other. Each is held until the answer is there or
//! `limits.hold` is over.
//!
//! The supervisor waits as `ask-post --wait` does (`run/asking/hold`). It holds the waiter's lock from before the post, so that nobody
//! launches an agent with the answer, and it claims the answer before it acts on it. If the supervisor is killed, its lock ends with
//! it: the question stays, the attempt is *asking*, and the answer is an ordinary round. `elicitations` and `stopped_calls` say what a
//! request means, and what follows when the time is over.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::asking::hold::{Held, Look};
use crate::attempt::trace;
use crate::claim::inline;
use crate::supervise::attend::elicitations::{self, Forms};
use crate::supervise::attend::held_requests::{Again, Asked, HeldRequest, Request, Unasked, Undecided};
use crate::supervise::attend::live_run::LiveRun;
use crate::supervise::attend::stopped_calls::{self, NextStep, StoppedCalls};
use crate::supervise::attend::stopping::Stopping;
use crate::supervise::ladder::INTERRUPT_GRACE;
use crate::supervise::stop;
use askbox_agent::claude;
use askbox_agent::stream::{Elicitation, PermissionRequest};
use askbox_mailbox::disk::file_events::{Hint, Hints};
use askbox_mailbox::transitions::post::IfPending;
use askbox_mailbox::untrusted::Untrusted;
use askbox_mailbox::{Document, Folder, Question, QuestionId, Result, RoundId};

/// The most requests that wait at once. More are turned down at once.
const MOST: usize = 16;
/// How often the supervisor looks if nothing wakes it, because the folder of a call is not known yet or there are no file events.
const POLL_EVERY: Duration = Duration::from_millis(200);
/// How often it looks although file events would wake it: an event may be lost.
const RECHECK_EVERY: Duration = Duration::from_secs(10);
/// How long to wait for an answer that was accepted in the last instant, but cannot be claimed.
const LAST_INSTANT: Duration = Duration::from_secs(30);
/// Why a request is turned down when the run ends.
const ENDS: &str = "the run is ending";
/// The text with which the agent program ends the turn. No model reads it.
const TURN_ENDS: &str = "Your user is asked about this call.";

/// All requests of a live agent.
#[derive(Default)]
pub(super) struct Requests {
    forms: Forms,
    calls: StoppedCalls,
    /// The request whose question is posted.
    held: Option<HeldRequest>,
    /// The requests behind it.
    behind: VecDeque<Unasked>,
    /// The question that the run is being ended for.
    pub(super) ends_for: Option<EndsFor>,
    /// Wakes the supervisor when the question's files change; `None` while nothing waits, or if there are no file events.
    wakes: Option<Hints>,
}

/// The end of a run for a question.
pub(super) struct EndsFor {
    question: QuestionId,
    /// When the agent must have ended its turn.
    pub(super) until: Instant,
}

impl Requests {
    pub(super) fn is_empty(&self) -> bool {
        self.number() == 0
    }

    fn number(&self) -> usize {
        self.behind.len() + usize::from(self.held.is_some())
    }

    /// The question that the run is being ended for.
    pub(super) fn ends_for(&self) -> Option<QuestionId> {
        self.ends_for.as_ref().map(|ends| ends.question)
    }

    /// The question that the agent has not ended its turn for, although its time is over.
    pub(super) fn overdue(&self, now: Instant) -> Option<QuestionId> {
        self.ends_for.as_ref().filter(|ends| now >= ends.until).map(|ends| ends.question)
    }

    /// Takes a question with a form.
    pub(super) fn elicited(&mut self, live: &mut LiveRun<'_, '_>, stopping: &Stopping, asked: Box<Elicitation>) {
        match () {
            () if live.agent.leaves_too_much_unread() => {}
            () if live.config.limits.hold.0.is_zero() && !elicitations::outlasts_its_hold(live) => {
                elicitations::undecided(live, &asked, &Undecided::NotAsked("limits.hold is zero"));
            }
            () => self.put_in_line(live, stopping, Unasked::Form(asked)),
        }
    }

    /// Takes the agent program's question about a tool call.
    pub(super) fn permission_asked(&mut self, live: &mut LiveRun<'_, '_>, stopping: &Stopping, asked: PermissionRequest) {
        if let Some(asked) = self.calls.reply_at_once(live, asked) {
            self.put_in_line(live, stopping, Unasked::Call(Box::new(asked), None));
        }
    }

    /// Puts a request behind those that wait.
    fn put_in_line(&mut self, live: &mut LiveRun<'_, '_>, stopping: &Stopping, request: Unasked) {
        let why = match () {
            () if !stopping.is_working() => "the run is being stopped",
            () if self.ends_for.is_some() => ENDS,
            () if self.number() >= MOST => "too many requests wait",
            () => return self.behind.push_back(request),
        };
        undecided(live, request.asked(), &Undecided::NotAsked(why));
    }

    /// Drops a request because the agent no longer waits for it.
    pub(super) fn cancelled(&mut self, live: &mut LiveRun<'_, '_>, request_id: &Untrusted) {
        self.behind.retain(|waiting| waiting.asked().id() != request_id.raw());
        // A request that the run is being ended for is no longer held: its question stays.
        if let Some(held) = self.held.take_if(|held| held.request.asked().id() == request_id.raw()) {
            take_back(live, &held, "the agent no longer waits for the answer");
        }
    }

    /// Acts on an answer that has come, ends a hold whose time is over, posts the next question. Returns when to look again.
    pub(super) fn look_after_all(&mut self, live: &mut LiveRun<'_, '_>, stopping: &Stopping, now: Instant) -> Option<Instant> {
        if !stopping.is_working() {
            self.end_all(live);
            return None;
        }
        let next_look = self.look_at_requests(live, now);
        if next_look.is_none() {
            self.wakes = None;
        }
        next_look
    }

    fn look_at_requests(&mut self, live: &mut LiveRun<'_, '_>, now: Instant) -> Option<Instant> {
        if let Some(held) = self.held.take() {
            self.look_after(live, held, now);
        }
        let mut not_yet = VecDeque::new();
        while self.held.is_none() {
            let Some(next) = self.behind.pop_front() else { break };
            if self.ends_for.is_some() {
                undecided(live, next.asked(), &Undecided::NotAsked(ENDS));
                continue;
            }
            match next {
                Unasked::Form(asked) => {
                    if let Some((request, question)) = self.forms.question(live, asked) {
                        self.begin(live, request, question, now);
                    }
                }
                Unasked::Call(asked, since) => match stopped_calls::ask(live, asked, since.unwrap_or(now), now) {
                    NextStep::Replied => {}
                    NextStep::Ask(request, question) => self.begin(live, request, *question, now),
                    // It may wait for a request behind it.
                    NextStep::NotYet(waiting) => not_yet.push_back(waiting),
                },
            }
        }
        while let Some(waiting) = not_yet.pop_back() {
            self.behind.push_front(waiting);
        }
        if self.is_empty() {
            return None;
        }
        let until = self.held.as_ref().map(|held| held.until).filter(|until| *until > now);
        let pause = if until.is_some() && self.wakes.is_some() { RECHECK_EVERY } else { POLL_EVERY };
        Some(until.map_or(now + pause, |until| until.min(now + pause)))
    }

    /// Lets the kernel wake this thread when the workflow's question is answered or taken back, by way of the run's FIFO.
    fn wake_on_changes(&mut self, live: &LiveRun<'_, '_>) {
        if self.wakes.is_some() || live.agent.control_fifo.is_none() {
            return;
        }
        let (folder, file) = (live.run.folder(live.mailbox), live.mailbox.document(Folder::Answered, &live.run.workflow_id));
        let wake = move |hint| match hint {
            Hint::At(path) if path.file_name() != file.file_name() => {}
            Hint::At(_) | Hint::Anywhere => drop(stop::wake(&folder)),
        };
        let watching = Hints::new(wake).and_then(|mut hints| {
            [Folder::Answered, Folder::Pending].into_iter().try_for_each(|f| hints.watch(&live.mailbox.folder(f)))?;
            Ok(hints)
        });
        self.wakes = watching.ok();
    }

    /// Turns every request down: the run ends.
    pub(super) fn end_all(&mut self, live: &mut LiveRun<'_, '_>) {
        if let Some(held) = self.held.take() {
            take_back(live, &held, "its run is ending");
            turn_down(live, &held.request, ENDS);
        }
        while let Some(waiting) = self.behind.pop_front() {
            undecided(live, waiting.asked(), &Undecided::NotAsked(ENDS));
        }
    }

    /// Ends the run if a request is held that a later session can go on with, and keeps its question. Returns true if it does that now: a
    /// run that is already being ended for a question is not ended again.
    pub(super) fn end_run_for_held(&mut self, live: &mut LiveRun<'_, '_>) -> bool {
        if self.ends_for.is_some() {
            return false;
        }
        let held = self.held.take_if(|held| held.request.outlasts_the_run());
        held.map(|held| self.end_run_for(live, &held, "within the time of the run")).is_some()
    }

    /// Ends the run because the time of the hold, or of the run, is over. The model gets no request, and the question stays.
    fn end_run_for(&mut self, live: &mut LiveRun<'_, '_>, held: &HeldRequest, when: &str) {
        let about = match &held.request {
            Request::Form(asked, _) => format!("what {} asks", elicitations::named(live.run, &asked.asker)),
            Request::Call(..) => "about the call".into(),
        };
        live.log.note(format!("nobody has decided {about} {when}: the run ends, and goes on once somebody has"));
        match &held.request {
            Request::Form(..) => live.agent.say(&claude::interrupt("askbox-asks")),
            Request::Call(..) => live.agent.say(&claude::permission_deny_and_end(held.request.asked().id(), TURN_ENDS)),
        }
        self.ends_for = Some(EndsFor { question: held.held.round().question, until: Instant::now() + INTERRUPT_GRACE });
    }

    /// Posts the first question of a request, and holds the request.
    fn begin(&mut self, live: &mut LiveRun<'_, '_>, request: Request, question: Question, now: Instant) {
        // Before the post, because the answer may come right after it.
        self.wake_on_changes(live);
        let document = Document::draft(of_run(live, question));
        let posted = inline::begin(live.mailbox, &live.run.workflow_id)
            .and_then(|waiter| waiter.post(live.mailbox, document, &[], IfPending::Conflict));
        self.hold(live, request, posted, now + live.config.limits.hold.0);
    }

    fn hold(&mut self, live: &mut LiveRun<'_, '_>, request: Request, posted: Result<Held>, until: Instant) {
        match posted {
            Ok(held) => {
                live.look_for_question();
                self.held = Some(HeldRequest { request, held, until });
            }
            Err(e) => undecided(live, request.asked(), &Undecided::NotPosted(&e)),
        }
    }

    fn look_after(&mut self, live: &mut LiveRun<'_, '_>, held: HeldRequest, now: Instant) {
        let claim = match held.held.look(live.mailbox, &live.config.answers.policy(), Duration::ZERO, &|| false) {
            Ok(Look::Answered(claim)) => claim,
            Ok(Look::Changed) => {
                live.log.note("the question of a request was changed after it was asked: it is asked anew");
                return self.hold(live, held.request, held.held.ask_anew(live.mailbox), held.until);
            }
            Ok(Look::Ended(question)) => return undecided(live, held.request.asked(), &Undecided::Ended(&question)),
            Ok(Look::Waits) if now < held.until => return self.held = Some(held),
            Ok(Look::Waits) if outlasts_its_hold(live, &held.request) => return self.end_run_for(live, &held, "in time"),
            Ok(Look::Waits) => return self.give_up(live, held, now),
            Err(e) => return turn_down(live, &held.request, &format!("the answer could not be claimed: {e}")),
        };
        let again = answer(live, &held.request, held.held.round(), &claim.document.typed);
        let closed = match &again {
            None => claim.delivered(live.mailbox, "the run's supervisor"),
            Some((_, why)) => claim.superseded(live.mailbox, "the run's supervisor", why),
        };
        if let Err(e) = closed {
            live.log.note(format!("the round of a request could not be closed: {e}"));
        }
        if let Some((question, _)) = again {
            let posted = held.held.ask_instead(live.mailbox, of_run(live, question));
            self.hold(live, held.request, posted, held.until);
        }
    }

    /// Ends the hold of a server or a subagent, because its time is over. The run goes on.
    fn give_up(&mut self, live: &mut LiveRun<'_, '_>, held: HeldRequest, now: Instant) {
        let who = if matches!(held.request, Request::Form(..)) { "server" } else { "subagent" };
        match held.held.withdraw(live.mailbox, "askbox", &format!("nobody answered while the {who} waited")) {
            Ok(()) => undecided(live, held.request.asked(), &Undecided::Late),
            // The answer was accepted just now: the next look gives it.
            Err(_) if now < held.until + LAST_INSTANT => self.held = Some(held),
            Err(e) => turn_down(live, &held.request, &format!("its question could not be taken back: {e}")),
        }
    }
}

/// The question as one of this run.
fn of_run(live: &LiveRun<'_, '_>, mut question: Question) -> Question {
    question.session_id = Some(live.run.session_id);
    question.trace = live.own_question().ok().and_then(|own| trace::of_run(live.config, &own, live.run));
    question
}

/// Withdraws the question. If it was answered just now, the answer is an ordinary round.
fn take_back(live: &mut LiveRun<'_, '_>, held: &HeldRequest, why: &str) {
    if let Err(e) = held.held.withdraw(live.mailbox, "askbox", why) {
        live.log.note(format!("the question of a request was not taken back: {e}"));
    }
}

fn turn_down(live: &mut LiveRun<'_, '_>, request: &Request, why: &str) {
    undecided(live, request.asked(), &Undecided::NotAsked(why));
}

/// Replies that nobody has decided.
fn undecided(live: &mut LiveRun<'_, '_>, asked: Asked<'_>, why: &Undecided<'_>) {
    match asked {
        Asked::Form(asked) => elicitations::undecided(live, asked, why),
        Asked::Call(asked) => stopped_calls::undecided(live, asked, why),
    }
}

/// Replies what the person has answered. Returns the next question, and why, if this answer is not about the request.
fn answer(live: &mut LiveRun<'_, '_>, request: &Request, round: &RoundId, question: &Question) -> Again {
    match request {
        Request::Form(asked, form) => elicitations::answer(live, asked, form, round, question),
        Request::Call(asked, cwd) => stopped_calls::answer(live, asked, cwd, round, question),
    }
}

/// True if the run ends for this request's question once the time of the hold is over.
fn outlasts_its_hold(live: &LiveRun<'_, '_>, request: &Request) -> bool {
    request.outlasts_the_run() && (matches!(request, Request::Call(..)) || elicitations::outlasts_its_hold(live))
}
