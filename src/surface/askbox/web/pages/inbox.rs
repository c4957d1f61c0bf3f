//! The questions that wait.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Extension, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::surface::askbox::web::gate::SignedIn;
use crate::surface::askbox::web::index::Row;
use crate::surface::askbox::web::pages::frame::{self, Frame};
use crate::surface::askbox::web::routes::Site;
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
    /// The first of the shown ones, from 1, and the last.
    from: usize,
    to: usize,
    earlier: Option<usize>,
    later: Option<usize>,
}

struct Card {
    row: Arc<Row>,
    ago: String,
    expires: Option<String>,
    is_overdue: bool,
}

/// `/`
pub async fn show(State(site): State<Arc<Site>>, Extension(signed_in): Extension<SignedIn>, Query(part): Query<Part>) -> Response {
    site.page(move |site| {
        let rows = site.index.rows(&site.mailbox)?;
        let fitting: Vec<_> = rows.iter().filter(|row| row.fits(&part.find)).collect();
        let last = fitting.len().saturating_sub(1) / ON_A_PAGE;
        let page = part.page.min(last);
        let cards: Vec<_> = fitting.iter().skip(page * ON_A_PAGE).take(ON_A_PAGE).map(|row| card(row)).collect();
        let from = page * ON_A_PAGE;
        Ok(frame::reply(
            StatusCode::OK,
            &Inbox {
                frame: Frame::of(site, &signed_in, "inbox"),
                found: fitting.len(),
                from: from + 1,
                to: from + cards.len(),
                earlier: page.checked_sub(1),
                later: (page < last).then_some(page + 1),
                find: part.find,
                cards,
            },
        ))
    })
    .await
}

fn card(row: &Arc<Row>) -> Card {
    let ahead = row.expires_at.map(|at| (at - time::now()).to_std());
    Card {
        ago: frame::ago(row.asked_at),
        expires: ahead.and_then(Result::ok).map(time::human),
        is_overdue: !row.is_event && matches!(ahead, Some(Err(_))),
        row: Arc::clone(row),
    }
}

/// `/here`: how many questions wait for a person. A page that is visible asks for it, so that its person counts as present.
pub async fn count(State(site): State<Arc<Site>>) -> Response {
    site.page(|site| {
        let waiting = site.index.rows(&site.mailbox)?.iter().filter(|row| !row.is_event).count();
        Ok(waiting.to_string().into_response())
    })
    .await
}
