//! Requests of a live agent become questions of the run's workflow, one after the other. Each is held until the answer is there or
//! `limits.hold` is over.
//!
//! The supervisor waits as `ask-post --wait` does (`run/claim/inline`). It holds the waiter's lock from before the post, so that nobody
//! launches an agent with the answer, and it claims the answer before it acts on it. If the supervisor is killed, its lock ends with
//! it: the question stays, the attempt is *asking*, and the answer is an ordinary round. `elicitations` and `stopped_calls` say what a
//! request means, and what follows when the time is over.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::attempt::trace;
use crate::claim::inline::{self, Asked, Waited, Waiter};
use crate::supervise::attend::asker;
use crate::supervise::attend::elicitations::{self, Forms};
use crate::supervise::attend::held_requests::{HeldRequest, Request, Waiting};
use crate::supervise::attend::live_run::LiveRun;
use crate::supervise::attend::stopped_calls::{self, NextStep, StoppedCalls};
use crate::supervise::attend::stopping::Stopping;
use crate::supervise::ladder::INTERRUPT_GRACE;
use crate::supervise::stop;
use crate::words;
use askbox_agent::stream::{Elicitation, PermissionRequest};
use askbox_mailbox::disk::file_events::{Hint, Hints};
use askbox_mailbox::error::Result;
use askbox_mailbox::id::{QuestionId, RoundId};
use askbox_mailbox::transitions::post::{self, IfPending};
use askbox_mailbox::transitions::withdraw;
use askbox_mailbox::untrusted::Untrusted;
use askbox_mailbox::{Folder, Question, read_question};

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
    behind: VecDeque<Waiting>,
    /// The question that the run is being ended for.
    ends_for: Option<EndsFor>,
    /// Wakes the supervisor when the question's files change; `None` while nothing waits, or if there are no file events.
    wakes: Option<Hints>,
}

/// The end of a run for a question.
struct EndsFor {
    question: QuestionId,
    /// When the agent must have ended its turn.
    until: Instant,
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

