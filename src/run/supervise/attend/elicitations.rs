//! What MCP servers of a live agent ask its user (elicitations): posted as questions of the run's workflow, one after the other, and held
//! until the answer is there or `limits.hold` is over.
//!
//! The supervisor waits as `ask-post --wait` does (`run/claim/inline`): from before the post it holds the waiter's lock, so that nobody
//! launches an agent with the answer, and it claims the answer before it gives it to the server. At the end of the time it withdraws the
//! question. The workflow's lock decides between the two: an answer that was accepted before that is given to the server, and afterwards
//! there is nothing to answer. If the supervisor is killed, its lock ends with it: the question stays, and its answer is an ordinary round.

use std::time::{Duration, Instant};

use crate::agent::claude;
use crate::agent::stream::Elicitation;
use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::documents::answer::{Answer, Outcome};
use crate::mailbox::transitions::post::{self, IfPending};
use crate::mailbox::transitions::withdraw;
use crate::mailbox::{Folder, read_question};
use crate::run::claim::inline;
use crate::run::supervise::attend::attendance::Attendance;
use crate::run::supervise::attend::elicited_form::Form;
use crate::run::supervise::attend::held_elicitations::Held;
use crate::untrusted::Untrusted;

/// The most requests that wait at once. More are cancelled at once.
const MOST: usize = 16;
/// How often the supervisor looks for the answer.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long an answer that was accepted in the last instant, but cannot be claimed, is waited for.
const LAST_INSTANT: Duration = Duration::from_secs(30);

/// What the server is told.
enum Reply {
    Accept(serde_json::Value),
    Decline,
    Cancel,
    /// The answer does not fit the form: the person is asked again.
    AskAgain(String),
}

impl Attendance<'_, '_> {
    /// A server asks.
    pub(super) fn elicited(&mut self, asked: Elicitation) {
        let elicitations = &self.elicitations;
        let waiting = elicitations.behind.len() + usize::from(elicitations.held.is_some());
        let why = match () {
            () if self.agent.leaves_too_much_unread() => return,
            () if !self.is_working() => "the run is being stopped",
            () if self.config.limits.hold.0.is_zero() => "limits.hold is zero",
            () if waiting >= MOST => "too many questions of servers wait",
            () => return self.elicitations.behind.push_back(asked),
        };
        self.cancel(&asked, why);
    }

    /// The agent no longer waits for this request.
    pub(super) fn elicitation_cancelled(&mut self, request_id: &Untrusted) {
        self.elicitations.behind.retain(|asked| asked.request_id != *request_id);
        if self.elicitations.held.as_ref().is_some_and(|held| held.asked.request_id == *request_id)
            && let Some(held) = self.elicitations.held.take()
        {
            self.take_back(&held, "the agent no longer waits for the answer");
        }
    }

    /// Gives an answer that has come, ends a hold whose time is over, posts the next question. Returns when to look again.
    pub(super) fn look_after_elicitations(&mut self, now: Instant) -> Option<Instant> {
        if !self.is_working() {
            self.end_elicitations();
            return None;
        }
        if let Some(held) = self.elicitations.held.take() {
            self.look_after(held, now);
        }
        while self.elicitations.held.is_none() {
            let asked = self.elicitations.behind.pop_front()?;
            self.hold(asked, None, now + self.config.limits.hold.0);
        }
        // A run that waits for a person is not silent.
        self.deadlines.sign_of_life(now);
        Some(now + LOOK_EVERY)
    }

    /// Cancels every request: the run ends.
    pub(super) fn end_elicitations(&mut self) {
        if let Some(held) = self.elicitations.held.take() {
            self.take_back(&held, "its run is ending");
            self.cancel(&held.asked, "the run is ending");
        }
        while let Some(asked) = self.elicitations.behind.pop_front() {
            self.cancel(&asked, "the run is ending");
        }
    }

