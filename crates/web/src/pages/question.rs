//! The page of one question, with its form or its answer.

use askama::Template;
use axum::extract::{Extension, Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::form::{Done, Filled};
use crate::gate::Posted;
use crate::pages::outcome::{self, Later, Outcome};
use crate::pages::question_form::QuestionForm;
use crate::pages::{Frame, change_call, markdown, question_form, remote_question};
use crate::reply;
use crate::send::{self, CHANNEL};
use crate::site::Visit;
use crate::taken_back::Draft;
use askbox_cli::ask_answer::{answering, edit_call};
use askbox_cli::person::PersonsDecision;
use askbox_cli::program;
use askbox_mailbox::address::{Address, RoundAt};
use askbox_mailbox::round::Round;
use askbox_mailbox::transitions::undo;
use askbox_mailbox::{Error, Folder, Mailbox, Result, RoundId, attachments, read_question, round, text};

#[derive(Template)]
#[template(path = "outcome.html")]
struct OutcomePage {
    frame: Frame,
    outcome: Outcome,
    /// The next question of the same workflow.
    later: Option<Later>,
    /// The whole text of the question, if its line is not all of it, and the context as HTML.
    rest: String,
    context: Option<String>,
    /// The next waiting question.
    next: Option<(String, String)>,
    /// This device's draft of an answer that came too late.
    draft: Draft,
}

#[derive(Template)]
#[template(path = "lost.html")]
struct LostPage {
    frame: Frame,
    heading: &'static str,
    why: String,
    /// The answer that counts instead.
    outcome: Option<Outcome>,
    /// The options that the person chose and the texts that they wrote.
    draft: Draft,
    workflow: String,
}

/// `/q/WORKFLOW`: leads to the workflow's newest question.
pub fn newest(visit: &Visit, Path(address): Path<String>) -> Result<Response> {
    let Address { host, workflow } = address.parse()?;
    if let Some(host) = host {
        return remote_question::newest(visit, &host, &workflow);
    }
    let found = answering::question(&visit.site.mailbox, &workflow)?;
    Ok(visit.go_to(&format!("/q/{workflow}/{}", found.id.question)))
}

/// `GET /q/WORKFLOW/QUESTION`
pub fn show(visit: &Visit, (Path(id), Query(wanted)): (Path<Names>, Query<Wanted>)) -> Result<Response> {
    let RoundAt { host, round: id } = id.round()?;
    if let Some(host) = host {
        return remote_question::show(visit, &host, &id, wanted.again.is_some());
    }
    let found = find(&visit.site.mailbox, &id)?;
    match found.folder {
        Folder::Pending => {
            let taken_back = visit.site.taken_back.filled(&id, &found.document.typed, &visit.signed_in.device);
            page(visit, &found, &taken_back, None)
        }
        _ => outcome_page(visit, &found),
    }
}

/// The round in an address: `WORKFLOW/QUESTION`, or `HOST:WORKFLOW/QUESTION` for a round of another machine.
#[derive(Debug, Deserialize)]
pub struct Names {
    workflow: String,
    question: String,
}

impl Names {
    fn round(&self) -> Result<RoundAt> {
        RoundAt::parse(&self.workflow, &self.question)
    }
}

/// The query of a question's page.
#[derive(Debug, Default, Deserialize)]
pub struct Wanted {
    /// Set if the person wants to give another answer, although one was offered.
    again: Option<String>,
}

/// The round, in whatever folder it is.
pub fn find(mailbox: &Mailbox, id: &RoundId) -> Result<Round> {
    if let Ok(document) = read_question::pending(mailbox, &id.workflow)
        && round::of_pending(mailbox, &document.typed)? == *id
    {
        return Ok(Round { folder: Folder::Pending, id: id.clone(), document });
    }
    let found = round::find(mailbox, id);
    found.ok_or_else(|| Error::not_found(format!("{} has no question {}", id.workflow, id.question), "it may have been removed: askbox gc"))
}

fn page(visit: &Visit, found: &Round, filled: &Filled, problem: Option<String>) -> Result<Response> {
    question_form::form_page(visit, QuestionForm::new(&visit.site, Some(&visit.site.mailbox), found, filled)?, problem)
}

fn outcome_page(visit: &Visit, found: &Round) -> Result<Response> {
    let next = question_form::next_question(visit, None)?;
    // The frame reads the configuration again, which the outcome needs too.
    let frame = Frame::new(visit, "");
    let (outcome, later) = (Outcome::read(&visit.site, found)?, Later::find(&visit.site.mailbox, &found.id));
    let question = &found.document.typed;
    let context = question.shown_context().map(|context| markdown::to_html(&visit.site.hosts, &context));
    let draft = visit.site.taken_back.draft(&found.id, &visit.signed_in.device);
    let page = OutcomePage { frame, outcome, later, rest: outcome::beyond_its_line(question), context, next, draft };
    Ok(reply::html(StatusCode::OK, &page))
}

/// `GET /q/WORKFLOW/QUESTION/file/SHA256`: a whole file beside the question. A text is plain text with its invisible characters escaped, so
/// that no browser takes it for something else.
pub fn file(visit: &Visit, Path((workflow, question, sha256)): Path<(String, String, String)>) -> Result<Response> {
    let none = || Error::not_found("the question has no such file", "load its page again");
    let RoundAt { host: None, round: id } = RoundAt::parse(&workflow, &question)? else { return Err(none()) };
    let found = find(&visit.site.mailbox, &id)?;
    let files = &found.document.typed.attachments;
    let about = files.iter().find(|about| about.sha256 == sha256).ok_or_else(none)?;
    let bytes = attachments::read(&visit.site.mailbox, &id, about)
        .map_err(|damage| Error::failed(format!("{}: {damage}", about.words()), "ask the agent for it again"))?;
    if about.kind.is_image() {
        return Ok(reply::image(about.kind, bytes));
    }
    Ok(reply::plain(StatusCode::OK, text::visible(&String::from_utf8_lossy(&bytes)).trim_end_matches('\n')))
}

/// `POST /q/WORKFLOW/QUESTION`
pub fn decide(visit: &Visit, (Extension(posted), Path(id)): (Extension<Posted>, Path<Names>)) -> Result<Response> {
    let RoundAt { host, round: id } = id.round()?;
    if let Some(host) = host {
        return remote_question::decide(visit, &host, &id, &posted);
    }
    let found = find(&visit.site.mailbox, &id)?;
    let mut filled = Filled::read(&found.document.typed, &posted);
    let shown = question_form::shown(&posted)?;
    let decision = match filled.decide(&found.document.typed) {
        Done::Decided(decision) => decision,
        Done::Change(edited) => {
            if found.folder != Folder::Pending || !shown.is_of(&found.document.typed) {
                let changed = Error::conflict("the question was changed while you read it", "look at it again");
                let error = (found.folder == Folder::Pending).then_some(&changed);
                return lost(visit, &id, &filled, None, error);
            }
            return match change_call::check(&found, &edit_call::refuse_rules(&visit.site.context), &edited) {
                Ok(()) => Ok(change_call::page(visit, None, &found, shown, &filled, &edited)),
                Err(e) => page(visit, &found, &filled, Some(program::message(&e))),
            };
        }
        Done::LeftOpen(_) if found.folder != Folder::Pending => return lost(visit, &id, &filled, None, None),
        Done::LeftOpen(problem) => return page(visit, &found, &filled, problem.map(str::to_owned)),
    };
    let person = visit.site.caller(&visit.signed_in, CHANNEL);
    let sent = person.and_then(|person| send::send_decision(&visit.site.mailbox, &person, &id, shown, decision.clone()));
    // Whatever the result, the inbox must show it at once.
    visit.site.index.outdate();
    match sent {
        Ok(_) => Ok(visit.go_to(&format!("/q/{}/{}#outcome", id.workflow, id.question))),
        // The value does not fit the question, so the question stays open.
        Err(e @ (Error::Invalid { .. } | Error::Usage { .. })) if found.folder == Folder::Pending => {
            page(visit, &found, &filled, Some(program::message(&e)))
        }
        Err(e) => lost(visit, &id, &filled, Some(&decision), Some(&e)),
    }
}

/// The page after a decision that was not accepted: somebody else was first, or another question is asked now. If the accepted answer is
/// this same one, because a browser sent the form twice, leads to its outcome.
fn lost(visit: &Visit, id: &RoundId, filled: &Filled, decision: Option<&PersonsDecision>, error: Option<&Error>) -> Result<Response> {
    let found = find(&visit.site.mailbox, id);
    if let (Ok(found), Some(decision)) = (&found, decision)
        && is_this(found, visit, decision)
    {
        return Ok(visit.go_to(&format!("/q/{}/{}#outcome", id.workflow, id.question)));
    }
    // Nothing was decided: the system failed, or another process holds the lock.
    if let (Ok(found), Some(error)) = (&found, error)
        && found.folder == Folder::Pending
        && !matches!(error, Error::Conflict { .. })
    {
        return page(visit, found, filled, Some(format!("Not sent: {}", program::message(error))));
    }
    let chosen = found.as_ref().map(|found| filled.chosen(&found.document.typed)).unwrap_or_default();
    let draft = Draft { chosen, written: filled.written() };
    visit.site.taken_back.keep_draft(id, draft.clone(), &visit.signed_in.device);
    let is_open = found.as_ref().is_ok_and(|found| found.folder == Folder::Pending);
    let over = found.ok().filter(|_| !is_open);
    let heading = match &over {
        _ if is_open => "The question has changed",
        Some(found) if found.document.typed.answer.is_some() => "Your answer was not the first",
        _ => "The question is over",
    };
    let page = LostPage {
        frame: Frame::new(visit, ""),
        heading,
        why: error.map_or_else(|| "The question is over".into(), program::message),
        outcome: over.map(|found| Outcome::read(&visit.site, &found)).transpose()?,
        draft,
        workflow: id.workflow.to_string(),
    };
    Ok(reply::html(StatusCode::CONFLICT, &page))
}

/// True if the answer that counts is this decision of this device.
pub fn is_this(found: &Round, visit: &Visit, decision: &PersonsDecision) -> bool {
    let Some(answer) = found.document.typed.answer.as_ref().filter(|a| a.by == visit.signed_in.device && a.channel == CHANNEL) else {
        return false;
    };
    match decision {
        PersonsDecision::Answer(value, _) => answer.value.as_ref() == Some(value),
        PersonsDecision::Edit(edited, _) => answer.edited.as_ref() == Some(edited),
        PersonsDecision::Decline(_) => answer.value.is_none() && !answer.asks_back && !answer.always && !answer.stops,
        PersonsDecision::DeclineAlways(_) => answer.always,
        PersonsDecision::DeclineAndStop(_) => answer.stops,
        PersonsDecision::AskBack(question) => answer.counter_question() == Some(question),
    }
}

/// `POST /q/WORKFLOW/QUESTION/undo`
pub fn undo(visit: &Visit, Path(id): Path<Names>) -> Result<Response> {
    let RoundAt { host, round: id } = id.round()?;
    if let Some(host) = host {
        return Err(Error::usage(format!("an answer is taken back on the machine that has the question: {host}"), "do it there"));
    }
    let answer = find(&visit.site.mailbox, &id).ok().and_then(|found| found.document.typed.answer);
    undo::undo(&visit.site.mailbox, &id.workflow, Some(id.question), &visit.signed_in.device)?;
    if let Some(answer) = answer {
        visit.site.taken_back.keep(&id, answer, &visit.signed_in.device);
    }
    visit.site.index.outdate();
    Ok(visit.go_to(&format!("/q/{}/{}#question", id.workflow, id.question)))
}
