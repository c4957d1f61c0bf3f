//! What MCP servers of a live agent ask its user (elicitations). When the time of the hold is over, the question is withdrawn and the server
//! is told that nobody decided. The workflow's lock decides between that and an answer: an answer that was accepted before is given to the
//! server, and afterwards there is nothing to answer.
//!
//! If the supervisor dies meanwhile, or the time of the run is over, the question stays and the attempt is *asking*. The answer continues the session, which makes its call
//! again; a server that then puts exactly the same question has the answer at once. An answer is given once: its round is marked before.

use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::agent::claude;
use crate::agent::stream::Elicitation;
use crate::id::RoundId;
use crate::mailbox::Question;
use crate::mailbox::documents::answer::{Answer, Outcome};
use crate::run::attempt::used_answer::Use;
use crate::run::supervise::attend::attendance::Attendance;
use crate::run::supervise::attend::elicited_form::Form;
use crate::run::supervise::attend::held_requests::{Held, Request, Waiting};

/// How long an answer that was accepted in the last instant, but cannot be claimed, is waited for.
const LAST_INSTANT: Duration = Duration::from_secs(30);

/// Why a person is asked again whose answer was used before.
const PERHAPS_GIVEN: &str = "You answered this before; then a process died, and the server may have your answer.";

impl Attendance<'_, '_> {
    /// A server asks.
    pub(super) fn elicited(&mut self, asked: Box<Elicitation>) {
        match () {
            () if self.agent.leaves_too_much_unread() => {}
            () if self.config.limits.hold.0.is_zero() => self.cancel_for_server(&asked, "limits.hold is zero"),
            () => self.put_in_line(Waiting::Server(asked)),
        }
    }

    /// Posts the question of a server, or gives it the answer that this run brings: the person answered exactly this question after the
    /// process had died to which the server had put it.
    pub(super) fn ask_for_server(&mut self, asked: Box<Elicitation>, now: Instant) {
        let form = match Form::of(&asked) {
            Ok(form) => form,
            Err(why) => return self.cancel_for_server(&asked, &why),
        };
        let mut question = self.question_of_server(&asked, &form, None);
        match self.own_question() {
            Ok(own) if !self.requests.answer_was_given && is_the_same(&own, &question) => {
                if Use::Given.is_taken(self.mailbox, &self.run.round()) {
                    question = self.question_of_server(&asked, &form, Some(PERHAPS_GIVEN));
                } else if self.gives_own_answer(&asked, &form, &own) {
                    return;
                }
            }
            Ok(_) => {}
            Err(e) => return self.cancel_for_server(&asked, &format!("the round of this run cannot be read: {e}")),
        }
        self.hold(Request::Server(asked, form), question, None, now + self.config.limits.hold.0);
    }

    /// Gives the server the answer of this run's own question. Returns whether there was one to give.
    fn gives_own_answer(&mut self, asked: &Elicitation, form: &Form, own: &Question) -> bool {
        if own.answer.as_ref().is_none_or(|answer| answer.counter_question().is_some()) {
            return false;
        }
        self.requests.answer_was_given = true;
        // An answer that does not fit the form was given by hand: the person is asked anew.
        self.answer_server(asked, form, &self.run.round(), own).is_none()
    }

    fn question_of_server(&self, asked: &Elicitation, form: &Form, remark: Option<&str>) -> Question {
        let mut question = form.question(&self.run.workflow_id, asked, remark);
        question.cwd.clone_from(&self.run.cwd);
        question
    }

    /// Gives the server the answer, once. Returns the next question, and why, if the answer does not fit the form.
    pub(super) fn answer_server(
        &mut self,
        asked: &Elicitation,
        form: &Form,
        round: &RoundId,
        question: &Question,
    ) -> Option<(Question, String)> {
        let id = asked.request_id.raw();
        let answer = question.answer.as_ref();
        let asked_back = answer.and_then(Answer::counter_question);
        let (line, what) = match answer.map(|answer| (answer.outcome, &answer.value)) {
            None => (claude::elicitation_cancel(id), "was told that nobody decided"),
            Some(_) if let Some(words) = asked_back => {
                self.tell_what_the_user_asks(asked, words);
                (claude::elicitation_cancel(id), "was told that nobody decided: the user asks back, and the agent was told what")
            }
            Some((Outcome::Answered, Some(value))) => match form.content(value) {
                Ok(content) => match Use::Given.take(self.mailbox, round) {
                    Ok(true) => (claude::elicitation_accept(id, &content), "has its answer"),
                    Ok(false) => (claude::elicitation_cancel(id), "was told that nobody decided: it may have the answer already"),
                    Err(e) => {
                        self.log.note(format!("the answer cannot be marked as given: {e}"));
                        (claude::elicitation_cancel(id), "was told that nobody decided")
                    }
                },
                Err(problem) => {
                    self.log.note(format!("the MCP server `{}` waits: the answer does not fit its form", asked.server.excerpt(60)));
                    let remark = format!("The answer before did not fit: {problem}.");
                    let next = self.question_of_server(asked, form, Some(&remark));
                    return Some((next, format!("the answer does not fit the form: {problem}")));
                }
            },
            Some(_) => (claude::elicitation_decline(id), "was told that the user declines"),
        };
        self.agent.say(&line);
        self.log.note(format!("the MCP server `{}` {what}", asked.server.excerpt(60)));
        None
    }

    /// A server cannot be asked back, but its agent can: the agent reads this with the result of the call.
    fn tell_what_the_user_asks(&mut self, asked: &Elicitation, words: &str) {
        let text = format!(
            "The MCP server `{}` asked your user: {}\nYour user asks back before they decide: {words}\nThe server was told that nobody has decided. \
             Find out what they ask, tell them, and then make the call again; the server will ask them again.",
            asked.server.one_line(),
            asked.message.excerpt(500),
        );
        let uuid = Uuid::new_v5(&self.run.message_id, format!("asked back {}", asked.request_id.raw()).as_bytes());
        self.agent.say(&claude::user_message(&uuid.to_string(), &text));
    }

    /// The time is over.
    pub(super) fn give_up_server(&mut self, held: Held, now: Instant) {
        match self.withdraw(&held, "nobody answered while the server waited") {
            Ok(_) => self.turn_down_held(&held.request, "nobody answered in time"),
            // The answer was accepted just now: the next look gives it.
            Err(_) if now < held.until + LAST_INSTANT => self.requests.held = Some(held),
            Err(e) => self.turn_down_held(&held.request, &format!("its question could not be taken back: {e}")),
        }
    }

    pub(super) fn cancel_for_server(&mut self, asked: &Elicitation, why: &str) {
        self.log.note(format!("the MCP server `{}` was told that nobody decided: {why}", asked.server.excerpt(60)));
        self.agent.say(&claude::elicitation_cancel(asked.request_id.raw()));
    }
}

/// Whether two questions ask a person the same in a server's name.
fn is_the_same(a: &Question, b: &Question) -> bool {
    let asked = |q: &Question| {
        (
            q.asked.elicited_by.clone(),
            q.question.clone(),
            q.asked.kind,
            q.asked.options.clone(),
            q.asked.questions.clone(),
            q.asked.range.clone(),
        )
    };
    a.asked.elicited_by.is_some() && asked(a) == asked(b)
}