    /// Posts the question of a request. `problem`: what was wrong with the answer before.
    fn hold(&mut self, asked: Elicitation, problem: Option<&str>, until: Instant) {
        let form = match Form::of(&asked) {
            Ok(form) => form,
            Err(why) => return self.cancel(&asked, &why),
        };
        let mut question = form.question(&self.run.workflow_id, &asked, problem);
        question.session_id = Some(self.run.session_id);
        question.cwd.clone_from(&self.run.cwd);
        let posted = inline::begin(self.mailbox, &self.run.workflow_id)
            .and_then(|waiter| post::post(self.mailbox, question, IfPending::Conflict).map(|receipt| (waiter, receipt.round)));
        match posted {
            Ok((waiter, round)) => {
                self.look_for_question();
                self.elicitations.held = Some(Held { asked, form, waiter, round, until });
            }
            Err(e) => self.cancel(&asked, &format!("its question could not be posted: {e}")),
        }
    }

    fn look_after(&mut self, held: Held, now: Instant) {
        match self.answer(&held) {
            Ok(Some(Reply::AskAgain(problem))) => {
                let Held { asked, waiter, until, .. } = held;
                drop(waiter);
                self.hold(asked, Some(&problem), until);
            }
            Ok(Some(_)) => {}
            Ok(None) if self.mailbox_has_ended(&held.round) => self.cancel(&held.asked, "its question ended without an answer"),
            Ok(None) if now < held.until => self.elicitations.held = Some(held),
            Ok(None) => {
                match withdraw::withdraw_round(self.mailbox, &held.round, "askbox", Some("nobody answered while the server waited".into()))
                {
                    Ok(_) => self.cancel(&held.asked, "nobody answered in time"),
                    // The answer was accepted just now: the next look gives it.
                    Err(_) if now < held.until + LAST_INSTANT => self.elicitations.held = Some(held),
                    Err(e) => self.cancel(&held.asked, &format!("its question could not be taken back: {e}")),
                }
            }
            Err(e) => self.cancel(&held.asked, &format!("its answer could not be claimed: {e}")),
        }
    }

    /// Claims the answer, if there is one, and gives it to the server.
    fn answer(&mut self, held: &Held) -> Result<Option<Reply>> {
        let Some(claim) = held.waiter.wait(self.mailbox, &held.round, Duration::ZERO)? else { return Ok(None) };
        let reply = claim.document.typed.answer.as_ref().map_or(Reply::Cancel, |answer| reply(&held.form, answer));
        let id = held.asked.request_id.raw();
        let (line, what) = match &reply {
            Reply::Accept(content) => (Some(claude::elicitation_accept(id, content)), "has its answer"),
            Reply::Decline => (Some(claude::elicitation_decline(id)), "was told that the user declines"),
            Reply::Cancel => (Some(claude::elicitation_cancel(id)), "was told that nobody decided: the user asked back"),
            Reply::AskAgain(_) => (None, "waits: the answer does not fit its form"),
        };
        line.iter().for_each(|line| self.agent.say(line));
        self.log.note(format!("the MCP server `{}` {what}", held.asked.server.excerpt(60)));
        if let Err(e) = claim.delivered(self.mailbox, "the run's supervisor") {
            self.log.note(format!("the round of a server's question could not be closed: {e}"));
        }
        Ok(Some(reply))
    }

    /// Whether the round ended without this process.
    fn mailbox_has_ended(&self, round: &RoundId) -> bool {
        read_question::document(&self.mailbox.round(Folder::Closed, round)).is_ok()
    }

    /// Withdraws the question. If it was answered just now, the answer is an ordinary round.
    fn take_back(&mut self, held: &Held, why: &str) {
        if let Err(e) = withdraw::withdraw_round(self.mailbox, &held.round, "askbox", Some(why.into())) {
            self.log.note(format!("the question of the MCP server `{}` was not taken back: {e}", held.asked.server.excerpt(60)));
        }
    }

    fn cancel(&mut self, asked: &Elicitation, why: &str) {
        self.log.note(format!("the MCP server `{}` was told that nobody decided: {why}", asked.server.excerpt(60)));
        self.agent.say(&claude::elicitation_cancel(asked.request_id.raw()));
    }
}

fn reply(form: &Form, answer: &Answer) -> Reply {
    match (answer.outcome, &answer.value) {
        // A server cannot be asked back.
        _ if answer.counter_question().is_some() => Reply::Cancel,
        (Outcome::Answered, Some(value)) => form.content(value).map_or_else(Reply::AskAgain, Reply::Accept),
        _ => Reply::Decline,
    }
}
