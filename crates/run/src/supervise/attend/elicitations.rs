//! Forms for the user of a live agent (elicitations), from its MCP servers or from an agent that speaks ACP. When the time of the hold is
//! over, the question of a server of `claude` is withdrawn, and the server is told that nobody decided. An answer may come at the same
//! moment: the workflow's lock decides which was first. If the answer was accepted before, the server gets it; after the withdrawal
//! there is nothing to answer. An agent that speaks ACP may ask for itself. So its question stays, and the run ends for it.
//!
//! If the supervisor dies during the hold, or the time of the run is over, the question stays and the attempt is *asking*. The answer
//! then continues the session, which makes its call again. If the server then asks exactly the same question, it gets the answer at
//! once. An answer is given only once: its round is marked before.
//!
//! The asker of a form, in words.

use crate::asking::form::Form;
use crate::attempt::record::Run;
use crate::attempt::unasked;
use crate::attempt::used_answer::Use;
use crate::supervise::attend::held_requests::{Again, Request, Undecided};
use crate::supervise::attend::live_run::LiveRun;
use crate::words::inserted::{at_the_end, within};
use crate::words::{self, beside_reply};
use askbox_agent::claude;
use askbox_agent::stream::{Asker, Elicitation, FormReply};
use askbox_config::RunnerKind;
use askbox_mailbox::documents::shown::asks_the_same;
use askbox_mailbox::{Answer, Error, Outcome, Question, RoundId, read_question, round, text};

/// The reason why a person is asked again after an answer was used.
const PERHAPS_GIVEN: &str = "You answered this before; then a process died, and the server may have your answer.";

/// The forms of a run.
#[derive(Debug, Default)]
pub(super) struct Forms {
    /// True if an asker was given the answer that this run brings.
    answer_was_given: bool,
}

/// True if a form's question stays when the time of the hold is over, because the run then ends for it.
pub(super) fn outlasts_its_hold(live: &LiveRun<'_, '_>) -> bool {
    live.agent.kind == RunnerKind::Acp
}

impl Forms {
    /// The question of a form, if a person is to be asked. The asker gets the answer that this run brings at once, if it asks exactly
    /// the question that the person answered. It had put that question to a process that has ended since.
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
            Ok(own) if !self.answer_was_given && own.elicited_by.is_some() && asks_the_same(&own, &question) => {
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
        Some((Request::Form(asked, form), question))
    }

    /// Gives the asker the answer of this run's own question. Returns whether there was one to give.
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
    let mut question = form.question(&run.workflow_id, &name(run, &asked.asker), asked, remark);
    question.cwd.clone_from(&run.cwd);
    question
}

/// Gives the asker the answer, once. Returns the next question, and why, if the answer does not fit the form.
pub(super) fn answer(live: &mut LiveRun<'_, '_>, asked: &Elicitation, form: &Form, round: &RoundId, question: &Question) -> Again {
    let answer = question.answer.as_ref();
    let asked_back = answer.and_then(Answer::counter_question);
    let (reply, what) = match answer.map(|answer| (answer.outcome, &answer.value)) {
        None => (FormReply::Cancel, "was told that nobody decided"),
        Some(_) if let Some(words) = asked_back => {
            tell_what_the_user_asks(live, asked, question, words);
            (FormReply::Cancel, "was told that nobody decided: the user asks back, and the agent was told what")
        }
        Some((Outcome::Answered, Some(value))) => match form.content(value) {
            Ok(content) => match Use::Given.take(live.mailbox, round) {
                Ok(true) => (FormReply::Accept(content), "has its answer"),
                Ok(false) => (FormReply::Cancel, "was told that nobody decided: it may have the answer already"),
                Err(e) => {
                    live.log.note(format!("the answer cannot be marked as given: {e}"));
                    (FormReply::Cancel, "was told that nobody decided")
                }
            },
            Err(problem) => {
                live.log.note(format!("{} waits: the answer does not fit its form", named(live.run, &asked.asker)));
                let remark = format!("The answer before did not fit: {problem}.");
                let next = question_of(live.run, asked, form, Some(&remark));
                return Some((next, format!("the answer does not fit the form: {problem}")));
            }
        },
        Some(_) => (FormReply::Decline, "was told that the user declines"),
    };
    // The agent reads the remark with the result of its call.
    let server = matches!(asked.asker, Asker::Server(_)).then(|| name(live.run, &asked.asker));
    let remark = answer.and_then(|answer| beside_reply(server.as_deref(), answer));
    remark.into_iter().for_each(|remark| live.tell(asked.request_id.raw(), &remark));
    reply_to(live, asked, &reply, what);
    None
}

