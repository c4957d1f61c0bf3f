//! Secrets, their hashes, and the token of a form.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use uuid::Uuid;

use crate::text::hex;

/// A secret that a link or a cookie carries. Nothing but its hash is ever written down.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// The length of a secret, in characters.
    const LENGTH: usize = 43;

    /// A new one: 244 random bits.
    #[must_use]
    pub fn generate() -> Self {
        let bytes = [Uuid::new_v4(), Uuid::new_v4()].map(Uuid::into_bytes).concat();
        Self(BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The secret that a browser sent, if it has the form of one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_one = text.len() == Self::LENGTH && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        is_one.then(|| Self(text.to_owned()))
    }

    /// The secret itself, for the one who is to have it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Its SHA-256, in hexadecimal digits.
    #[must_use]
    pub fn hash(&self) -> String {
        hex(&Sha256::digest(self.0.as_bytes()))
    }

    /// The token that the forms of this session carry: another site can make a browser send the cookie, and cannot know this.
    #[must_use]
    pub fn form_token(&self) -> String {
        // A key may have any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()) else { return String::new() };
        mac.update(b"a form of the page");
        hex(&mac.finalize().into_bytes())
    }
}

/// Whether two texts are the same, without telling by the time how far they are.
#[must_use]
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
