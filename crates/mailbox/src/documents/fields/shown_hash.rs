//! The hash of what was shown of a question: the field `shown` of an answer and of an offer. `documents/shown` computes it.

use std::str::FromStr;

use derive_more::Display;
use serde_with::{DeserializeFromStr, SerializeDisplay};

use sha2::{Digest, Sha256};

use crate::{Error, QuestionId, Result, text};

/// The hash of everything that any surface shows of a question. A decision names the one that it was made on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display, SerializeDisplay, DeserializeFromStr, schemars::JsonSchema)]
#[display("{}", text::hex(_0))]
#[schemars(with = "String")]
pub struct Shown([u8; 32]);

impl Shown {
    pub(in crate::documents) fn of_hash(sha256: [u8; 32]) -> Self {
        Self(sha256)
    }

    /// Returns the SHA-256 of a round's id and of this hash, as 64 hexadecimal digits. A command that a person copies names its first
    /// digits.
    ///
    /// With the id, two questions that have equal first digits in one round do not have them in another round.
    pub fn in_round(self, round: QuestionId) -> String {
        text::hex(&Sha256::digest(format!("{round}:{self}")))
    }
}

impl FromStr for Shown {
    type Err = Error;

    /// Reads 64 lowercase hexadecimal digits.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the field `shown`.
    fn from_str(text: &str) -> Result<Self> {
        let digits = |n: usize| text.get(2 * n..2 * n + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let bytes: Option<Vec<u8>> = (0..32).map(digits).collect();
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok()).map(Self);
        // This also refuses signs, capital letters and further text.
        bytes.filter(|shown| shown.to_string() == text).ok_or_else(|| {
            Error::invalid("shown", "is not a SHA-256 of 64 lowercase hexadecimal digits", "look at the question again, and decide anew")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_shown_is_read_as_it_is_written() {
        let shown = Shown::of_hash([0xa7; 32]);
        let text = shown.to_string();
        assert_eq!(text.parse::<Shown>().unwrap(), shown);
        assert_eq!(serde_json::to_string(&shown).unwrap(), format!("{text:?}"));
        for wrong in [&text[1..], &format!("{text}0"), &text.to_uppercase(), &format!("+{}", &text[1..]), "", "é"] {
            assert!(wrong.parse::<Shown>().is_err(), "{wrong}");
        }
    }
}