fn reply_to(live: &mut LiveRun<'_, '_>, asked: &Elicitation, reply: &FormReply, what: &str) {
    live.agent.say(&claude::elicitation_reply(asked.request_id.raw(), reply));
    live.log.note(format!("{} {what}", named(live.run, &asked.asker)));
}

/// Gives the agent the person's counter-question with the result of the call: a server cannot be asked back, but its agent can.
fn tell_what_the_user_asks(live: &mut LiveRun<'_, '_>, asked: &Elicitation, question: &Question, words: &str) {
    // A program may put its questions into the fields alone.
    let parts: Vec<_> = question.parts().iter().map(|part| text::excerpt(&part.question, 200)).collect();
    let message = Some(asked.message.excerpt(500)).filter(|message| !message.trim().is_empty()).unwrap_or_else(|| parts.join(" "));
    let words = at_the_end(words);
    let text = match &asked.asker {
        Asker::Server(server) => format!(
            "The MCP server `{}` asked your user: {message}\nYour user asks back before they decide:{words}\nThe server was told that \
             nobody has decided. Find out what they ask, tell them, and then make the call again; the server will ask them again.",
            server.one_line(),
        ),
        Asker::Agent | Asker::AgentOrServer => format!(
            "Your user was asked, by you or by an MCP server: {message}\nYour user asks back before they decide:{words}\nNobody has decided \
             or declined. Find out what they ask, tell them, and then ask again, or make the call again."
        ),
    };
    live.tell(asked.request_id.raw(), &text);
}

/// Tells the asker that nobody decided. An agent that speaks ACP may have asked for itself, and is told how it can ask. If another question
/// waits, the agent is told the truth with the answer to that one.
pub(super) fn undecided(live: &mut LiveRun<'_, '_>, asked: &Elicitation, why: &Undecided<'_>) {
    match why {
        Undecided::NotAsked(why) => cancel(live, asked, why),
        Undecided::Late => cancel(live, asked, "nobody answered in time"),
        Undecided::Ended(question) => {
            let end = words::end_of(question);
            let words =
                format!("Nobody answers what your user was asked: the question was {end}. Do not guess an answer. Go on without it.");
            cancel_and_tell(live, asked, &format!("its question was {end}"), &words);
        }
        Undecided::NotPosted(e) => {
            let why = format!("its question could not be posted: {e}");
            let waiting = read_question::pending(live.mailbox, &live.run.workflow_id)
                .and_then(|document| round::of_pending(live.mailbox, &document.typed));
            let (Error::Conflict { .. }, Ok(waiting)) = (e, waiting) else { return cancel(live, asked, &why) };
            match unasked::note(live.mailbox, &waiting, &name(live.run, &asked.asker)) {
                Ok(()) => reply_to(live, asked, &FormReply::Cancel, &told_nobody_decided(&why)),
                Err(e) => {
                    live.log.note(format!("the agent will not be told that its user was not asked: {e}"));
                    cancel(live, asked, &why);
                }
            }
        }
    }
}

fn cancel(live: &mut LiveRun<'_, '_>, asked: &Elicitation, why: &str) {
    let words = format!(
        "Your user has not seen a question of yours, or of an MCP server, so nobody has answered or declined it: {}. If you still need the \
         answer, ask with `ask-post 'QUESTION' -w {} -o KEY=DESCRIPTION`, then end your turn: you will get the answer.",
        within(why, "."),
        live.run.workflow_id
    );
    cancel_and_tell(live, asked, why, &words);
}

fn cancel_and_tell(live: &mut LiveRun<'_, '_>, asked: &Elicitation, why: &str, words: &str) {
    if !matches!(asked.asker, Asker::Server(_)) {
        // Before the reply: the agent may end its turn at once.
        live.tell(asked.request_id.raw(), words);
    }
    reply_to(live, asked, &FormReply::Cancel, &told_nobody_decided(why));
}

fn told_nobody_decided(why: &str) -> String {
    format!("was told that nobody decided: {why}")
}

/// The most characters of a name.
const LONGEST_NAME: usize = 60;

/// The name in the question. An agent that speaks ACP has the name of its runner, which the operator has chosen.
pub(super) fn name(run: &Run, asker: &Asker) -> String {
    match asker {
        Asker::Server(name) => text::excerpt(&name.one_line(), LONGEST_NAME),
        Asker::Agent | Asker::AgentOrServer => text::excerpt(&run.runner, LONGEST_NAME),
    }
}

/// The asker inside a sentence.
pub(super) fn named(run: &Run, asker: &Asker) -> String {
    match asker {
        Asker::Server(_) => format!("the MCP server `{}`", name(run, asker)),
        Asker::Agent | Asker::AgentOrServer => format!("the agent `{}`", name(run, asker)),
    }
}
