//! The page of a run: its status, and its last events.

use std::collections::VecDeque;

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use crate::pages::Frame;
use crate::pages::outcome::Outcome;
use crate::reply;
use crate::site::Visit;
use askbox_agent::events::{Event, EventKind};
use askbox_mailbox::error::Result;
use askbox_mailbox::id::{RoundId, WorkflowId};
use askbox_mailbox::{Folder, Mailbox, round, text, time};
use askbox_run::view::status::{self, Standing, Status};
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
    workflow: String,
    status: Status,
    state: &'static str,
    /// The round and the answer that the run works on.
    outcome: Option<Outcome>,
    title: String,
    ago: String,
    now: Option<String>,
    why: Option<String>,
    todo: Option<String>,
    result: Option<String>,
    cost: Option<String>,
    question: Option<String>,
    events: Vec<ShownEvent>,
    is_cut: bool,
    goes_on: bool,
}

/// One event in words.
struct ShownEvent {
    at: String,
    what: String,
    said: String,
    is_bad: bool,
}

/// `/run/WORKFLOW`
pub async fn show(visit: Visit, Path(workflow): Path<String>) -> Response {
    let make = move |visit: &Visit| {
        let site = &visit.site;
        let workflow: WorkflowId = workflow.parse()?;
        let status = status::of_workflow(&site.mailbox, &workflow)?;
        let round = status.question_id.map(|question| RoundId { workflow: workflow.clone(), question });
        let answered = round.as_ref().and_then(|round| round::find(&site.mailbox, round));
        let answered = answered.filter(|found| found.folder != Folder::Pending);
        let outcome = answered.map(|found| Outcome::read(&site.mailbox, &found)).transpose()?;
        let round = round.filter(|_| status.attempt.is_some());
        let (events, is_cut) = round.map_or_else(|| Ok((Vec::new(), false)), |round| last_events(&site.mailbox, round))?;
        let shown = |text: &Option<String>| text.as_deref().map(text::printable).filter(|text| !text.is_empty());
        let page = RunPage {
            frame: Frame::new(visit, "tree"),
            workflow: workflow.to_string(),
            state: status.state.word(),
            outcome,
            title: text::excerpt(&status.question, 300),
            ago: time::ago(status.since),
            now: status.live.as_ref().filter(|_| status.state == Standing::Running).map(|live| text::one_line(&live.words)),
            why: shown(&status.why),
            todo: shown(&status.todo),
            result: shown(&status.result),
            cost: status.cost_usd.map(|usd| format!("${usd:.4}")),
            question: status.question_id.map(|id| id.to_string()),
            goes_on: status.state.is_open() && !matches!(status.state, Standing::Parked | Standing::Interrupted),
            status,
            events,
            is_cut,
        };
        Ok(reply::html(StatusCode::OK, &page))
    };
    visit.page(make).await
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
