//! A question of another machine, and the state of the answer that this page has offered: sent, accepted by its machine, or not accepted.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::filled_part::GivenPart;
use crate::form::{self, Done, Filled};
use crate::gate::Posted;
use crate::other_machines::Offered;
use crate::pages::outcome::Later;
use crate::pages::question_form::QuestionForm;
use crate::pages::{Frame, change_call, question_form};
use crate::reply;
use crate::send::CHANNEL;
use crate::site::Visit;
use crate::taken_back::Draft;
use askbox_cli::person::PersonsDecision;
use askbox_cli::program;
use askbox_mailbox::address::{Address, HostName};
use askbox_mailbox::{Error, Result, RoundId, WorkflowId, text};
use askbox_peers::known::HostView;
use askbox_peers::machines::offer_state::{OfferState, Stands};
use askbox_peers::machines::{self, answer, offer_state};
use askbox_peers::{Progress, RemoteQuestion};

#[derive(Template)]
#[template(path = "sent.html")]
struct SentPage {
    frame: Frame,
    host: String,
    id: String,
    question: String,
    title: String,
    told: Drawn,
    /// The answer to each part, or the word for a refusal or for asking back.
    answer: Vec<GivenPart>,
    word: &'static str,
    note: String,
    /// The options that the person chose and the texts that they wrote, if the answer does not count.
    draft: Draft,
    /// True if the question still waits.
    still_waits: bool,
    /// The next question of the same workflow.
    later: Option<Later>,
    next: Option<(String, String)>,
}

/// The state of an offer, in the form for the page.
struct Drawn {
    /// `sent`, `accepted`, `refused`, `unsent`, `unknown` or `over`.
    state: &'static str,
    /// The CSS class of the step *sent*.
    sent: &'static str,
    /// The step after *sent*: its words and its CSS class.
    step: (String, &'static str),
    why: String,
    todo: String,
    goes_on: bool,
}

impl Drawn {
    fn new(host: &HostName, progress: &Progress) -> Self {
        let OfferState { stands, step, why, todo } = OfferState::new(host, progress);
        let (state, sent, class) = match stands {
            Stands::Sending => ("sent", "now", ""),
            Stands::Sent => ("sent", "done", "now"),
            Stands::Accepted => ("accepted", "done", "done"),
            Stands::Refused => ("refused", "done", "failed"),
            Stands::NotSent => ("unsent", "failed", "failed"),
            Stands::Unconfirmed => ("unknown", "done", "failed"),
        };
        Self { state, sent, step: (step, class), why, todo, goes_on: stands.is_open() }
    }

