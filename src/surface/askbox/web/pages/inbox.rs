//! The questions that wait.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::surface::askbox::web::index::Row;
use crate::surface::askbox::web::pages::frame::Frame;
use crate::surface::askbox::web::reply;
use crate::surface::askbox::web::site::{Site, Visit};
use crate::time;

/// How many questions a page shows.
const ON_A_PAGE: usize = 40;

/// What of the inbox is shown.
#[derive(Debug, Default, Deserialize)]
pub struct Part {
    /// The words that questions must have.
    #[serde(default)]
    find: String,
    #[serde(default)]
    page: usize,
}

#[derive(Template)]
#[template(path = "inbox.html")]
struct Inbox {
    frame: Frame,
    find: String,
    /// How many questions have these words.
    found: usize,
    cards: Vec<Card>,
    /// What is to be known of other machines.
    notes: Vec<String>,
    /// The first of the shown ones, from 1, and the last.
    from: usize,
    to: usize,
    earlier: Option<usize>,
    later: Option<usize>,
}

struct Card {
    row: Arc<Row>,
    ago: String,
    /// The age of what is known of a machine that is not reached.
    as_of: Option<String>,
    expires: Option<String>,
    is_overdue: bool,
}

/// `/`
pub async fn show(visit: Visit, Query(part): Query<Part>) -> Response {
    let make = move |visit: &Visit| {
        let site = &visit.site;
        let rows = site.rows()?;
        let fitting: Vec<_> = rows.iter().filter(|row| row.fits(&part.find)).collect();
        let last = fitting.len().saturating_sub(1) / ON_A_PAGE;
        let page = part.page.min(last);
        let cards: Vec<_> = fitting.iter().skip(page * ON_A_PAGE).take(ON_A_PAGE).map(|row| card(row)).collect();
        let from = page * ON_A_PAGE;
        Ok(reply::html(
            StatusCode::OK,
            &Inbox {
                frame: Frame::of(visit, "inbox"),
                found: fitting.len(),
                from: from + 1,
                to: from + cards.len(),
                earlier: page.checked_sub(1),
                later: (page < last).then_some(page + 1),
                find: part.find,
                cards,
                notes: site.elsewhere.notes(),
            },
        ))
    };
    visit.page(make).await
}

fn card(row: &Arc<Row>) -> Card {
    let ahead = row.expires_at.map(|at| (at - time::now()).to_std());
    Card {
        ago: time::ago(row.asked_at),
        as_of: row.elsewhere.as_ref().filter(|there| there.is_away).map(|there| time::ago(there.as_of)),
        expires: ahead.and_then(Result::ok).map(time::human),
        is_overdue: !row.is_event && matches!(ahead, Some(Err(_))),
        row: Arc::clone(row),
    }
}

/// `/here`: how many questions wait for a person. A page that is visible asks for it, so that its person counts as present.
pub async fn count(State(site): State<Arc<Site>>) -> Response {
    site.page(|site| Ok(site.waiting()?.to_string().into_response())).await
}
