//! One question, and its answer.

use askama::Template;
use axum::extract::{Extension, Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::address::{Address, HostName};
use crate::error::{Error, Result};
use crate::id::RoundId;
use crate::mailbox::round::Round;
use crate::mailbox::transitions::undo;
use crate::mailbox::{Folder, Mailbox, read_question, round};
use crate::surface::askbox::web::form::{Done, Filled};
use crate::surface::askbox::web::gate::Posted;
use crate::surface::askbox::web::pages::asked::Asked;
use crate::surface::askbox::web::pages::frame::Frame;
use crate::surface::askbox::web::pages::outcome::Outcome;
use crate::surface::askbox::web::pages::{ask, elsewhere};
use crate::surface::askbox::web::reply;
use crate::surface::askbox::web::send::{self, CHANNEL};
use crate::surface::askbox::web::site::Visit;
use crate::surface::person::decision::Decision;
use crate::surface::{ask_answer::answering, program};

#[derive(Template)]
#[template(path = "outcome.html")]
struct OutcomePage {
    frame: Frame,
    outcome: Outcome,
    /// The question that waits next.
    next: Option<(String, String)>,
}

#[derive(Template)]
#[template(path = "lost.html")]
struct LostPage {
    frame: Frame,
    heading: &'static str,
    why: String,
    /// What counts instead.
    outcome: Option<Outcome>,
    /// What the person had chosen and written.
    chosen: String,
    written: String,
    workflow: String,
}

/// `/q/WORKFLOW`: its newest question.
pub async fn newest(visit: Visit, Path(address): Path<String>) -> Response {
    let make = move |visit: &Visit| {
        let Address { host, workflow } = address.parse()?;
        if let Some(host) = host {
            return elsewhere::newest(visit, &host, &workflow);
        }
        let found = answering::question(&visit.site.mailbox, &workflow)?;
        Ok(reply::go_to(&format!("/q/{workflow}/{}", found.id.question)))
    };
    visit.page(make).await
}

/// `GET /q/WORKFLOW/QUESTION`
pub async fn show(visit: Visit, Path(id): Path<Names>, Query(wanted): Query<Wanted>) -> Response {
    let make = move |visit: &Visit| {
        let (host, id) = id.round()?;
        if let Some(host) = host {
            return elsewhere::show(visit, &host, &id, wanted.again.is_some());
        }
        let found = find(&visit.site.mailbox, &id)?;
        match found.folder {
            Folder::Pending => {
                let taken_back = visit.site.taken_back.filled(&id, &found.document.typed, &visit.signed_in.device);
                page(visit, &found, &taken_back, None)
            }
            _ => outcome(visit, &found),
        }
    };
    visit.page(make).await
}

/// The round in an address: `WORKFLOW/QUESTION`, or `HOST:WORKFLOW/QUESTION` for one of another machine.
#[derive(Debug, Deserialize)]
pub struct Names {
    workflow: String,
    question: String,
}

impl Names {
    fn round(&self) -> Result<(Option<HostName>, RoundId)> {
        let Address { host, workflow } = self.workflow.parse()?;
        Ok((host, RoundId { workflow, question: self.question.parse()? }))
    }
}

/// What is wanted of a question's page.
#[derive(Debug, Default, Deserialize)]
pub struct Wanted {
    /// Another answer is to be given, though one was offered.
    again: Option<String>,
}

/// The round, wherever it lies.
fn find(mailbox: &Mailbox, id: &RoundId) -> Result<Round> {
    if let Ok(document) = read_question::pending(mailbox, &id.workflow)
        && round::of_pending(mailbox, &document.typed)? == *id
    {
        return Ok(Round { folder: Folder::Pending, id: id.clone(), document });
    }
    let found = round::of_workflow(mailbox, &id.workflow).into_iter().find(|found| found.id == *id);
    found.ok_or_else(|| Error::not_found(format!("{} has no question {}", id.workflow, id.question), "it may have been removed: askbox gc"))
}

fn page(visit: &Visit, found: &Round, filled: &Filled, problem: Option<String>) -> Result<Response> {
    let only_signed = visit.site.context.only_signed_answers_count();
    ask::form(visit, Asked::of(Some(&visit.site.mailbox), found, filled, only_signed)?, problem)
}

fn outcome(visit: &Visit, found: &Round) -> Result<Response> {
    let next = ask::next(visit, None)?;
    let page = OutcomePage { frame: Frame::of(visit, ""), outcome: Outcome::of(&visit.site.mailbox, found)?, next };
    Ok(reply::html(StatusCode::OK, &page))
}

/// `POST /q/WORKFLOW/QUESTION`
pub async fn decide(visit: Visit, Extension(posted): Extension<Posted>, Path(id): Path<Names>) -> Response {
    let make = move |visit: &Visit| {
        let (host, id) = id.round()?;
        if let Some(host) = host {
            return elsewhere::decide(visit, &host, &id, &posted);
        }
        let found = find(&visit.site.mailbox, &id)?;
        let mut filled = Filled::read(&found.document.typed, &posted);
        let shown = ask::shown(&posted)?;
        let decision = match filled.decide(&found.document.typed) {
            Done::Decided(decision) => decision,
            Done::LeftOpen(_) if found.folder != Folder::Pending => return lost(visit, &id, &filled, None, None),
            Done::LeftOpen(problem) => return page(visit, &found, &filled, problem.map(str::to_owned)),
        };
        let person = visit.site.caller(&visit.signed_in.device, CHANNEL);
        let sent = person.and_then(|person| send::send(&visit.site.mailbox, &person, &id, shown, decision.clone()));
        // Whatever came of it, the inbox is to show it at once.
        visit.site.index.outdate_one(&id.workflow);
        match sent {
            Ok(_) => Ok(reply::go_to(&format!("/q/{}/{}#outcome", id.workflow, id.question))),
            // The answer does not fit the question: the question stays open.
            Err(e @ (Error::Invalid { .. } | Error::Usage { .. })) if found.folder == Folder::Pending => {
                page(visit, &found, &filled, Some(program::message(&e)))
            }
            Err(e) => lost(visit, &id, &filled, Some(&decision), Some(&e)),
        }
    };
    visit.page(make).await
}

/// Somebody else was first, or the question is another one by now. If it was this very answer that was first, as when a browser sends a form
/// twice, then that is what came of it.
fn lost(visit: &Visit, id: &RoundId, filled: &Filled, decision: Option<&Decision>, error: Option<&Error>) -> Result<Response> {
    let found = find(&visit.site.mailbox, id);
    if let (Ok(found), Some(decision)) = (&found, decision)
        && is_this(found, visit, decision)
    {
        return Ok(reply::go_to(&format!("/q/{}/{}#outcome", id.workflow, id.question)));
    }
    // Nothing was decided: the system, or another process that holds the lock.
    if let (Ok(found), Some(error)) = (&found, error)
        && found.folder == Folder::Pending
        && !matches!(error, Error::Conflict { .. })
    {
        return page(visit, found, filled, Some(format!("Not sent: {}", program::message(error))));
    }
    let chosen = found.as_ref().map(|found| filled.chosen(&found.document.typed)).unwrap_or_default();
    let is_open = found.as_ref().is_ok_and(|found| found.folder == Folder::Pending);
    let over = found.ok().filter(|_| !is_open);
    let heading = match &over {
        _ if is_open => "The question has changed",
        Some(found) if found.document.typed.answer.is_some() => "Your answer was not the first",
        _ => "The question is over",
    };
    let page = LostPage {
        frame: Frame::of(visit, ""),
        heading,
        why: error.map_or_else(|| "The question is over".into(), program::message),
        outcome: over.map(|found| Outcome::of(&visit.site.mailbox, &found)).transpose()?,
        chosen,
        written: filled.written(),
        workflow: id.workflow.to_string(),
    };
    Ok(reply::html(StatusCode::CONFLICT, &page))
}

/// Whether the answer that counts is this decision of this device.
fn is_this(found: &Round, visit: &Visit, decision: &Decision) -> bool {
    let Some(answer) = found.document.typed.answer.as_ref().filter(|a| a.by == visit.signed_in.device && a.channel == CHANNEL) else {
        return false;
    };
    match decision {
        Decision::Answer(value, _) => answer.value.as_ref() == Some(value),
        Decision::Decline(_) => answer.value.is_none() && !answer.asks_back,
        Decision::AskBack(question) => answer.counter_question() == Some(question),
    }
}

/// `POST /q/WORKFLOW/QUESTION/undo`
pub async fn undo(visit: Visit, Path(id): Path<Names>) -> Response {
    let make = move |visit: &Visit| {
        let (host, id) = id.round()?;
        if let Some(host) = host {
            return Err(Error::usage(format!("an answer is taken back on the machine that has the question: {host}"), "do it there"));
        }
        let answer = find(&visit.site.mailbox, &id).ok().and_then(|found| found.document.typed.answer);
        undo::undo(&visit.site.mailbox, &id.workflow, Some(id.question), &visit.signed_in.device)?;
        if let Some(answer) = answer {
            visit.site.taken_back.keep(&id, answer, &visit.signed_in.device);
        }
        visit.site.index.outdate_one(&id.workflow);
        Ok(reply::go_to(&format!("/q/{}/{}#question", id.workflow, id.question)))
    };
    visit.page(make).await
}
