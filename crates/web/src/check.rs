//! The one check before all routing. It checks the host, then the session, and for a form its origin and its token. It takes the device's
//! path off a request, so the router knows only the paths below it. Headers that another server adds about a request's way
//! (`X-Forwarded-…`, `Forwarded`) are never read.

use std::sync::Arc;
use std::time::Duration;

use axum::Form;
use axum::body::Body;
use axum::extract::{ConnectInfo, FromRequest, Request, State};
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use crate::gate::{Host, Posted, SignedIn, browser, cookies, is_same, set_cookie};
use crate::listen::Caller;
use crate::reply::{self, plain};
use crate::site::Site;

/// The maximum time that a browser may take to send a form.
const FORM_WITHIN: Duration = Duration::from_secs(30);

/// Lets a request pass, or refuses it. Every reply gets the headers that protect it.
pub async fn check(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let mut response = match admit(&site, request).await {
        Ok(request) => {
            let renewed = request.extensions().get::<Renewed>().cloned();
            let mut response = next.run(request).await;
            // A reply that signs the device in or out has the last word.
            if let Some(Renewed(cookie)) = renewed {
                response.headers_mut().entry(header::SET_COOKIE).or_insert(cookie);
            }
            response
        }
        Err(refused) => *refused,
    };
    reply::protect(response.headers_mut());
    response
}

/// The cookie of a device that is in use, given again so that it lasts from now on.
#[derive(Debug, Clone)]
struct Renewed(HeaderValue);

async fn admit(site: &Arc<Site>, request: Request) -> Result<Request, Box<Response>> {
    let (mut parts, body) = request.into_parts();
    // The path of the device in the path of the request, `/d/SECRET` or nothing, and the rest.
    let all = parts.uri.path();
    let end = all.strip_prefix("/d/").and_then(|rest| rest.find('/')).map_or(0, |length| "/d/".len() + length);
    let (home, path) = (all[..end].to_owned(), all[end..].to_owned());
    let refuse = |status, title: &str, words: &str| Err(Box::new(reply::problem_page(&home, status, title, words)));
    let Some(host) = host(site, &parts) else {
        return refuse(
            StatusCode::MISDIRECTED_REQUEST,
            "Not under this name",
            "The page is not to be had under this name. Names beside localhost are listed in web.hosts of the configuration.",
        );
    };
    let is_form = match parts.method {
        Method::GET | Method::HEAD => false,
        Method::POST => true,
        _ => return refuse(StatusCode::METHOD_NOT_ALLOWED, "Not allowed", "The page is read, or a form is sent; nothing else."),
    };
    // A hidden page and a stream follow the mailbox by themselves. Only a page that somebody may see is in use.
    let is_used = path != "/events" && !parts.headers.contains_key("askbox-hidden");
    let signed_in = match home.is_empty() && (path.starts_with("/in/") || path.starts_with("/static/")) {
        true => None,
        false => match signed_in(site, &host, &home, &parts.headers, is_used).await {
            Some((signed_in, renewed)) => {
                if let Some(renewed) = renewed {
                    parts.extensions.insert(renewed);
                }
                Some(signed_in)
            }
            None => return Err(Box::new(reply::not_signed_in(&parts))),
        },
    };
    if signed_in.is_some()
        && let Some(ConnectInfo(caller)) = parts.extensions.get::<ConnectInfo<Caller>>()
    {
        // This comes before the form is read, because the form may be long.
        caller.is_signed_in();
    }
    // Reject a header that is not text. Reject a repeated header too: a server in front may have checked the other copy.
    let header = |name: &str| {
        let mut values = parts.headers.get_all(name).iter();
        let (first, second) = (values.next(), values.next());
        first.map(|value| value.to_str().ok().filter(|_| second.is_none()).unwrap_or("?"))
    };
    if is_form && !site.hosts.is_ours(&host, header("origin"), header("sec-fetch-site")) {
        let words = "The form does not come from this page, or the browser does not say so. Nothing was sent. If a server with TLS stands in \
                     front: web.tls_in_front in the configuration says so.";
        return refuse(StatusCode::FORBIDDEN, "Refused", words);
    }
    if is_form && path != "/out" && signed_in.as_ref().is_some_and(|signed_in| signed_in.is_elsewhere) {
        let words = "This session belongs to another browser, so it only reads here. Nothing was sent. To decide, sign this browser in with a \
                     link of its own. Make one on the computer where askbox runs: askbox web link";
        return refuse(StatusCode::FORBIDDEN, "Sign in again", words);
    }
    if is_form {
        let fields = fields(&parts, body, signed_in.as_ref()).await?;
        parts.extensions.insert(fields);
    }
    if let Some(signed_in) = signed_in {
        if is_used {
            site.onlooker.is_there();
        }
        parts.extensions.insert(signed_in);
    }
    parts.extensions.insert(host);
    let below = parts.uri.path_and_query().and_then(|all| all.as_str().get(home.len()..)).and_then(|below| below.parse().ok());
    parts.uri = below.unwrap_or_default();
    Ok(Request::from_parts(parts, Body::empty()))
}

