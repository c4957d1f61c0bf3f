//! One question, and its answer.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::round::Round;
use crate::mailbox::transitions::undo;
use crate::mailbox::{Folder, Mailbox, read_question, round};
use crate::surface::askbox::web::form::{Done, Filled};
use crate::surface::askbox::web::gate::{Posted, SignedIn};
use crate::surface::askbox::web::pages::asked::Asked;
use crate::surface::askbox::web::pages::frame::{self, Frame};
use crate::surface::askbox::web::pages::outcome::Outcome;
use crate::surface::askbox::web::routes::Site;
use crate::surface::askbox::web::send::{self, CHANNEL, Decision};
use crate::surface::{ask_answer::answering, program};

#[derive(Template)]
#[template(path = "question.html")]
struct QuestionPage {
    frame: Frame,
    asked: Asked,
    /// What is missing, or wrong.
    problem: Option<String>,
}

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
    why: String,
    /// What counts instead.
    outcome: Option<Outcome>,
    /// What the person had chosen and written.
    chosen: String,
    written: String,
    workflow: String,
}

/// `/q/WORKFLOW`: its newest question.
pub async fn newest(State(site): State<Arc<Site>>, Path(workflow): Path<String>) -> Response {
    site.page(move |site| {
        let workflow: WorkflowId = workflow.parse()?;
        let found = answering::question(&site.mailbox, &workflow)?;
        Ok(frame::go_to(&format!("/q/{workflow}/{}", found.id.question)))
    })
    .await
}

/// `GET /q/WORKFLOW/QUESTION`
pub async fn show(
    State(site): State<Arc<Site>>,
    Extension(signed_in): Extension<SignedIn>,
    Path((workflow, question)): Path<(String, String)>,
) -> Response {
    site.page(move |site| {
        let id = round_id(&workflow, &question)?;
        let found = find(&site.mailbox, &id)?;
        match found.folder {
            Folder::Pending => page(site, &signed_in, &found, &Filled::default(), None),
            _ => outcome(site, &signed_in, &found),
        }
    })
    .await
}

fn round_id(workflow: &str, question: &str) -> Result<RoundId> {
    Ok(RoundId { workflow: workflow.parse::<WorkflowId>()?, question: question.parse::<QuestionId>()? })
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

fn page(site: &Site, signed_in: &SignedIn, found: &Round, filled: &Filled, problem: Option<String>) -> Result<Response> {
    let asked = Asked::of(&site.mailbox, found, filled)?;
    let status = if problem.is_some() || asked.is_open() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(frame::reply(status, &QuestionPage { frame: Frame::of(site, signed_in, ""), asked, problem }))
}

fn outcome(site: &Site, signed_in: &SignedIn, found: &Round) -> Result<Response> {
    let rows = site.index.rows(&site.mailbox)?;
    let next = rows.iter().find(|row| !row.is_event && row.question.is_some());
    let next = next.and_then(|row| Some((format!("/q/{}/{}", row.workflow, row.question?), row.title.clone())));
    let page = OutcomePage { frame: Frame::of(site, signed_in, ""), outcome: Outcome::of(&site.mailbox, found)?, next };
    Ok(frame::reply(StatusCode::OK, &page))
}

/// `POST /q/WORKFLOW/QUESTION`
pub async fn decide(
    State(site): State<Arc<Site>>,
    Extension(signed_in): Extension<SignedIn>,
    Extension(posted): Extension<Posted>,
    Path((workflow, question)): Path<(String, String)>,
) -> Response {
    site.page(move |site| {
        let id = round_id(&workflow, &question)?;
        let found = find(&site.mailbox, &id)?;
        let mut filled = Filled::read(&found.document.typed, &posted);
        let shown = posted.get("shown").and_then(|shown| Uuid::parse_str(shown).ok());
        let Some(shown) = shown else { return Err(Error::usage("the form does not say which question was shown", "load the page again")) };
        let decision = match filled.decide(&found.document.typed, posted.get("act").unwrap_or_default()) {
            Done::Decided(decision) => decision,
            Done::LeftOpen(_) if found.folder != Folder::Pending => return lost(site, &signed_in, &id, &filled, None, None),
            Done::LeftOpen(problem) => return page(site, &signed_in, &found, &filled, problem.map(str::to_owned)),
        };
        let sent = send::send(&site.mailbox, &id, shown, decision.clone(), &signed_in.device);
        // Whatever came of it, the inbox is to show it at once.
        site.index.outdate_one(&id.workflow);
        match sent {
            Ok(_) => Ok(frame::go_to(&format!("/q/{}/{}#outcome", id.workflow, id.question))),
            // The answer does not fit the question: the question stays open.
            Err(e @ (Error::Invalid { .. } | Error::Usage { .. })) if found.folder == Folder::Pending => {
                page(site, &signed_in, &found, &filled, Some(program::message(&e)))
            }
            Err(e) => lost(site, &signed_in, &id, &filled, Some(&decision), Some(&e)),
        }
    })
    .await
}

/// Somebody else was first, or the question is another one by now. If it was this very answer that was first, as when a browser sends a form
/// twice, then that is what came of it.
fn lost(
    site: &Site,
    signed_in: &SignedIn,
    id: &RoundId,
    filled: &Filled,
    decision: Option<&Decision>,
    error: Option<&Error>,
) -> Result<Response> {
    let found = find(&site.mailbox, id);
    if let (Ok(found), Some(decision)) = (&found, decision)
        && is_this(found, signed_in, decision)
    {
        return Ok(frame::go_to(&format!("/q/{}/{}#outcome", id.workflow, id.question)));
    }
    // Nothing was decided: the system, or another process that holds the lock.
    if let (Ok(found), Some(error)) = (&found, error)
        && found.folder == Folder::Pending
        && !matches!(error, Error::Conflict { .. })
    {
        return page(site, signed_in, found, filled, Some(format!("Not sent: {}", program::message(error))));
    }
    let chosen = found.as_ref().map(|found| filled.chosen(&found.document.typed)).unwrap_or_default();
    let over = found.ok().filter(|found| found.folder != Folder::Pending);
    let page = LostPage {
        frame: Frame::of(site, signed_in, ""),
        why: error.map_or_else(|| "The question is over".into(), program::message),
        outcome: over.map(|found| Outcome::of(&site.mailbox, &found)).transpose()?,
        chosen,
        written: filled.written(),
        workflow: id.workflow.to_string(),
    };
    Ok(frame::reply(StatusCode::CONFLICT, &page))
}

/// Whether the answer that counts is this decision of this device.
fn is_this(found: &Round, signed_in: &SignedIn, decision: &Decision) -> bool {
    let Some(answer) = found.document.typed.answer.as_ref().filter(|a| a.by == signed_in.device && a.channel == CHANNEL) else {
        return false;
    };
    match decision {
        Decision::Answer(value, _) => answer.value.as_ref() == Some(value),
        Decision::Decline(_) => answer.value.is_none() && !answer.asks_back,
        Decision::AskBack(question) => answer.counter_question() == Some(question),
    }
}

/// `POST /q/WORKFLOW/QUESTION/undo`
pub async fn undo(
    State(site): State<Arc<Site>>,
    Extension(signed_in): Extension<SignedIn>,
    Path((workflow, question)): Path<(String, String)>,
) -> Response {
    site.page(move |site| {
        let id = round_id(&workflow, &question)?;
        undo::undo(&site.mailbox, &id.workflow, Some(id.question), &signed_in.device)?;
        site.index.outdate_one(&id.workflow);
        Ok(frame::go_to(&format!("/q/{}/{}#question", id.workflow, id.question)))
    })
    .await
}
