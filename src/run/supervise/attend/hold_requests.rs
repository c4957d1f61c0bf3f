//! Requests of a live agent become questions of the run's workflow, one after the other. Each is held until the answer is there or
//! `limits.hold` is over.
//!
//! The supervisor waits as `ask-post --wait` does (`run/claim/inline`): from before the post it holds the waiter's lock, so that nobody
//! launches an agent with the answer, and it claims the answer before it acts on it. If the supervisor is killed, its lock ends with it: the
//! question stays, the attempt is *asking*, and the answer is an ordinary round. What a request means, and what follows when the time is over, stands in
//! `elicitations` and `stopped_calls`.

use std::time::{Duration, Instant};

use crate::agent::claude;
use crate::disk::file_events::{Hint, Hints};
use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::transitions::post::{self, IfPending};
use crate::mailbox::transitions::withdraw;
use crate::mailbox::{Folder, Question, read_question};
use crate::run::claim::inline::{self, Asked, Waited, Waiter};
use crate::run::supervise::attend::attendance::Attendance;
use crate::run::supervise::attend::held_requests::{Held, Request, Waiting};
use crate::run::supervise::stop::wake_up;
use crate::text;
use crate::untrusted::Untrusted;

/// The most requests that wait at once. More are turned down at once.
const MOST: usize = 16;
/// How often the supervisor looks where nothing wakes it: the folder of a call is not known yet, or there are no file events.
const POLL_EVERY: Duration = Duration::from_millis(200);
/// How often it looks although file events would wake it: one may be lost.
const RECHECK_EVERY: Duration = Duration::from_secs(10);
/// Why a request is turned down when the run ends.
const ENDS: &str = "the run is ending";
/// What the agent program is told when it is to end the turn. No model reads it.
const TURN_ENDS: &str = "Your user is asked about this call.";

impl Attendance<'_, '_> {
    /// Puts a request behind those that wait.
    pub(super) fn put_in_line(&mut self, request: Waiting) {
        let why = match () {
            () if !self.is_working() => "the run is being stopped",
            () if self.requests.ends_for.is_some() => ENDS,
            () if self.requests.number() >= MOST => "too many requests wait",
            () => return self.requests.behind.push_back(request),
        };
        self.turn_down(&request, why);
    }

    /// The agent no longer waits for this request.
    pub(super) fn request_cancelled(&mut self, request_id: &Untrusted) {
        self.requests.behind.retain(|waiting| waiting.id() != request_id.raw());
        // A request for which the run is being ended is no longer held: its question stays.
        if let Some(held) = self.requests.held.take_if(|held| held.request.id() == request_id.raw()) {
            self.take_back(&held, "the agent no longer waits for the answer");
        }
    }

    /// Acts on an answer that has come, ends a hold whose time is over, posts the next question. Returns when to look again.
    pub(super) fn look_after_requests(&mut self, now: Instant) -> Option<Instant> {
        if !self.is_working() {
            self.end_requests();
            return None;
        }
        let next_look = self.look_at_requests(now);
        if next_look.is_none() {
            self.requests.wakes = None;
        }
        next_look
    }

    fn look_at_requests(&mut self, now: Instant) -> Option<Instant> {
        if let Some(held) = self.requests.held.take() {
            self.look_after(held, now);
        }
        while self.requests.held.is_none() {
            let next = self.requests.behind.pop_front()?;
            if self.requests.ends_for.is_some() {
                self.turn_down(&next, ENDS);
                continue;
            }
            let not_yet = match next {
                Waiting::Server(asked) => {
                    self.ask_for_server(asked, now);
                    None
                }
                Waiting::Call(asked, since) => self.ask_about_call(asked, since, now),
            };
            if let Some(not_yet) = not_yet {
                self.requests.behind.push_front(not_yet);
                break;
            }
        }
        let until = self.requests.held.as_ref().map(|held| held.until).filter(|until| *until > now);
        let pause = if until.is_some() && self.requests.wakes.is_some() { RECHECK_EVERY } else { POLL_EVERY };
        Some(until.map_or(now + pause, |until| until.min(now + pause)))
    }

    /// Lets the kernel wake this thread when the workflow's question is answered or taken back, by way of the run's FIFO.
    fn wake_on_changes(&mut self) {
        if self.requests.wakes.is_some() || !self.agent.can_be_woken() {
            return;
        }
        let (folder, file) = (self.run.folder(self.mailbox), self.mailbox.document(Folder::Answered, &self.run.workflow_id));
        let wake = move |hint| match hint {
            Hint::At(path) if path.file_name() != file.file_name() => {}
            Hint::At(_) | Hint::Anywhere => drop(wake_up::wake(&folder)),
        };
        let watching = Hints::new(wake).and_then(|mut hints| {
            [Folder::Answered, Folder::Pending].into_iter().try_for_each(|f| hints.watch(&self.mailbox.folder(f)))?;
            Ok(hints)
        });
        self.requests.wakes = watching.ok();
    }

    /// Turns every request down: the run ends.
    pub(super) fn end_requests(&mut self) {
        if let Some(held) = self.requests.held.take() {
            self.take_back(&held, "its run is ending");
            self.turn_down_held(&held.request, ENDS);
        }
        while let Some(waiting) = self.requests.behind.pop_front() {
            self.turn_down(&waiting, ENDS);
        }
    }

