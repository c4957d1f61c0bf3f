//! The one check before all routing, in this order: the host, the session, for a form its origin, and its token. What another server writes
//! into a request about its way here (`X-Forwarded-…`, `Forwarded`) is never read.

use std::sync::Arc;
use std::time::Duration;

use axum::Form;
use axum::body::Body;
use axum::extract::{FromRequest, Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::surface::askbox::web::gate::hosts::Host;
use crate::surface::askbox::web::gate::secret::{self, Secret};
use crate::surface::askbox::web::pages::{problem, sign_in};
use crate::surface::askbox::web::routes::Site;

/// How long a browser may take to send a form.
const FORM_WITHIN: Duration = Duration::from_secs(30);

/// The device that a request comes from.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// Its name.
    pub device: String,
    /// The token that its forms carry.
    pub form_token: String,
    /// The cookie's secret.
    pub cookie: Secret,
}

/// The fields of a form that was checked.
#[derive(Debug, Clone, Default)]
pub struct Posted(pub Vec<(String, String)>);

impl Posted {
    /// The first field of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All fields of this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Lets a request pass, or refuses it. Every reply gets the headers that protect it.
pub async fn check(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let mut response = match admit(&site, request).await {
        Ok(request) => next.run(request).await,
        Err(refused) => *refused,
    };
    protect(response.headers_mut());
    response
}

async fn admit(site: &Arc<Site>, request: Request) -> Result<Request, Box<Response>> {
    let refuse = |status, title: &str, words: &str| Err(Box::new(problem::page(status, title, words)));
    let (mut parts, body) = request.into_parts();
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
    let signed_in = match is_open_to_all(parts.uri.path()) {
        true => None,
        false => match signed_in(site, &host, &parts.headers).await {
            Some(signed_in) => Some(signed_in),
            None => return Err(Box::new(sign_in::missing(&parts))),
        },
    };
    // A value that is no text is one that is not ours.
    let header = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if is_form && !site.hosts.is_ours(&host, header("origin"), header("sec-fetch-site")) {
        let words = "The form does not come from this page, or the browser does not say so. Nothing was sent.";
        return refuse(StatusCode::FORBIDDEN, "Refused", words);
    }
    if is_form {
        let fields = fields(&parts, body, signed_in.as_ref()).await?;
        parts.extensions.insert(fields);
    }
    if let Some(signed_in) = signed_in {
        if parts.uri.path() != "/events" && !parts.headers.contains_key("askbox-hidden") {
            site.onlooker.is_there();
        }
        parts.extensions.insert(signed_in);
    }
    parts.extensions.insert(host);
    Ok(Request::from_parts(parts, Body::empty()))
}

/// The name under which the page is asked for, if there is exactly one and it is known.
fn host(site: &Site, parts: &Parts) -> Option<Host> {
    let mut names = parts.headers.get_all(header::HOST).iter();
    let (Some(name), None, None) = (names.next(), names.next(), parts.uri.authority()) else { return None };
    site.hosts.known(name.to_str().ok()?)
}

/// What a browser needs before it is signed in.
fn is_open_to_all(path: &str) -> bool {
    path.starts_with("/in/") || path.starts_with("/static/")
}

async fn signed_in(site: &Arc<Site>, host: &Host, headers: &HeaderMap) -> Option<SignedIn> {
    let cookie = cookie(host, headers)?;
    let looked = cookie.clone();
    let device = site.off_thread(move |site| site.devices.of_cookie(&looked)).await;
    match device {
        Ok(device) => device.map(|device| SignedIn { device: device.name, form_token: cookie.form_token(), cookie }),
        Err(e) => {
            tracing::warn!("nobody can be signed in: {e}");
            None
        }
    }
}

/// The name of the cookie. Behind TLS, a browser takes this name only with all that makes it safe.
fn cookie_name(host: &Host) -> &'static str {
    if host.is_behind_tls { "__Host-askbox" } else { "askbox" }
}

fn cookie(host: &Host, headers: &HeaderMap) -> Option<Secret> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(';'));
    let mut ours = pairs.filter_map(|pair| pair.trim().split_once('=')).filter(|(name, _)| *name == cookie_name(host));
    ours.find_map(|(_, value)| Secret::parse(value))
}

/// The cookie that signs a device in for this long, or out.
#[must_use]
pub fn set_cookie(host: &Host, secret: Option<&Secret>, lasts: Duration) -> String {
    let (value, age) = secret.map_or(("", 0), |secret| (secret.expose(), lasts.as_secs()));
    let secure = if host.is_behind_tls { "; Secure" } else { "" };
    format!("{}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}", cookie_name(host))
}

/// Reads the form. That of a device that is signed in must carry the token of its session.
async fn fields(parts: &Parts, body: Body, signed_in: Option<&SignedIn>) -> Result<Posted, Box<Response>> {
    let read = Form::<Vec<(String, String)>>::from_request(Request::from_parts(parts.clone(), body), &());
    let fields = match tokio::time::timeout(FORM_WITHIN, read).await {
        Ok(Ok(Form(fields))) => Posted(fields),
        Ok(Err(e)) => {
            let words = format!("The form cannot be read: {}. Nothing was sent. An answer may be 2 MB long.", e.body_text());
            return Err(Box::new(problem::page(e.status(), "Cannot be read", &words)));
        }
        Err(_) => return Err(Box::new(StatusCode::REQUEST_TIMEOUT.into_response())),
    };
    if let Some(signed_in) = signed_in
        && !fields.get("form").is_some_and(|token| secret::is_same(token, &signed_in.form_token))
    {
        let words = "The form is not one of this session: perhaps you signed in again meanwhile. Nothing was sent. Go back, load the page again, \
                     and send it from there.";
        return Err(Box::new(problem::page(StatusCode::FORBIDDEN, "Refused", words)));
    }
    Ok(fields)
}

/// The headers of every reply. What was set before stays: files that are the same for everybody may be kept by the browser.
fn protect(headers: &mut HeaderMap) {
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; \
                  form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
        (HeaderName::from_static("x-robots-tag"), "noindex"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}