    /// The same state while the machine is not reached. An offer on its way waits for the machine.
    fn while_away(self, view: &HostView, progress: &Progress) -> Self {
        match machines::while_away(view) {
            Some(away) if matches!(progress, Progress::UnderWay | Progress::Sent) => Self { why: away, ..self },
            _ => self,
        }
    }
}

/// The newest question of `HOST:WORKFLOW`.
pub fn newest(visit: &Visit, host: &HostName, workflow: &WorkflowId) -> Result<Response> {
    let view = visit.site.elsewhere.machine(host)?;
    let found = view.questions.iter().find(|question| question.workflow == *workflow).and_then(|question| question.round());
    match found {
        Some(round) => Ok(visit.go_to(&format!("/q/{host}:{workflow}/{}", round.question))),
        None => {
            Err(Error::not_found(format!("{workflow} waits for no answer on {host}, as far as is known here"), "see how it ended, there"))
        }
    }
}

/// `GET /q/HOST:WORKFLOW/QUESTION`
pub fn show(visit: &Visit, host: &HostName, id: &RoundId, again: bool) -> Result<Response> {
    let elsewhere = &visit.site.elsewhere;
    let question = waiting(visit, host, id);
    if let Some((offered, progress)) = elsewhere.offered(host, id)
        && (!again || question.is_none())
    {
        let told = match elsewhere.machine(host) {
            Ok(view) => Drawn::new(host, &progress).while_away(&view, &progress),
            Err(_) => Drawn::new(host, &progress),
        };
        let draft = Draft { chosen: offered.chosen.clone(), written: offered.written.clone() };
        return sent(visit, host, id, Some(&offered), told, question.is_some(), draft);
    }
    if let Some(question) = question {
        return page(visit, &question, &Filled::default(), None);
    }
    over(visit, host, id, String::new())
}

/// The page for a question that no longer waits, as far as is known here, with the text that was written for it.
fn over(visit: &Visit, host: &HostName, id: &RoundId, written: String) -> Result<Response> {
    let view = visit.site.elsewhere.machine(host)?;
    let why = match visit.site.elsewhere.fate(host, id) {
        Some(fate) => format!("{host}: {fate}"),
        None => machines::staleness(&view).unwrap_or_else(|| format!("{host} does not have this question any more, or asks another one")),
    };
    let told = Drawn { state: "over", sent: "", step: (String::new(), ""), why, todo: String::new(), goes_on: false };
    sent(visit, host, id, None, told, false, Draft { written, ..Draft::default() })
}

/// The question of this round, if it waits on that machine as far as is known here.
pub fn waiting(visit: &Visit, host: &HostName, id: &RoundId) -> Option<Arc<RemoteQuestion>> {
    visit.site.elsewhere.question(host, id).filter(|question| question.round().as_ref() == Some(id))
}

fn page(visit: &Visit, question: &RemoteQuestion, filled: &Filled, problem: Option<String>) -> Result<Response> {
    let asked = QuestionForm::new(&visit.site, None, &answer::as_round(question)?, filled)?;
    let view = visit.site.elsewhere.machine(&question.host)?;
    let before = question.round().and_then(|round| offer_state::notes_beforehand(&view, round.question));
    question_form::form_page(
        visit,
        QuestionForm { workflow: question.address().to_string(), host: Some(question.host.to_string()), before, ..asked },
        problem,
    )
}

/// `POST /q/HOST:WORKFLOW/QUESTION`
pub fn decide(visit: &Visit, host: &HostName, id: &RoundId, posted: &Posted) -> Result<Response> {
    let shown = question_form::shown(posted)?;
    let there = format!("/q/{host}:{}/{}", id.workflow, id.question);
    let Some(question) = waiting(visit, host, id) else {
        // The question may be over because this same form was sent twice. Words of another form are shown again.
        let is_this = |(offered, _): (Offered, _)| form::words(posted).iter().all(|words| offered.written.contains(words));
        if visit.site.elsewhere.offered(host, id).is_some_and(is_this) {
            return Ok(visit.go_to(&format!("{there}#outcome")));
        }
        return over(visit, host, id, form::words(posted).join("\n\n"));
    };
    let round = answer::as_round(&question)?;
    let typed = &round.document.typed;
    let mut filled = Filled::read(typed, posted);
    if !shown.is_of(typed) {
        return page(
            visit,
            &question,
            &filled,
            Some("The question has changed while you read it. Nothing was sent: look at it again.".into()),
        );
    }
    let decision = match filled.decide(typed) {
        Done::Decided(decision) => decision,
        Done::Change(edited) => {
            // The operator's rules on that machine are not known here. The run there checks them.
            return match change_call::check(&round, &[], &edited) {
                Ok(()) => Ok(change_call::page(visit, Some(host), &round, shown, &filled, &edited)),
                Err(e) => page(visit, &question, &filled, Some(program::message(&e))),
            };
        }
        Done::LeftOpen(problem) => return page(visit, &question, &filled, problem.map(str::to_owned)),
    };
    let draft = (filled.chosen(typed), filled.written());
    match offer(visit, &question, decision, draft) {
        Ok(()) => Ok(visit.go_to(&format!("{there}#outcome"))),
        Err(e) => page(visit, &question, &filled, Some(format!("Nothing was sent: {}", program::message(&e)))),
    }
}

/// Offers the decision to the question's machine. `draft` has the chosen options and the written texts.
pub fn offer(visit: &Visit, question: &Arc<RemoteQuestion>, decision: PersonsDecision, draft: (String, String)) -> Result<()> {
    let person = visit.site.caller(&visit.signed_in, &answer::channel(CHANNEL))?;
    visit.site.elsewhere.offer(question, decision, &person, draft)
}

fn sent(
    visit: &Visit,
    host: &HostName,
    id: &RoundId,
    offered: Option<&Offered>,
    told: Drawn,
    still_waits: bool,
    draft: Draft,
) -> Result<Response> {
    let address = Address { host: Some(host.clone()), workflow: id.workflow.clone() }.to_string();
    let counts = matches!(told.state, "sent" | "accepted");
    let page = SentPage {
        frame: Frame::new(visit, "").for_another_machine(),
        host: host.to_string(),
        title: offered.map_or_else(|| "This question is over".into(), |offered| offered.title.clone()),
        word: offered.filter(|offered| offered.given.is_empty()).map_or("", |offered| offered.answer.word()),
        answer: offered.map(|offered| offered.given.clone()).unwrap_or_default(),
        note: offered.and_then(|offered| offered.answer.note.as_deref()).map(text::printable).unwrap_or_default(),
        draft: if counts { Draft::default() } else { draft },
        next: question_form::next_question(visit, Some(&address))?,
        still_waits: still_waits && !counts,
        later: Later::on_another_machine(&visit.site.elsewhere, host, id),
        id: address,
        question: id.question.to_string(),
        told,
    };
    Ok(reply::html(StatusCode::OK, &page))
}
