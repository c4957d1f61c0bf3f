//! The list of waiting questions.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::index::Row;
use crate::pages::Frame;
use crate::reply;
use crate::site::{Site, Visit};
use askbox_mailbox::{Result, time};

/// The number of questions on one page.
const ON_A_PAGE: usize = 40;

/// The part of the inbox that is shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Part {
    /// The words that the questions must contain.
    find: String,
    page: usize,
    /// Set if the person chooses several questions.
    choose: Option<String>,
}

#[derive(Template)]
#[template(path = "inbox.html")]
struct Inbox {
    frame: Frame,
    find: String,
    /// The number of questions that contain these words.
    found: usize,
    cards: Vec<Card>,
    /// Notes about other machines.
    notes: Vec<String>,
    /// The positions of the first and the last shown question, counted from 1.
    from: usize,
    to: usize,
    earlier: Option<usize>,
    later: Option<usize>,
    /// True if the person chooses several questions to decline.
    choose: bool,
}

struct Card {
    row: Arc<Row>,
    ago: String,
    /// The age of the data about a machine that is not reached.
    as_of: Option<String>,
    expires: Option<String>,
    is_overdue: bool,
}

/// `/`
pub fn show(visit: &Visit, Query(part): Query<Part>) -> Result<Response> {
    let site = &visit.site;
    let rows = site.rows()?;
    let fitting: Vec<_> = rows.iter().filter(|row| row.facts.fit(&row.id, &part.find)).collect();
    let last = fitting.len().saturating_sub(1) / ON_A_PAGE;
    let page = part.page.min(last);
    let cards: Vec<_> = fitting.iter().skip(page * ON_A_PAGE).take(ON_A_PAGE).map(|row| card(row)).collect();
    let from = page * ON_A_PAGE;
    Ok(reply::html(
        StatusCode::OK,
        &Inbox {
            frame: Frame::new(visit, "inbox"),
            found: fitting.len(),
            from: from + 1,
            to: from + cards.len(),
            earlier: page.checked_sub(1),
            later: (page < last).then_some(page + 1),
            find: part.find,
            choose: part.choose.is_some(),
            cards,
            notes: site.elsewhere.notes(),
        },
    ))
}

fn card(row: &Arc<Row>) -> Card {
    let ahead = row.facts.expires_at.map(|at| (at - time::now()).to_std());
    Card {
        ago: time::ago(row.facts.asked_at),
        as_of: row.elsewhere.as_ref().filter(|there| there.is_away).map(|there| time::ago(there.as_of)),
        expires: ahead.and_then(Result::ok).map(time::human),
        is_overdue: !row.facts.is_event && matches!(ahead, Some(Err(_))),
        row: Arc::clone(row),
    }
}

/// `/here`: the number of questions that wait for a person. A visible page requests it regularly, so that its person counts as present.
pub async fn count(State(site): State<Arc<Site>>) -> Response {
    site.page(|site| Ok(site.waiting()?.to_string().into_response())).await
}
