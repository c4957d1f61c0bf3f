//! What MCP servers of a live agent ask its user (elicitations). When the time of the hold is over, the question is withdrawn and the server
//! is told that nobody decided. The workflow's lock decides between that and an answer: an answer that was accepted before is given to the
//! server, and afterwards there is nothing to answer.
//!
//! If the supervisor dies meanwhile, or the time of the run is over, the question stays and the attempt is *asking*. The answer continues the session, which makes its call
//! again; a server that then puts exactly the same question has the answer at once. An answer is given once: its round is marked before.

use uuid::Uuid;

use crate::agent::claude;
use crate::agent::stream::Elicitation;
use crate::id::RoundId;
use crate::mailbox::Question;
use crate::mailbox::documents::answer::{Answer, Outcome};
use crate::mailbox::documents::shown::asks_the_same;
use crate::run::attempt::record::Run;
use crate::run::attempt::used_answer::Use;
use crate::run::supervise::attend::elicited_form::Form;
use crate::run::supervise::attend::held_requests::Request;
use crate::run::supervise::attend::live::Live;

/// Why a person is asked again whose answer was used before.
const PERHAPS_GIVEN: &str = "You answered this before; then a process died, and the server may have your answer.";

/// The requests of servers.
#[derive(Debug, Default)]
pub(super) struct Servers {
    /// Whether a server was given the answer that this run brings.
    answer_was_given: bool,
}

impl Servers {
    /// The question of a server, if a person is to be asked. A server gets the answer that this run brings at once, if the person answered
    /// exactly this question after the process had died to which the server had put it.
    pub(super) fn question(&mut self, live: &mut Live<'_, '_>, asked: Box<Elicitation>) -> Option<(Request, Question)> {
        let form = match Form::of(&asked) {
            Ok(form) => form,
            Err(why) => {
                cancel(live, &asked, &why);
                return None;
            }
        };
        let mut question = question_of(live.run, &asked, &form, None);
        match live.own_question() {
            Ok(own) if !self.answer_was_given && own.asked.elicited_by.is_some() && asks_the_same(&own, &question) => {
                if Use::Given.is_taken(live.mailbox, &live.run.round()) {
                    question = question_of(live.run, &asked, &form, Some(PERHAPS_GIVEN));
                } else if self.gives_own_answer(live, &asked, &form, &own) {
                    return None;
                }
            }
            Ok(_) => {}
            Err(e) => {
                cancel(live, &asked, &format!("the round of this run cannot be read: {e}"));
                return None;
            }
        }
        Some((Request::Server(asked, form), question))
    }

    /// Gives the server the answer of this run's own question. Returns whether there was one to give.
    fn gives_own_answer(&mut self, live: &mut Live<'_, '_>, asked: &Elicitation, form: &Form, own: &Question) -> bool {
        if own.answer.as_ref().is_none_or(|answer| answer.counter_question().is_some()) {
            return false;
        }
        self.answer_was_given = true;
        // An answer that does not fit the form was given by hand: the person is asked anew.
        answer(live, asked, form, &live.run.round(), own).is_none()
    }
}

fn question_of(run: &Run, asked: &Elicitation, form: &Form, remark: Option<&str>) -> Question {
    let mut question = form.question(&run.workflow_id, asked, remark);
    question.cwd.clone_from(&run.plan.cwd);
    question
}

/// Gives the server the answer, once. Returns the next question, and why, if the answer does not fit the form.
pub(super) fn answer(
    live: &mut Live<'_, '_>,
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
            tell_what_the_user_asks(live, asked, words);
            (claude::elicitation_cancel(id), "was told that nobody decided: the user asks back, and the agent was told what")
        }
        Some((Outcome::Answered, Some(value))) => match form.content(value) {
            Ok(content) => match Use::Given.take(live.mailbox, round) {
                Ok(true) => (claude::elicitation_accept(id, &content), "has its answer"),
                Ok(false) => (claude::elicitation_cancel(id), "was told that nobody decided: it may have the answer already"),
                Err(e) => {
                    live.log.note(format!("the answer cannot be marked as given: {e}"));
                    (claude::elicitation_cancel(id), "was told that nobody decided")
                }
            },
            Err(problem) => {
                live.log.note(format!("the MCP server `{}` waits: the answer does not fit its form", asked.server.excerpt(60)));
                let remark = format!("The answer before did not fit: {problem}.");
                let next = question_of(live.run, asked, form, Some(&remark));
                return Some((next, format!("the answer does not fit the form: {problem}")));
            }
        },
        Some(_) => (claude::elicitation_decline(id), "was told that the user declines"),
    };
    live.agent.say(&line);
    live.log.note(format!("the MCP server `{}` {what}", asked.server.excerpt(60)));
    None
}

/// A server cannot be asked back, but its agent can: the agent reads this with the result of the call.
fn tell_what_the_user_asks(live: &mut Live<'_, '_>, asked: &Elicitation, words: &str) {
    let text = format!(
        "The MCP server `{}` asked your user: {}\nYour user asks back before they decide: {words}\nThe server was told that nobody has decided. \
         Find out what they ask, tell them, and then make the call again; the server will ask them again.",
        asked.server.one_line(),
        asked.message.excerpt(500),
    );
    let uuid = Uuid::new_v5(&live.run.plan.message_id, format!("asked back {}", asked.request_id.raw()).as_bytes());
    live.agent.say(&claude::user_message(&uuid.to_string(), &text));
}

pub(super) fn cancel(live: &mut Live<'_, '_>, asked: &Elicitation, why: &str) {
    live.log.note(format!("the MCP server `{}` was told that nobody decided: {why}", asked.server.excerpt(60)));
    live.agent.say(&claude::elicitation_cancel(asked.request_id.raw()));
}
