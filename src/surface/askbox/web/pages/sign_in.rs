//! A device signs in with a link, and out.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Extension, Path, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::error::Error;
use crate::surface::askbox::web::gate::{Host, Posted, Secret, SignedIn, set_cookie};
use crate::surface::askbox::web::pages::{files, frame, problem};
use crate::surface::askbox::web::routes::Site;
use crate::surface::program;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignIn {
    /// The name that the device will have, if that was said beforehand.
    device: Option<String>,
    /// What was wrong with the name.
    problem: Option<String>,
    user: String,
    version: &'static str,
}

#[derive(Template)]
#[template(path = "missing.html")]
struct Missing {
    /// The page that was asked for, if the browser came from another site: then it has not sent its cookie.
    again: Option<String>,
    version: &'static str,
}

/// The page for a browser that is not signed in.
pub fn missing(parts: &Parts) -> Response {
    let comes_from_elsewhere = parts.headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site" || site == "same-site");
    let again = comes_from_elsewhere.then(|| parts.uri.path().to_owned());
    frame::reply(StatusCode::UNAUTHORIZED, &Missing { again, version: files::version() })
}

/// `GET /in/LINK`: a button, and nothing else. What shows a preview of a link in a message opens it, too.
pub async fn show(State(site): State<Arc<Site>>, Path(link): Path<String>) -> Response {
    site.page(move |site| {
        let Some(link) = Secret::parse(&link) else { return Ok(used_up()) };
        Ok(site.devices.link(&link)?.map_or_else(used_up, |device| button(device, None)))
    })
    .await
}

fn button(device: Option<String>, problem: Option<String>) -> Response {
    let status = if problem.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    frame::reply(status, &SignIn { device, problem, user: program::user(), version: files::version() })
}

fn used_up() -> Response {
    let words = "A link signs in one device, once, within ten minutes. Make another one on the computer where askbox runs: askbox web link";
    problem::page(StatusCode::GONE, "This link is used up", words)
}

/// `POST /in/LINK`: the button.
pub async fn sign_in(
    State(site): State<Arc<Site>>,
    Path(link): Path<String>,
    Extension(host): Extension<Host>,
    Extension(posted): Extension<Posted>,
) -> Response {
    let lasts = site.session_lasts;
    site.page(move |site| {
        let Some(link) = Secret::parse(&link) else { return Ok(used_up()) };
        let Some(device) = site.devices.link(&link)? else { return Ok(used_up()) };
        let name = device.clone().unwrap_or_else(|| posted.get("device").unwrap_or_default().to_owned());
        match site.devices.sign_in(&link, &name) {
            Ok(Some(cookie)) => {
                let mut response = frame::go_to("/");
                if let Ok(cookie) = set_cookie(&host, Some(&cookie), lasts).parse() {
                    response.headers_mut().insert(header::SET_COOKIE, cookie);
                }
                Ok(response)
            }
            Ok(None) => Ok(used_up()),
            Err(Error::Invalid { problem, fix, .. }) => Ok(button(device, Some(format!("The device {problem}: {fix}.")))),
            Err(e) => Err(e),
        }
    })
    .await
}

/// `POST /out`
pub async fn sign_out(
    State(site): State<Arc<Site>>,
    Extension(host): Extension<Host>,
    Extension(signed_in): Extension<SignedIn>,
) -> Response {
    site.page(move |site| {
        site.devices.sign_out_cookie(&signed_in.cookie)?;
        let mut response = problem::page(StatusCode::OK, "Signed out", "To sign in again, make a link: askbox web link");
        if let Ok(cookie) = set_cookie(&host, None, site.session_lasts).parse() {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        // Drafts that the browser kept go as well.
        response.headers_mut().insert("clear-site-data", header::HeaderValue::from_static("\"storage\""));
        Ok(response.into_response())
    })
    .await
}