/// The page's name in the request, if there is exactly one and it is known.
fn host(site: &Site, parts: &Parts) -> Option<Host> {
    let mut names = parts.headers.get_all(header::HOST).iter();
    let (Some(name), None, None) = (names.next(), names.next(), parts.uri.authority()) else { return None };
    site.hosts.known(name.to_str().ok()?)
}

/// The device that sent the request, and its cookie if that is given again. The cookie and the path must belong together.
async fn signed_in(site: &Arc<Site>, host: &Host, home: &str, headers: &HeaderMap, is_used: bool) -> Option<(SignedIn, Option<Renewed>)> {
    let cookie = cookies(host, headers).find(|cookie| is_same(&cookie.home(), home))?;
    let (looked, browser) = (cookie.clone(), browser(headers));
    let look = move |site: &Site| {
        let Some(device) = site.devices.of_cookie(&looked)? else { return Ok(None) };
        let is_elsewhere = !device.is_in(&browser);
        let is_renewed = is_used && !is_elsewhere && site.devices.is_used(&device);
        Ok(Some((device.name, is_elsewhere, is_renewed)))
    };
    match site.off_thread(look).await {
        Ok(found) => {
            let (device, is_elsewhere, is_renewed) = found?;
            let again = is_renewed.then(|| set_cookie(host, &cookie, site.session_lasts).parse().ok().map(Renewed)).flatten();
            Some((SignedIn { device, form_token: cookie.form_token(), home: home.to_owned(), is_elsewhere, cookie }, again))
        }
        Err(e) => {
            tracing::warn!("nobody can be signed in: {e}");
            None
        }
    }
}

/// Reads the form. A form from a signed-in device must carry the token of its session.
async fn fields(parts: &Parts, body: Body, signed_in: Option<&SignedIn>) -> Result<Posted, Box<Response>> {
    let home = signed_in.map_or("", |signed_in| &signed_in.home);
    let read = Form::<Vec<(String, String)>>::from_request(Request::from_parts(parts.clone(), body), &());
    let fields = match tokio::time::timeout(FORM_WITHIN, read).await {
        Ok(Ok(Form(fields))) => Posted(fields),
        Ok(Err(e)) => {
            let words = format!("The form cannot be read: {}. Nothing was sent. An answer may be 2 MB long.", e.body_text());
            return Err(Box::new(reply::problem_page(home, e.status(), "Cannot be read", &words)));
        }
        Err(_) => return Err(Box::new(plain(StatusCode::REQUEST_TIMEOUT, "the form took too long"))),
    };
    if let Some(signed_in) = signed_in
        && !signed_in.sent(&fields)
    {
        let words = "The form is not one of this session: perhaps you signed in again meanwhile. Nothing was sent. Go back, load the page again, \
                     and send it from there.";
        return Err(Box::new(reply::problem_page(home, StatusCode::FORBIDDEN, "Refused", words)));
    }
    Ok(fields)
}
