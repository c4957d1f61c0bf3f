//! A pattern that names workflows: `*` stands for any characters of the id.

use std::str::FromStr;

use derive_more::Display;
use serde_with::{DeserializeFromStr, SerializeDisplay};

/// The longest pattern, in bytes: as long as the longest id.
const LONGEST: usize = 128;

/// A pattern of workflow ids.
#[derive(Debug, Clone, PartialEq, Eq, Display, SerializeDisplay, DeserializeFromStr, schemars::JsonSchema)]
#[schemars(with = "String")]
pub struct WorkflowPattern(String);

impl FromStr for WorkflowPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_of_an_id = |c: char| c.is_ascii_alphanumeric() || "._-*".contains(c);
        if text.is_empty() || text.len() > LONGEST || !text.chars().all(is_of_an_id) {
            return Err(format!("`{text}` is not a pattern: write letters, digits, `.`, `_`, `-` and `*`, at most {LONGEST} of them"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl WorkflowPattern {
    /// True if the pattern names this id.
    pub fn fits(&self, id: &str) -> bool {
        share(self.0.as_bytes(), id.as_bytes())
    }

    /// True if there is an id that both patterns name.
    pub fn overlaps(&self, other: &Self) -> bool {
        share(self.0.as_bytes(), other.0.as_bytes())
    }
}

/// True if some text fits both patterns. A text without `*` is a pattern that only this text fits.
fn share(one: &[u8], other: &[u8]) -> bool {
    // `ends[j]`: some text fits the part of `one` so far and the first j bytes of `other`.
    let mut ends: Vec<bool> = (0..=other.len()).map(|j| other[..j].iter().all(|byte| *byte == b'*')).collect();
    for byte in one {
        let before = std::mem::take(&mut ends);
        ends = vec![before[0] && *byte == b'*'];
        for (j, in_other) in other.iter().enumerate() {
            let fits = match (byte, in_other) {
                // A star is empty, or it takes one more byte of the other pattern.
                (b'*', _) | (_, b'*') => before[j + 1] || ends[j],
                (one, other) => one == other && before[j],
            };
            ends.push(fits);
        }
    }
    ends.last().copied().unwrap_or_default()
}
