//! Text that an agent wrote, or anybody else: it may hold what controls a terminal, or lines that look like ours.

use serde::{Deserialize, Serialize};

use crate::text;

/// Text that somebody else wrote. It has no `Display`, so it reaches a person only through one of the filters of [`text`].
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Untrusted(String);

impl Untrusted {
    /// The text as it was written: to compare it, to keep it, or for a program. Never for a terminal.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// Whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// For a terminal, with its lines: see [`text::printable`].
    #[must_use]
    pub fn printable(&self) -> String {
        text::printable(&self.0)
    }

    /// For a terminal, on one line: see [`text::one_line`].
    #[must_use]
    pub fn one_line(&self) -> String {
        text::one_line(&self.0)
    }

    /// Its first `max` characters for a terminal, on one line: see [`text::excerpt`].
    #[must_use]
    pub fn excerpt(&self, max: usize) -> String {
        text::excerpt(&self.0, max)
    }
}

impl From<String> for Untrusted {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Untrusted {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl PartialEq<str> for Untrusted {
    fn eq(&self, other: &str) -> bool {
        self.0 == *other
    }
}

impl PartialEq<&str> for Untrusted {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl PartialEq<String> for Untrusted {
    fn eq(&self, other: &String) -> bool {
        self.0 == *other
    }
}

/// In the schemas it is a string like any other.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Untrusted {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}
