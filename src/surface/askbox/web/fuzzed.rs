//! For `fuzz/`: what a browser, or whoever pretends to be one, sends to the page.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use axum::Form;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_TYPE, COOKIE, HeaderMap, HeaderValue};

use crate::config;
use crate::mailbox::{AnswerValue, Question};
use crate::surface::askbox::web::form::{Done, Filled};
use crate::surface::askbox::web::gate::{self, Hosts, Posted};
use crate::surface::person::decision::Decision;

/// What a person decided by a form, if that leaves nothing open: an answer, else what else was pressed.
#[derive(Debug)]
pub enum Decided {
    /// This answer, with this note.
    Answer(AnswerValue, String),
    /// Something else.
    Other,
}

/// Reads the body of a form for this question.
#[must_use]
pub fn decided(question: &Question, body: &[u8]) -> Option<Decided> {
    let mut request = Request::post("/").body(Body::from(body.to_vec())).ok()?;
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    let read = pin!(Form::<Vec<(String, String)>>::from_request(request, &()));
    // The body is there as a whole: nothing has to be waited for.
    let Poll::Ready(read) = read.poll(&mut Context::from_waker(Waker::noop())) else { return None };
    let posted = Posted(read.ok()?.0);
    let mut filled = Filled::read(question, &posted);
    let _ = (filled.written(), filled.chosen(question));
    match filled.decide(question) {
        Done::Decided(Decision::Answer(value, note)) => Some(Decided::Answer(value, note)),
        Done::Decided(_) => Some(Decided::Other),
        Done::LeftOpen(_) => None,
    }
}

/// The secret of a request's cookie, if the page may be asked for under this name.
#[must_use]
pub fn secret(hosts: &config::Web, host: &str, cookie: &[u8]) -> Option<String> {
    let host = Hosts::new(hosts).known(host)?;
    let mut headers = HeaderMap::new();
    headers.insert(COOKIE, HeaderValue::from_bytes(cookie).ok()?);
    Some(gate::cookie(&host, &headers)?.expose().to_owned())
}

/// Whether a form of this origin is taken under this name of the page.
#[must_use]
pub fn is_taken(hosts: &config::Web, host: &str, origin: Option<&str>, fetch_site: Option<&str>) -> bool {
    let hosts = Hosts::new(hosts);
    hosts.known(host).is_some_and(|host| hosts.is_ours(&host, origin, fetch_site))
}