    /// Ends the run if a request is held, and keeps its question. Returns whether one is.
    pub(super) fn ends_for_held_request(&mut self) -> bool {
        let held = self.requests.held.take();
        held.map(|held| self.end_run_for(&held, "within the time of the run")).is_some()
    }

    /// The time of the hold, or of the run, is over: the run ends without a request to the model, and its question stays.
    pub(super) fn end_run_for(&mut self, held: &Held, when: &str) {
        let (about, line) = match &held.request {
            Request::Server(asked, _) => {
                (format!("what the MCP server `{}` asks", asked.server.excerpt(60)), claude::interrupt("askbox-asks"))
            }
            Request::Call(..) => ("about the call".into(), claude::permission_deny_and_end(held.request.id(), TURN_ENDS)),
        };
        self.log.note(format!("nobody has decided {about} {when}: the run ends, and goes on once somebody has"));
        self.agent.say(&line);
        self.requests.ends_for = Some(held.asked.round.question);
    }

    /// Posts the question of a request. `waiter`: the lock, if it is held already.
    pub(super) fn hold(&mut self, request: Request, mut question: Question, waiter: Option<Waiter>, until: Instant) {
        question.session_id = Some(self.run.plan.session_id);
        // Before the post: the answer may come right after it.
        self.wake_on_changes();
        let posted = waiter
            .map_or_else(|| inline::begin(self.mailbox, &self.run.workflow_id), Ok)
            .and_then(|waiter| Ok((waiter, Asked::of(&post::post(self.mailbox, question.clone(), IfPending::Conflict)?)?)));
        match posted {
            Ok((waiter, asked)) => {
                self.look_for_question();
                self.requests.held = Some(Held { request, waiter, asked, question, until });
            }
            Err(e) => self.could_not_ask(&request, &e),
        }
    }

    fn look_after(&mut self, held: Held, now: Instant) {
        let claim = match held.waiter.wait(self.mailbox, &self.config.answers.policy(), &held.asked, Duration::ZERO) {
            Ok(Waited::Answered(claim)) => claim,
            Ok(Waited::Changed) => {
                self.log.note("the question of a request was changed after it was asked: it is asked anew");
                return self.hold(held.request, held.question, Some(held.waiter), held.until);
            }
            Ok(Waited::Nothing) => return self.look_at_the_time(held, now),
            Err(e) => return self.turn_down_held(&held.request, &format!("the answer could not be claimed: {e}")),
        };
        let again = match &held.request {
            Request::Server(asked, form) => self.answer_server(asked, form, &held.asked.round, &claim.document.typed),
            Request::Call(asked, cwd) => self.answer_call(asked, cwd, &held.asked.round, &claim.document.typed),
        };
        let closed = match &again {
            None => claim.delivered(self.mailbox, "the run's supervisor"),
            Some((_, why)) => claim.superseded(self.mailbox, "the run's supervisor", why),
        };
        if let Err(e) = closed {
            self.log.note(format!("the round of a request could not be closed: {e}"));
        }
        if let Some((question, _)) = again {
            // The lock stays: nobody else waits for the answer in between.
            self.hold(held.request, question, Some(held.waiter), held.until);
        }
    }

    fn look_at_the_time(&mut self, held: Held, now: Instant) {
        match (self.end_of(&held.asked.round), &held.request) {
            (Some(end), Request::Server(..)) => self.turn_down_held(&held.request, &format!("its question was {end}")),
            (Some(end), Request::Call(asked, _)) => self.nobody_allows(asked, &end),
            (None, _) if now < held.until => self.requests.held = Some(held),
            (None, Request::Server(..)) => self.give_up_server(held, now),
            (None, Request::Call(..)) => self.end_run_for(&held, "in time"),
        }
    }

    /// How the round ended without this process, in words; `None` if it has not.
    fn end_of(&self, round: &RoundId) -> Option<String> {
        let question = read_question::document(&self.mailbox.round(Folder::Closed, round)).ok()?.typed;
        let (state, why) = question.closed.map_or(("closed", None), |closed| (closed.state.word(), closed.why));
        Some(format!("{state}{}", why.map(|why| format!(": {}", text::one_line(&why))).unwrap_or_default()))
    }

    /// Withdraws the question. If it was answered just now, the answer is an ordinary round.
    pub(super) fn take_back(&mut self, held: &Held, why: &str) {
        if let Err(e) = self.withdraw(held, why) {
            self.log.note(format!("the question of a request was not taken back: {e}"));
        }
    }

    pub(super) fn withdraw(&self, held: &Held, why: &str) -> Result<RoundId> {
        withdraw::withdraw_round(self.mailbox, &held.asked.round, "askbox", Some(why.into()))
    }

    fn turn_down(&mut self, waiting: &Waiting, why: &str) {
        match waiting {
            Waiting::Server(asked) => self.cancel_for_server(asked, why),
            Waiting::Call(asked, _) => self.nobody_could_be_asked(asked, why),
        }
    }

    pub(super) fn turn_down_held(&mut self, request: &Request, why: &str) {
        match request {
            Request::Server(asked, _) => self.cancel_for_server(asked, why),
            Request::Call(asked, _) => self.nobody_could_be_asked(asked, why),
        }
    }
}
