//! Finds where one answer of the model ends and the next begins. Each answer is one round trip to the API, over one line or several.

use crate::agent::stream::bounded::head;
use crate::agent::stream::wire::{self, Message};

/// The answer of the main agent's model that the last lines belong to.
#[derive(Debug, Default, PartialEq)]
pub(super) enum RoundTrip {
    /// None: the next line begins an answer.
    #[default]
    None,
    /// An answer without an id. The next tool result ends it.
    Unnamed,
    /// An answer with this id. Another id ends it, not a tool result: an agent may send the results of the first calls before the
    /// last lines of the answer.
    Named(String),
}

/// Kept of an answer's id, in bytes.
const ID: usize = 256;

impl RoundTrip {
    /// Takes in a line of the model; returns whether it begins another answer.
    pub(super) fn begins_with(&mut self, message: &Message<'_>) -> bool {
        if wire::word(message.model) == "<synthetic>" {
            // The agent program's own words.
            return false;
        }
        let now = match wire::word(message.id) {
            "" => Self::Unnamed,
            id => Self::Named(head(id, ID).to_owned()),
        };
        let begins = *self != now;
        *self = now;
        begins
    }

    /// Takes in a tool result.
    pub(super) fn tool_answered(&mut self) {
        if *self == Self::Unnamed {
            *self = Self::None;
        }
    }
}
