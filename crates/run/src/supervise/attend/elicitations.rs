//! Questions of MCP servers to the user of a live agent (elicitations). When the time of the hold is over, the question is withdrawn,
//! and the server is told that nobody decided. An answer may come at the same moment: the workflow's lock decides which was first. If
//! the answer was accepted before, the server gets it; after the withdrawal there is nothing to answer.
//!
//! If the supervisor dies during the hold, or the time of the run is over, the question stays and the attempt is *asking*. The answer
//! then continues the session, which makes its call again. If the server then asks exactly the same question, it gets the answer at
//! once. An answer is given only once: its round is marked before.

use crate::attempt::record::Run;
use crate::attempt::unasked;
use crate::attempt::used_answer::Use;
use crate::prompt::inserted::at_the_end;
use crate::prompt::remarks::beside_reply;
use crate::supervise::attend::elicited_form::Form;
use crate::supervise::attend::held_requests::Request;
use crate::supervise::attend::live_run::LiveRun;
use askbox_agent::claude;
use askbox_agent::stream::Elicitation;
use askbox_mailbox::documents::answer::{Answer, Outcome};
use askbox_mailbox::documents::shown::asks_the_same;
use askbox_mailbox::error::Error;
use askbox_mailbox::id::RoundId;
use askbox_mailbox::{Question, read_question, round};

/// The reason why a person is asked again after an answer was used.
const PERHAPS_GIVEN: &str = "You answered this before; then a process died, and the server may have your answer.";

/// The requests of servers.
#[derive(Debug, Default)]
pub(super) struct Servers {
    /// True if a server was given the answer that this run brings.
    answer_was_given: bool,
}

impl Servers {
    /// The question of a server, if a person is to be asked. A server gets the answer that this run brings at once, if it asks exactly
    /// the question that the person answered. It had put that question to a process that has died since.
    pub(super) fn question(&mut self, live: &mut LiveRun<'_, '_>, asked: Box<Elicitation>) -> Option<(Request, Question)> {
        let form = match Form::of_elicitation(&asked) {
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
    fn gives_own_answer(&mut self, live: &mut LiveRun<'_, '_>, asked: &Elicitation, form: &Form, own: &Question) -> bool {
        if own.answer.as_ref().is_none_or(|answer| answer.counter_question().is_some()) {
            return false;
        }
        self.answer_was_given = true;
        // An answer that does not fit the form was written by hand: the person is asked anew.
        // The message that began this run has the person's remark.
        let own = Question { answer: own.answer.clone().map(|answer| Answer { note: None, ..answer }), ..own.clone() };
        answer(live, asked, form, &live.run.round(), &own).is_none()
    }
}

fn question_of(run: &Run, asked: &Elicitation, form: &Form, remark: Option<&str>) -> Question {
    let mut question = form.question(&run.workflow_id, asked, remark);
    question.cwd.clone_from(&run.plan.cwd);
    question
}

/// Gives the server the answer, once. Returns the next question, and why, if the answer does not fit the form.
pub(super) fn answer(
    live: &mut LiveRun<'_, '_>,
    asked: &Elicitation,
    form: &Form,
    round: &RoundId,
    question: &Question,
) -> Option<(Question, String)> {
    let id = asked.request_id.raw();
    let answer = question.answer.as_ref();
    let asked_back = answer.and_then(Answer::counter_question);
    let remark = answer.and_then(|answer| beside_reply(&asked.server.one_line(), answer));
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
    // The agent reads the remark with the result of its call.
    remark.into_iter().for_each(|remark| live.tell(id, &remark));
    live.agent.say(&line);
    live.log.note(format!("the MCP server `{}` {what}", asked.server.excerpt(60)));
    None
}

/// Gives the agent the person's counter-question with the result of the call: the server cannot be asked back, but its agent can.
fn tell_what_the_user_asks(live: &mut LiveRun<'_, '_>, asked: &Elicitation, words: &str) {
    let text = format!(
        "The MCP server `{}` asked your user: {}\nYour user asks back before they decide:{}\nThe server was told that nobody has decided. \
         Find out what they ask, tell them, and then make the call again; the server will ask them again.",
        asked.server.one_line(),
        asked.message.excerpt(500),
        at_the_end(words),
    );
    live.tell(asked.request_id.raw(), &text);
}

/// Tells the server that nobody decided, because its question could not be posted. If another question waits, its agent is told the truth
/// with the answer to that one.
pub(super) fn could_not_ask(live: &mut LiveRun<'_, '_>, asked: &Elicitation, e: &Error) {
    let waiting =
        read_question::pending(live.mailbox, &live.run.workflow_id).and_then(|document| round::of_pending(live.mailbox, &document.typed));
    if let (Error::Conflict { .. }, Ok(waiting)) = (e, waiting)
        && let Err(e) = unasked::note(live.mailbox, &waiting, asked.server.raw())
    {
        live.log.note(format!("the agent will not be told that its user was not asked: {e}"));
    }
    cancel(live, asked, &format!("its question could not be posted: {e}"));
}

pub(super) fn cancel(live: &mut LiveRun<'_, '_>, asked: &Elicitation, why: &str) {
    live.log.note(format!("the MCP server `{}` was told that nobody decided: {why}", asked.server.excerpt(60)));
    live.agent.say(&claude::elicitation_cancel(asked.request_id.raw()));
}
