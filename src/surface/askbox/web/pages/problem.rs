//! What went wrong.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::error::Error;
use crate::surface::askbox::web::pages::{files, frame};
use crate::surface::program;

#[derive(Template)]
#[template(path = "problem.html")]
struct Problem<'a> {
    title: &'a str,
    words: &'a str,
    version: &'static str,
}

/// A page that says what went wrong.
pub fn page(status: StatusCode, title: &str, words: &str) -> Response {
    frame::reply(status, &Problem { title, words, version: files::version() })
}

/// A page for an error.
pub fn of(error: &Error) -> Response {
    let (status, title) = match error {
        Error::NotFound { .. } => (StatusCode::NOT_FOUND, "Not there"),
        Error::Conflict { .. } => (StatusCode::CONFLICT, "Too late"),
        Error::Invalid { .. } | Error::Usage { .. } | Error::Newer { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "Cannot be used"),
        Error::Held { .. } | Error::Waiting { .. } => (StatusCode::SERVICE_UNAVAILABLE, "Busy"),
        Error::Io { .. } | Error::Failed { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "Failed"),
    };
    let mut words = program::message(error);
    if let Some(first) = words.get(..1) {
        words = format!("{}{}.", first.to_uppercase(), &words[1..]);
    }
    page(status, title, &words)
}

/// The same without a page.
pub fn plain(status: StatusCode, words: &str) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], format!("{words}\n")).into_response()
}
