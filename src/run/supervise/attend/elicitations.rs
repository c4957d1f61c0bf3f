//! What MCP servers of a live agent ask its user (elicitations). When the time of the hold is over, the question is withdrawn and the server
//! is told that nobody decided. The workflow's lock decides between that and an answer: an answer that was accepted before is given to the
//! server, and afterwards there is nothing to answer.

use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::agent::claude;
use crate::agent::stream::Elicitation;
use crate::mailbox::Question;
use crate::mailbox::documents::answer::{Answer, Outcome};
use crate::run::supervise::attend::attendance::Attendance;
use crate::run::supervise::attend::elicited_form::Form;
use crate::run::supervise::attend::held_requests::{Held, Request, Waiting};

/// How long an answer that was accepted in the last instant, but cannot be claimed, is waited for.
const LAST_INSTANT: Duration = Duration::from_secs(30);

impl Attendance<'_, '_> {
    /// A server asks.
    pub(super) fn elicited(&mut self, asked: Box<Elicitation>) {
        match () {
            () if self.agent.leaves_too_much_unread() => {}
            () if self.config.limits.hold.0.is_zero() => self.cancel_for_server(&asked, "limits.hold is zero"),
            () => self.put_in_line(Waiting::Server(asked)),
        }
    }

    /// Posts the question of a server.
    pub(super) fn ask_for_server(&mut self, asked: Box<Elicitation>, now: Instant) {
        match Form::of(&asked) {
            Ok(form) => {
                let question = self.question_of_server(&asked, &form, None);
                self.hold(Request::Server(asked, form), question, None, now + self.config.limits.hold.0);
            }
            Err(why) => self.cancel_for_server(&asked, &why),
        }
    }

    fn question_of_server(&self, asked: &Elicitation, form: &Form, problem: Option<&str>) -> Question {
        let mut question = form.question(&self.run.workflow_id, asked, problem);
        question.cwd.clone_from(&self.run.cwd);
        question
    }

    /// Gives the server the answer. Returns the next question, and why, if the answer does not fit the form.
    pub(super) fn answer_server(&mut self, asked: &Elicitation, form: &Form, question: &Question) -> Option<(Question, String)> {
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
                Ok(content) => (claude::elicitation_accept(id, &content), "has its answer"),
                Err(problem) => {
                    self.log.note(format!("the MCP server `{}` waits: the answer does not fit its form", asked.server.excerpt(60)));
                    let next = self.question_of_server(asked, form, Some(&problem));
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
