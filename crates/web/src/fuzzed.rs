//! Input for `fuzz/`: forms and cookies that a browser sends to the page, or a program that pretends to be one.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use axum::Form;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_TYPE, COOKIE, HeaderMap, HeaderValue};

use crate::form::{Done, Filled};
use crate::gate::{self, Hosts, Posted};
use askbox_cli::PersonsDecision;
use askbox_config as config;
use askbox_mailbox::{AnswerValue, Question};

/// The decision of a complete form.
pub enum Decided {
    /// An answer with this value and this note.
    Answer(AnswerValue, String),
    /// Any other decision.
    Other,
}

/// Reads the body of a form for this question. `None` if the form leaves something open.
pub fn decided(question: &Question, body: &[u8]) -> Option<Decided> {
    let mut request = Request::post("/").body(Body::from(body.to_vec())).ok()?;
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    let read = pin!(Form::<Vec<(String, String)>>::from_request(request, &()));
    // The whole body is there, so reading it never waits.
    let Poll::Ready(read) = read.poll(&mut Context::from_waker(Waker::noop())) else { return None };
    let posted = Posted(read.ok()?.0);
    let mut filled = Filled::read(question, &posted);
    let _ = (filled.written(), filled.chosen(question));
    match filled.decide(question) {
        Done::Decided(PersonsDecision::Answer(value, note)) => Some(Decided::Answer(value, note)),
        Done::Decided(_) => Some(Decided::Other),
        Done::LeftOpen(_) | Done::Change(_) => None,
    }
}

/// The secret of a request's cookie, if this host is one of the page's names.
pub fn secret(hosts: &config::Web, host: &str, cookie: &[u8]) -> Option<String> {
    let host = Hosts::new(hosts).known(host)?;
    let mut headers = HeaderMap::new();
    headers.insert(COOKIE, HeaderValue::from_bytes(cookie).ok()?);
    Some(gate::cookies(&host, &headers).next()?.expose().to_owned())
}

/// True if a form with this origin is accepted under this name of the page.
pub fn is_taken(hosts: &config::Web, host: &str, origin: Option<&str>, fetch_site: Option<&str>) -> bool {
    let hosts = Hosts::new(hosts);
    hosts.known(host).is_some_and(|host| hosts.is_ours(&host, origin, fetch_site))
}
