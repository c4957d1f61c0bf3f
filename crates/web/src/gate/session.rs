//! A signed-in device: its cookie, its secrets and their hashes, and the forms that it sends, each with its token.

use std::time::Duration;

use axum::http::header::{self, HeaderMap};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use uuid::Uuid;

use crate::gate::hosts::Host;
use askbox_mailbox::text::hex;

/// The device that sent a request.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// The device's name.
    pub device: String,
    /// The token that the device's forms carry.
    pub form_token: String,
    /// The path that the device's pages lie below.
    pub home: String,
    /// True if another browser signed the device in.
    pub is_elsewhere: bool,
    /// The secret in the device's cookie.
    pub cookie: Secret,
}

impl SignedIn {
    /// True if a form carries the token of this session.
    pub fn sent(&self, posted: &Posted) -> bool {
        posted.get("form").is_some_and(|token| is_same(token, &self.form_token))
    }
}

/// The fields of a form that has passed the check.
#[derive(Debug, Clone, Default)]
pub struct Posted(pub Vec<(String, String)>);

impl Posted {
    /// The first field with this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All fields with this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The name of the cookie. Behind TLS it begins with `__Secure-`, so that browsers accept it only over TLS. (`__Host-` would need the path
/// `/`.) It ends with the port that the browser uses, so that two pages on one computer do not read each other's cookies.
fn cookie_name(host: &Host) -> String {
    let name = if host.is_behind_tls { "__Secure-askbox" } else { "askbox" };
    host.port().map_or_else(|| name.to_owned(), |port| format!("{name}-{port}"))
}

/// The secrets in a request's cookies. A server at another port can set cookies of the same name, so there may be several.
pub fn cookies(host: &Host, headers: &HeaderMap) -> impl Iterator<Item = Secret> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(';'));
    let own = cookie_name(host);
    let ours = pairs.filter_map(|pair| pair.trim().split_once('=')).filter(move |(name, _)| *name == own);
    ours.filter_map(|(_, value)| Secret::parse(value))
}

/// The cookie that keeps a device signed in for this long. Zero signs it out. A browser sends it only below the device's path.
pub fn set_cookie(host: &Host, secret: &Secret, lasts: Duration) -> String {
    let (value, age) = (secret.expose(), lasts.as_secs());
    let secure = if host.is_behind_tls { "; Secure" } else { "" };
    format!("{}={value}; Path={}/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}", cookie_name(host), secret.home())
}

/// The hash of a browser's name for itself. Words with a digit are left out, because they change with each update.
pub fn browser(headers: &HeaderMap) -> String {
    let name = headers.get(header::USER_AGENT).map(|name| String::from_utf8_lossy(name.as_bytes())).unwrap_or_default();
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    hex(&Sha256::digest(words.collect::<Vec<_>>().join(" ")))
}

/// A secret that a link or a cookie carries. Only its hash is ever stored.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("Secret")]
pub struct Secret(String);

impl Secret {
    /// The length of a secret, in characters.
    const LENGTH: usize = 43;

    /// Creates a secret with 244 random bits.
    pub fn generate() -> Self {
        let bytes = [Uuid::new_v4(), Uuid::new_v4()].map(Uuid::into_bytes).concat();
        Self(BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The secret that a browser sent, if it has the right form.
    pub fn parse(text: &str) -> Option<Self> {
        let is_one = text.len() == Self::LENGTH && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        is_one.then(|| Self(text.to_owned()))
    }

    /// The secret itself, to hand out to its owner.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Its SHA-256, in hexadecimal digits.
    pub fn hash(&self) -> String {
        hex(&Sha256::digest(self.0.as_bytes()))
    }

    /// The token of this session's forms. Another site can make a browser send the cookie, but it cannot know this token.
    pub fn form_token(&self) -> String {
        self.derived("a form of the page")
    }

    /// The path of the device with this cookie, `/d/SECRET`. It cannot be guessed, and the cookie cannot be computed from it.
    pub fn home(&self) -> String {
        format!("/d/{}", self.derived("the path of a device"))
    }

    fn derived(&self, purpose: &str) -> String {
        // HMAC takes a key of any length, so this never fails.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()) else { return String::new() };
        mac.update(purpose.as_bytes());
        hex(&mac.finalize().into_bytes())
    }
}

/// True if two texts are the same. The time that this takes does not depend on where they differ.
pub fn is_same(one: &str, other: &str) -> bool {
    !one.is_empty() && bool::from(one.as_bytes().ct_eq(other.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_only_their_form_is_read_back() {
        let (one, other) = (Secret::generate(), Secret::generate());
        assert!(one != other && one.hash() != other.hash() && one.form_token() != other.form_token());
        assert_eq!(Secret::parse(one.expose()), Some(one.clone()));
        for bad in ["", "x", &"x".repeat(44), &"é".repeat(22), &format!("{} ", &one.expose()[1..])] {
            assert_eq!(Secret::parse(bad), None, "{bad}");
        }
        assert!(is_same("a", "a") && !is_same("a", "b") && !is_same("", "") && !is_same("a", "ab"));
    }
}
