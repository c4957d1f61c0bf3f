//! Declines several questions at once: `/?choose=1` chooses them, `/decline` shows each of them whole, and declines exactly those that it
//! has shown.

use std::sync::Arc;

use askama::Template;
use axum::extract::Extension;
use axum::http::StatusCode;
use axum::response::Response;

use crate::form::Filled;
use crate::gate::Posted;
use crate::pages::question_form::QuestionForm;
use crate::pages::{Frame, question, remote_question};
use crate::reply;
use crate::send::{self, CHANNEL};
use crate::site::Visit;
use askbox_cli::person::PersonsDecision;
use askbox_cli::program;
use askbox_mailbox::address::RoundAt;
use askbox_mailbox::{Error, Folder, Result, Shown, text};
use askbox_peers::machines::answer;

/// The maximum number of questions that are declined together, and of those on other machines: each of these takes a connection.
const MOST: usize = 40;
const MOST_ELSEWHERE: usize = 8;

#[derive(Template)]
#[template(path = "decline.html")]
struct DeclinePage {
    frame: Frame,
    questions: Vec<QuestionForm>,
    /// The chosen questions that cannot be declined, and why.
    left_out: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "declined.html")]
struct DeclinedPage {
    frame: Frame,
    results: Vec<Declined>,
    /// The number of questions that were declined, or were sent to be declined.
    count: usize,
}

/// The result for one question.
struct Declined {
    id: String,
    path: String,
    /// True if the question was declined, or was sent to its machine to be declined.
    is_done: bool,
    said: String,
}

/// Reads a round in a form: `WORKFLOW/QUESTION`, with `HOST:` in front on another machine.
fn named(text: &str) -> Result<RoundAt> {
    let (address, question) = text.split_once('/').ok_or_else(|| Error::usage("the form names no question", "load the page again"))?;
    RoundAt::parse(address, question)
}

/// `POST /decline`: shows the chosen questions. With `act=decline`, declines those that were shown.
pub fn decline(visit: &Visit, Extension(posted): Extension<Posted>) -> Result<Response> {
    if posted.get("act") == Some("decline") { declined(visit, &posted) } else { asked(visit, &posted) }
}

fn asked(visit: &Visit, posted: &Posted) -> Result<Response> {
    let chosen: Vec<_> = posted.all("these").map(named).collect::<Result<_>>()?;
    let elsewhere = chosen.iter().filter(|named| named.host.is_some()).count();
    if chosen.is_empty() {
        return Err(Error::usage("no question was chosen", "go back, and choose some"));
    }
    if chosen.len() > MOST || elsewhere > MOST_ELSEWHERE {
        let most = format!("at most {MOST} questions are declined at once, {MOST_ELSEWHERE} of them on other machines");
        return Err(Error::usage(most, "go back, and choose fewer"));
    }
    let (mut questions, mut left_out) = (Vec::new(), Vec::new());
    for named in chosen {
        match whole(visit, &named) {
            Ok(form) => questions.push(form),
            Err(e) => left_out.push((named.address().to_string(), program::message(&e))),
        }
    }
    Ok(reply::html(StatusCode::OK, &DeclinePage { frame: Frame::new(visit, "inbox"), questions, left_out }))
}

/// The whole question, as its own page shows it.
fn whole(visit: &Visit, named: &RoundAt) -> Result<QuestionForm> {
    let over = || Error::not_found("it does not wait any more", "");
    let Some(host) = &named.host else {
        let found = question::find(&visit.site.mailbox, &named.round)?;
        if found.folder != Folder::Pending {
            return Err(over());
        }
        return QuestionForm::new(&visit.site, Some(&visit.site.mailbox), &found, &Filled::default());
    };
    let question = remote_question::waiting(visit, host, &named.round).ok_or_else(over)?;
    let form = QuestionForm::new(&visit.site, None, &answer::as_round(&question)?, &Filled::default())?;
    Ok(QuestionForm { workflow: named.address().to_string(), host: Some(host.to_string()), ..form })
}

fn declined(visit: &Visit, posted: &Posted) -> Result<Response> {
    let why = posted.get("why").unwrap_or_default().trim().replace("\r\n", "\n");
    let mut results = Vec::new();
    for these in posted.all("these").take(MOST) {
        // Each question is named with the hash of what was shown of it.
        let (named, shown) =
            these.split_once(' ').ok_or_else(|| Error::usage("the form does not say what was shown", "load the page again"))?;
        let (named, shown) = (self::named(named)?, shown.parse()?);
        let result = decline_one(visit, &named, shown, PersonsDecision::Decline(why.clone()));
        let is_done = result.is_ok();
        let said = result.unwrap_or_else(|e| format!("not declined: {}", text::one_line(&program::message(&e))));
        let id = named.address().to_string();
        results.push(Declined { path: format!("/q/{id}/{}", named.round.question), id, is_done, said });
    }
    let count = results.iter().filter(|result| result.is_done).count();
    Ok(reply::html(StatusCode::OK, &DeclinedPage { frame: Frame::new(visit, "inbox"), results, count }))
}

fn decline_one(visit: &Visit, named: &RoundAt, shown: Shown, decision: PersonsDecision) -> Result<String> {
    if let Some(host) = &named.host {
        let question = remote_question::waiting(visit, host, &named.round);
        let question: Arc<_> = question.ok_or_else(|| Error::conflict("it does not wait any more", "see how it ended, there"))?;
        if !shown.is_of(&answer::as_round(&question)?.document.typed) {
            return Err(Error::conflict("the question has changed while you read it", "look at it again"));
        }
        let draft = (String::new(), String::new());
        remote_question::offer(visit, &question, decision, draft)?;
        return Ok(format!("sent to {host} to be declined"));
    }
    let person = visit.site.caller(&visit.signed_in, CHANNEL)?;
    let sent = send::send_decision(&visit.site.mailbox, &person, &named.round, shown, decision.clone());
    // Whatever the result, the inbox must show it at once.
    visit.site.index.outdate();
    match sent {
        Ok(_) => Ok("declined".into()),
        // The browser has sent the form twice.
        Err(_) if question::find(&visit.site.mailbox, &named.round).is_ok_and(|found| question::is_this(&found, visit, &decision)) => {
            Ok("declined".into())
        }
        Err(e) => Err(e),
    }
}
