//! The page on which a question is answered, wherever it waits.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::error::{Error, Result};
use crate::mailbox::documents::fields::shown_hash::Shown;
use crate::surface::askbox::web::gate::Posted;
use crate::surface::askbox::web::index::Row;
use crate::surface::askbox::web::pages::asked::Asked;
use crate::surface::askbox::web::pages::frame::Frame;
use crate::surface::askbox::web::reply;
use crate::surface::askbox::web::site::Visit;

#[derive(Template)]
#[template(path = "question.html")]
struct QuestionPage {
    frame: Frame,
    asked: Asked,
    /// What is missing, or wrong.
    problem: Option<String>,
}

/// The page; with what is missing in the form, or wrong.
pub fn form(visit: &Visit, asked: Asked, problem: Option<String>) -> Result<Response> {
    let status = if problem.is_some() || asked.is_open() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let frame = Frame::of(visit, "");
    // Another machine launches what is answered there.
    let frame = Frame { no_watcher: frame.no_watcher && asked.host.is_none(), ..frame };
    Ok(reply::html(status, &QuestionPage { frame, asked, problem }))
}

/// The hash of what was shown, as a form carries it.
pub fn shown(posted: &Posted) -> Result<Shown> {
    let shown = posted.get("shown").and_then(|shown| shown.parse().ok());
    shown.ok_or_else(|| Error::usage("the form does not say which question was shown", "load the page again"))
}

/// The question that waits next, and is not this one: where it is, and its title.
pub fn next(visit: &Visit, but: Option<&str>) -> Result<Option<(String, String)>> {
    let rows = visit.site.rows()?;
    let is_next = |row: &&Arc<Row>| {
        let is_away = row.elsewhere.as_ref().is_some_and(|there| there.is_away);
        !row.is_event && !is_away && row.question.is_some() && but != Some(row.id.as_str())
    };
    let next = rows.iter().find(is_next);
    Ok(next.and_then(|row| Some((format!("/q/{}/{}", row.id, row.question?), row.title.clone()))))
}
