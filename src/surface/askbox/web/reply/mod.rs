//! What every reply is made of: pages, redirects, what went wrong, and the files that all pages share.
//!
//! | file | idea |
//! |---|---|
//! | `files` | style, script, icons |
//! | `problem` | pages that say what went wrong, and that nobody is signed in |

pub mod files;
pub mod problem;

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};

/// A page.
pub fn html(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response(),
        Err(e) => plain(StatusCode::INTERNAL_SERVER_ERROR, &format!("the page cannot be made: {e}")),
    }
}

/// Words without a page.
pub fn plain(status: StatusCode, words: &str) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], format!("{words}\n")).into_response()
}

/// Leads to another page after a form.
pub fn go_to(path: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, path.to_owned())]).into_response()
}

/// What a page may do: nothing but with its own script, style and forms.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; \
                          form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The headers of every reply.
pub fn protecting() -> [(HeaderName, &'static str); 9] {
    [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
        (HeaderName::from_static("x-robots-tag"), "noindex"),
    ]
}

/// Gives a reply these headers. What was set before stays: files that are the same for everybody may be kept by the browser.
pub fn protect(headers: &mut HeaderMap) {
    for (name, value) in protecting() {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}