    /// When the agent must have ended its turn for that question.
    pub(super) fn turn_ends_until(&self) -> Option<Instant> {
        self.ends_for.as_ref().map(|ends| ends.until)
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
                elicitations::cancel(live, &asked, "limits.hold is zero");
            }
            () => self.put_in_line(live, stopping, Waiting::Form(asked)),
        }
    }

    /// Takes the agent program's question about a tool call.
    pub(super) fn permission_asked(&mut self, live: &mut LiveRun<'_, '_>, stopping: &Stopping, asked: PermissionRequest) {
        if let Some(asked) = self.calls.reply_at_once(live, asked) {
            self.put_in_line(live, stopping, Waiting::Call(Box::new(asked), None));
        }
    }

    /// Puts a request behind those that wait.
    fn put_in_line(&mut self, live: &mut LiveRun<'_, '_>, stopping: &Stopping, request: Waiting) {
        let why = match () {
            () if !stopping.is_working() => "the run is being stopped",
            () if self.ends_for.is_some() => ENDS,
            () if self.number() >= MOST => "too many requests wait",
            () => return self.behind.push_back(request),
        };
        turn_down(live, &request, why);
    }

    /// Drops a request because the agent no longer waits for it.
    pub(super) fn cancelled(&mut self, live: &mut LiveRun<'_, '_>, request_id: &Untrusted) {
        self.behind.retain(|waiting| waiting.id() != request_id.raw());
        // A request that the run is being ended for is no longer held: its question stays.
        if let Some(held) = self.held.take_if(|held| held.request.id() == request_id.raw()) {
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
                turn_down(live, &next, ENDS);
                continue;
            }
            match next {
                Waiting::Form(asked) => {
                    if let Some((request, question)) = self.forms.question(live, asked) {
                        self.hold(live, request, question, None, now + live.config.limits.hold.0);
                    }
                }
                Waiting::Call(asked, since) => match stopped_calls::ask(live, asked, since.unwrap_or(now), now) {
                    NextStep::Replied => {}
                    NextStep::Ask(request, question) => self.hold(live, request, *question, None, now + live.config.limits.hold.0),
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
        if self.wakes.is_some() || !live.agent.can_be_woken() {
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
            turn_down_held(live, &held.request, ENDS);
        }
        while let Some(waiting) = self.behind.pop_front() {
            turn_down(live, &waiting, ENDS);
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
            Request::Form(asked, _) => format!("what {} asks", asker::named(live.run, &asked.asker)),
            Request::Call(..) => "about the call".into(),
        };
        live.log.note(format!("nobody has decided {about} {when}: the run ends, and goes on once somebody has"));
        match &held.request {
            Request::Form(..) => live.end_turn("askbox-asks"),
            Request::Call(..) => live.refuse_and_end(held.request.id(), TURN_ENDS),
        }
        self.ends_for = Some(EndsFor { question: held.asked.round.question, until: Instant::now() + INTERRUPT_GRACE });
    }

    /// Posts the question of a request. `waiter` is the lock, if it is held already.
    fn hold(&mut self, live: &mut LiveRun<'_, '_>, request: Request, mut question: Question, waiter: Option<Waiter>, until: Instant) {
        question.session_id = Some(live.run.plan.session_id);
        question.trace = live.own_question().ok().and_then(|own| trace::of_run(live.config, &own, live.run));
        // Before the post, because the answer may come right after it.
        self.wake_on_changes(live);
        let posted = waiter
            .map_or_else(|| inline::begin(live.mailbox, &live.run.workflow_id), Ok)
            .and_then(|waiter| Ok((waiter, Asked::of_receipt(&post::post(live.mailbox, question.clone(), IfPending::Conflict)?)?)));
        match posted {
            Ok((waiter, asked)) => {
                live.look_for_question();
                self.held = Some(HeldRequest { request, waiter, asked, question, until });
            }
            Err(e) => match &request {
                Request::Form(asked, _) => elicitations::could_not_ask(live, asked, &e),
                Request::Call(asked, _) => stopped_calls::could_not_ask(live, asked, &e),
            },
        }
    }

    fn look_after(&mut self, live: &mut LiveRun<'_, '_>, held: HeldRequest, now: Instant) {
        let claim = match held.waiter.wait(live.mailbox, &live.config.answers.policy(), &held.asked, Duration::ZERO, &|| false) {
            Ok(Waited::Answered(claim)) => claim,
            Ok(Waited::Changed) => {
                live.log.note("the question of a request was changed after it was asked: it is asked anew");
                return self.hold(live, held.request, held.question, Some(held.waiter), held.until);
            }
            Ok(Waited::Nothing) => return self.look_at_the_time(live, held, now),
            Err(e) => return turn_down_held(live, &held.request, &format!("the answer could not be claimed: {e}")),
        };
        let again = match &held.request {
            Request::Form(asked, form) => elicitations::answer(live, asked, form, &held.asked.round, &claim.document.typed),
            Request::Call(asked, cwd) => stopped_calls::answer(live, asked, cwd, &held.asked.round, &claim.document.typed),
        };
        let closed = match &again {
            None => claim.delivered(live.mailbox, "the run's supervisor"),
            Some((_, why)) => claim.superseded(live.mailbox, "the run's supervisor", why),
        };
        if let Err(e) = closed {
            live.log.note(format!("the round of a request could not be closed: {e}"));
        }
        if let Some((question, _)) = again {
            // The lock is kept, so that nobody else waits for the answer in between.
            self.hold(live, held.request, question, Some(held.waiter), held.until);
        }
    }

    fn look_at_the_time(&mut self, live: &mut LiveRun<'_, '_>, held: HeldRequest, now: Instant) {
        match (end_of(live, &held.asked.round), &held.request) {
            (Some(end), Request::Form(asked, _)) => elicitations::nobody_answers(live, asked, &end),
            (Some(end), Request::Call(asked, _)) => stopped_calls::nobody_allows(live, asked, &end),
            (None, _) if now < held.until => self.held = Some(held),
            (None, Request::Call(asked, _)) if asked.subagent.is_none() => self.end_run_for(live, &held, "in time"),
            (None, Request::Form(..)) if elicitations::outlasts_its_hold(live) => self.end_run_for(live, &held, "in time"),
            (None, _) => self.give_up(live, held, now),
        }
    }

    /// Ends the hold of a server or a subagent, because its time is over. The run goes on.
    fn give_up(&mut self, live: &mut LiveRun<'_, '_>, held: HeldRequest, now: Instant) {
        let who = if matches!(held.request, Request::Form(..)) { "server" } else { "subagent" };
        match withdraw(live, &held, &format!("nobody answered while the {who} waited")) {
            Ok(_) => match &held.request {
                Request::Form(..) => turn_down_held(live, &held.request, "nobody answered in time"),
                Request::Call(asked, _) => stopped_calls::nobody_decided_in_time(live, asked),
            },
            // The answer was accepted just now: the next look gives it.
            Err(_) if now < held.until + LAST_INSTANT => self.held = Some(held),
            Err(e) => turn_down_held(live, &held.request, &format!("its question could not be taken back: {e}")),
        }
    }
}

/// How the round ended without this process, in words; `None` if the round has not ended.
fn end_of(live: &LiveRun<'_, '_>, round: &RoundId) -> Option<String> {
    let question = read_question::document(&live.mailbox.round(Folder::Closed, round)).ok()?.typed;
    Some(words::end_of(&question))
}

/// Withdraws the question. If it was answered just now, the answer is an ordinary round.
fn take_back(live: &mut LiveRun<'_, '_>, held: &HeldRequest, why: &str) {
    if let Err(e) = withdraw(live, held, why) {
        live.log.note(format!("the question of a request was not taken back: {e}"));
    }
}

fn withdraw(live: &LiveRun<'_, '_>, held: &HeldRequest, why: &str) -> Result<RoundId> {
    withdraw::withdraw_round(live.mailbox, &held.asked.round, "askbox", Some(why.into()))
}

fn turn_down(live: &mut LiveRun<'_, '_>, waiting: &Waiting, why: &str) {
    match waiting {
        Waiting::Form(asked) => elicitations::cancel(live, asked, why),
        Waiting::Call(asked, _) => stopped_calls::nobody_could_be_asked(live, asked, why),
    }
}

fn turn_down_held(live: &mut LiveRun<'_, '_>, request: &Request, why: &str) {
    match request {
        Request::Form(asked, _) => elicitations::cancel(live, asked, why),
        Request::Call(asked, _) => stopped_calls::nobody_could_be_asked(live, asked, why),
    }
}
