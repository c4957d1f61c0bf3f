//! Text that an agent or another person wrote. It may hold characters that control a terminal, or imitate the lines of askbox itself.

use serde::{Deserialize, Serialize};

use crate::text;

/// Text from outside of askbox. It has no `Display`, so it reaches a person only through one of the filters of [`text`].
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, derive_more::From, schemars::JsonSchema)]
#[from(String, &str)]
#[serde(transparent)]
#[schemars(inline, description = "")]
pub struct Untrusted(String);

impl Untrusted {
    /// The text as it was written, to compare it, to store it, or to give it to a program. Never print it on a terminal.
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// True if the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text for a terminal, with its lines: see [`text::printable`].
    pub fn printable(&self) -> String {
        text::printable(&self.0)
    }

    /// Returns the text for a terminal, on one line: see [`text::one_line`].
    pub fn one_line(&self) -> String {
        text::one_line(&self.0)
    }

    /// Returns the first `max` characters for a terminal, on one line: see [`text::excerpt`].
    pub fn excerpt(&self, max: usize) -> String {
        text::excerpt(&self.0, max)
    }
}

impl<T: AsRef<str> + ?Sized> PartialEq<T> for Untrusted {
    fn eq(&self, other: &T) -> bool {
        self.0 == other.as_ref()
    }
}
