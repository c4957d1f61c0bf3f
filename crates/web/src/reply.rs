//! The parts of replies: pages, redirects, pages for errors, and the style, script and icons that all pages share.

use std::sync::LazyLock;

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use uuid::Uuid;

use askbox_cli::program;
use askbox_mailbox::{Error, MediaType};

/// A page.
pub fn html(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response(),
        Err(e) => plain(StatusCode::INTERNAL_SERVER_ERROR, &format!("the page cannot be made: {e}")),
    }
}

/// A reply of plain text, without a page.
pub fn plain(status: StatusCode, words: &str) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], format!("{words}\n")).into_response()
}

/// An image that an agent attached. Its type is the one that its bytes have.
pub fn image(kind: MediaType, bytes: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, kind.name()), (header::CONTENT_DISPOSITION, "inline")], bytes).into_response()
}

/// Redirects to another page.
pub fn go_to(path: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, path.to_owned())]).into_response()
}

/// The content security policy: a page may use only its own script, style and forms.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; \
                          form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The headers of every reply.
pub fn protecting() -> [(HeaderName, &'static str); 9] {
    [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
        // Browsers send `null` as the origin of a form if its page forbids the referrer to its own server too.
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
        (HeaderName::from_static("x-robots-tag"), "noindex"),
    ]
}

/// Adds these headers to a reply. Headers that are already set stay: the browser may cache files that are the same for everybody.
pub fn protect(headers: &mut HeaderMap) {
    for (name, value) in protecting() {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

#[derive(Template)]
#[template(path = "problem.html")]
struct Problem<'a> {
    home: &'a str,
    title: &'a str,
    words: &'a str,
    version: &'static str,
}

#[derive(Template)]
#[template(path = "missing.html")]
struct Missing {
    /// The page that was requested, if the browser came from another site. The browser has then not sent its cookie.
    again: Option<String>,
    /// True if the page lies below the path of a device.
    is_below: bool,
    version: &'static str,
}

/// A page with an error in words, for a device with this path.
pub fn problem_page(home: &str, status: StatusCode, title: &str, words: &str) -> Response {
    html(status, &Problem { home, title, words, version: files_version() })
}

/// The page for a browser without a valid session.
pub fn not_signed_in(parts: &Parts) -> Response {
    let comes_from_elsewhere = parts.headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site" || site == "same-site");
    let is_below = parts.uri.path().starts_with("/d/");
    let again = (comes_from_elsewhere && is_below).then(|| parts.uri.path().to_owned());
    html(StatusCode::UNAUTHORIZED, &Missing { again, is_below, version: files_version() })
}

/// The page for an error.
pub fn error_page(home: &str, error: &Error) -> Response {
    let (status, title) = match error {
        Error::NotFound { .. } => (StatusCode::NOT_FOUND, "Not there"),
        Error::Conflict { .. } => (StatusCode::CONFLICT, "Too late"),
        Error::Invalid { .. } | Error::Usage { .. } | Error::Newer { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "Cannot be used"),
        Error::Held { .. } | Error::Waiting { .. } => (StatusCode::SERVICE_UNAVAILABLE, "Busy"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "Failed"),
    };
    let mut words = program::message(error);
    if let Some(first) = words.get(..1) {
        words = format!("{}{}.", first.to_uppercase(), &words[1..]);
    }
    problem_page(home, status, title, &words)
}

/// The files of the page: the name, the media type and the bytes.
const FILES: [(&str, &str, &[u8]); 9] = [
    ("style.css", "text/css; charset=utf-8", include_bytes!("static/style.css")),
    ("page.js", SCRIPT, include_bytes!("static/page.js")),
    ("form.js", SCRIPT, include_bytes!("static/form.js")),
    ("list.js", SCRIPT, include_bytes!("static/list.js")),
    ("door.js", SCRIPT, include_bytes!("static/door.js")),
    ("icon.svg", "image/svg+xml", include_bytes!("static/icon.svg")),
    ("icon-180.png", "image/png", include_bytes!("static/icon-180.png")),
    ("icon-512.png", "image/png", include_bytes!("static/icon-512.png")),
    ("manifest.json", "application/manifest+json", include_bytes!("static/manifest.json")),
];
const SCRIPT: &str = "text/javascript; charset=utf-8";

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let all = FILES.map(|(_, _, bytes)| bytes).concat();
    Uuid::new_v5(&Uuid::NAMESPACE_OID, &all).simple().to_string().split_off(24)
});

/// A word that changes with the files. It is part of their addresses.
pub fn files_version() -> &'static str {
    &VERSION
}

/// `/static/FILE`
pub async fn static_file(Path(file): Path<String>) -> Response {
    let Some((_, kind, bytes)) = FILES.into_iter().find(|(name, ..)| *name == file) else {
        return plain(StatusCode::NOT_FOUND, "there is no such file");
    };
    // The address of a file changes with its content, so a browser may keep the file for a year.
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")], bytes).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_of_the_page_are_small_and_fetch_nothing() {
        let texts = FILES.map(|(name, kind, bytes)| (name, kind, std::str::from_utf8(bytes).unwrap_or_default()));
        let scripts = texts.iter().filter(|(_, kind, _)| *kind == SCRIPT);
        assert!(scripts.map(|(.., script)| script.len()).sum::<usize>() <= 16 << 10);
        for (_, _, text) in texts.iter().filter(|(name, ..)| *name != "icon.svg") {
            assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("eval"), "{text}");
        }
    }
}
