//! Signs a device in with a link, and out.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;

use crate::gate::{Host, Posted, Secret, SignedIn, browser, set_cookie};
use crate::reply;
use crate::site::{Site, Visit};
use askbox_cli::program;
use askbox_mailbox::{Error, Result};

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignIn {
    /// The name that the device will get, if it was set beforehand.
    device: Option<String>,
    /// The problem with the name, if there is one.
    problem: Option<String>,
    user: String,
    version: &'static str,
}

/// `GET /in/LINK`: shows only a button. A program that shows a preview of a link in a message also opens the link, and must not use it up.
pub async fn show(State(site): State<Arc<Site>>, Path(link): Path<String>) -> Response {
    site.page(move |site| {
        let Some(link) = Secret::parse(&link) else { return Ok(used_up()) };
        Ok(site.devices.link(&link)?.map_or_else(used_up, |device| button(device, None)))
    })
    .await
}

fn button(device: Option<String>, problem: Option<String>) -> Response {
    let status = if problem.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    reply::html(status, &SignIn { device, problem, user: program::user(), version: reply::files_version() })
}

fn used_up() -> Response {
    let words = "A link signs in one device, once, within ten minutes. Make another one on the computer where askbox runs: askbox web link";
    reply::problem_page("", StatusCode::GONE, "This link is used up", words)
}

/// `POST /in/LINK`: the button.
pub async fn sign_in(
    State(site): State<Arc<Site>>,
    Path(link): Path<String>,
    Extension(host): Extension<Host>,
    headers: HeaderMap,
    Extension(posted): Extension<Posted>,
) -> Response {
    let lasts = site.session_lasts;
    site.page(move |site| {
        let Some(link) = Secret::parse(&link) else { return Ok(used_up()) };
        let Some(device) = site.devices.link(&link)? else { return Ok(used_up()) };
        let name = device.clone().unwrap_or_else(|| posted.get("device").unwrap_or_default().to_owned());
        match site.devices.sign_in(&link, &name, &browser(&headers), site.own_key().ok().flatten().as_ref()) {
            Ok(Some(cookie)) => {
                let mut response = reply::go_to(&format!("{}/", cookie.home()));
                if let Ok(cookie) = set_cookie(&host, &cookie, lasts).parse() {
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
pub fn sign_out(visit: &Visit, Extension(host): Extension<Host>) -> Result<Response> {
    let SignedIn { cookie, home, .. } = &visit.signed_in;
    visit.site.devices.sign_out_cookie(cookie)?;
    let mut response = reply::problem_page(home, StatusCode::OK, "Signed out", "To sign in again, make a link: askbox web link");
    if let Ok(cookie) = set_cookie(&host, cookie, Duration::ZERO).parse() {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    // The drafts in the browser are removed too.
    response.headers_mut().insert("clear-site-data", header::HeaderValue::from_static("\"storage\""));
    Ok(response)
}
