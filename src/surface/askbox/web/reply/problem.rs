//! What went wrong.

use askama::Template;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;

use crate::error::Error;
use crate::surface::askbox::web::reply::{files, html};
use crate::surface::program;

#[derive(Template)]
#[template(path = "problem.html")]
struct Problem<'a> {
    title: &'a str,
    words: &'a str,
    version: &'static str,
}

#[derive(Template)]
#[template(path = "missing.html")]
struct Missing {
    /// The page that was asked for, if the browser came from another site: then it has not sent its cookie.
    again: Option<String>,
    version: &'static str,
}

/// A page that says what went wrong.
pub fn page(status: StatusCode, title: &str, words: &str) -> Response {
    html(status, &Problem { title, words, version: files::version() })
}

/// The page for a browser that is not signed in.
pub fn not_signed_in(parts: &Parts) -> Response {
    let comes_from_elsewhere = parts.headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site" || site == "same-site");
    let again = comes_from_elsewhere.then(|| parts.uri.path().to_owned());
    html(StatusCode::UNAUTHORIZED, &Missing { again, version: files::version() })
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
