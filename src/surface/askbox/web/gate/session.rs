//! A device that is signed in: its cookie, and the forms that it sends.

use std::time::Duration;

use axum::http::header::{self, HeaderMap};

use crate::surface::askbox::web::gate::hosts::Host;
use crate::surface::askbox::web::gate::secret::{self, Secret};

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

impl SignedIn {
    /// Whether a form carries the token of this session.
    #[must_use]
    pub fn sent(&self, posted: &Posted) -> bool {
        posted.get("form").is_some_and(|token| secret::is_same(token, &self.form_token))
    }
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

/// The name of the cookie. Behind TLS, a browser takes this name only with all that makes it safe.
fn cookie_name(host: &Host) -> &'static str {
    if host.is_behind_tls { "__Host-askbox" } else { "askbox" }
}

/// The cookie of a request.
#[must_use]
pub fn cookie(host: &Host, headers: &HeaderMap) -> Option<Secret> {
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
