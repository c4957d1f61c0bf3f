//! The page of a run: its status, and its last events.

use std::collections::VecDeque;

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use crate::pages::outcome::{self, Outcome};
use crate::pages::{Frame, markdown};
use crate::reply;
use crate::site::Visit;
use askbox_agent::events::{Event, EventKind};
use askbox_mailbox::{Error, Folder, Mailbox, Result, RoundId, SessionId, WorkflowId, round, text, time};
use askbox_run::story::Story;
use askbox_run::view::tail::{Next, RoundEvents};
use askbox_watch::relaunch::event_words::{self, Clock};

/// The number of last events that are shown.
const SHOWN: usize = 150;
/// The maximum size of one event's text, in bytes.
const LONGEST: usize = 4 << 10;

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    frame: Frame,
    status: Story,
    /// The round and the answer that the run works on.
    outcome: Option<Outcome>,
    title: String,
    ago: String,
    /// The result as HTML.
    result: Option<String>,
    events: Vec<ShownEvent>,
    is_cut: bool,
    /// True if the workflow has asked again since.
    is_earlier: bool,
    /// The session, if what was said in it can be read.
    session: Option<SessionId>,
}

/// One event in words.
struct ShownEvent {
    at: String,
    what: String,
    said: String,
    is_bad: bool,
}

/// `/run/WORKFLOW`: the newest round.
pub fn show(visit: &Visit, Path(workflow): Path<String>) -> Result<Response> {
    let workflow: WorkflowId = workflow.parse()?;
    let status = visit.site.teller().of_workflow(&workflow)?;
    page(visit, &workflow, status, false)
}

/// `/run/WORKFLOW/QUESTION`: the run of one round, also if the workflow has asked again since.
pub fn show_one(visit: &Visit, Path((workflow, question)): Path<(String, String)>) -> Result<Response> {
    let (mailbox, workflow): (_, WorkflowId) = (&visit.site.mailbox, workflow.parse()?);
    let round = RoundId { workflow: workflow.clone(), question: question.parse()? };
    let teller = visit.site.teller();
    let newest = teller.of_workflow(&workflow)?;
    if newest.question_id == Some(round.question) {
        return page(visit, &workflow, newest, false);
    }
    let gone = || Error::not_found(format!("{workflow} has no question {}", round.question), "it may have been removed: askbox gc");
    let found = round::find(mailbox, &round).ok_or_else(gone)?;
    let typed = &found.document.typed;
    let status = teller.of_round_or_why(found.folder, &round, typed);
    page(visit, &workflow, status, true)
}

fn page(visit: &Visit, workflow: &WorkflowId, status: Story, is_earlier: bool) -> Result<Response> {
    let site = &visit.site;
    let frame = Frame::new(visit, "tree");
    let round = status.question_id.map(|question| RoundId { workflow: workflow.clone(), question });
    let answered = round.as_ref().and_then(|round| round::find(&site.mailbox, round));
    let answered = answered.filter(|found| found.folder != Folder::Pending);
    let outcome = answered.map(|found| Outcome::read(site, &found)).transpose()?;
    let round = round.filter(|_| status.attempt.is_some());
    let (events, is_cut) = round.map_or_else(|| Ok((Vec::new(), false)), |round| last_events(&site.mailbox, round))?;
    let result = status.result.as_deref().map(text::printable).filter(|result| !result.is_empty());
    let page = RunPage {
        frame,
        outcome,
        title: text::excerpt(&status.question, 300),
        ago: time::ago(status.since),
        result: result.map(|result| markdown::to_html(&site.hosts, &result)),
        is_earlier,
        session: status.session_id.filter(|id| matches!(askbox_sessions::file_of_claude(&id.to_string(), None), Ok(Some(_)))),
        status: outcome::printable(status),
        events,
        is_cut,
    };
    Ok(reply::html(StatusCode::OK, &page))
}

/// The last events of a round, from all its attempts. The flag is true if there were more.
fn last_events(mailbox: &Mailbox, round: RoundId) -> Result<(Vec<ShownEvent>, bool)> {
    let (mut events, mut last, mut is_cut) = (RoundEvents::new(mailbox, round, false), VecDeque::new(), false);
    loop {
        match events.read()? {
            Next::Event(_, event) => last.extend(told(&event)),
            Next::Attempt(n) => {
                last.push_back(ShownEvent { at: String::new(), what: "attempt".into(), said: n.to_string(), is_bad: false });
            }
            Next::Nothing => break,
        }
        if last.len() > SHOWN {
            last.pop_front();
            is_cut = true;
        }
    }
    Ok((last.into(), is_cut))
}

fn told(event: &Event) -> Option<ShownEvent> {
    let words = event_words::words(event, Clock::Local);
    let (at, rest) = words.split_once("  ")?;
    let (what, said) = rest.split_once(' ').unwrap_or((rest, ""));
    let is_bad = matches!(event.kind, EventKind::ToolResult { is_error: true, .. } | EventKind::Parked { .. });
    Some(ShownEvent { at: at.to_owned(), what: what.to_owned(), said: text::beginning(said.trim_start(), LONGEST), is_bad })
}
