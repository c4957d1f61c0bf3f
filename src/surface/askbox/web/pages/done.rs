//! What became of the last questions.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::mailbox::documents::question::Content;
use crate::mailbox::listing::past_rounds;
use crate::surface::askbox::web::pages::frame::Frame;
use crate::surface::askbox::web::pages::outcome::Outcome;
use crate::surface::askbox::web::reply;
use crate::surface::askbox::web::site::Visit;

/// How many rounds are shown, the newest first.
const SHOWN: usize = 50;

#[derive(Template)]
#[template(path = "done.html")]
struct DonePage {
    frame: Frame,
    outcomes: Vec<Outcome>,
}

/// `/done`
pub async fn show(visit: Visit) -> Response {
    let make = |visit: &Visit| {
        let site = &visit.site;
        let found = past_rounds::newest_first(&site.mailbox, None, None, Some(2 * SHOWN));
        let rounds = found.filter_map(|found| found.ok()?.read(&site.mailbox).ok().flatten());
        // Tasks and results of other workflows are nothing that a person answered.
        let questions = rounds.filter(|round| matches!(round.document.typed.content(), Content::Question));
        let outcomes = questions.filter_map(|round| Outcome::of(&site.mailbox, &round).ok()).take(SHOWN).collect();
        Ok(reply::html(StatusCode::OK, &DonePage { frame: Frame::of(visit, "done"), outcomes }))
    };
    visit.page(make).await
}
