//! For `fuzz/`: what a message in a topic for replies says, whoever wrote it.

use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::Question;
use crate::news::buttons::replies::{self, ReplyKey};

/// The key of every mailbox here.
fn key() -> ReplyKey {
    ReplyKey::of_text("0123456789abcdef0123456789abcdef")
}

/// What a message says.
#[derive(Debug)]
pub struct Heard {
    /// From where on the topic is followed the next time.
    pub cursor: String,
    /// The round and the option, if it reads like a button's.
    pub chosen: Option<(RoundId, String)>,
    /// Whether a button of this mailbox says so.
    pub counts: bool,
}

/// Reads one line of the stream.
#[must_use]
pub fn heard(line: &str, target: &str, question: &Question) -> Option<Heard> {
    let heard = replies::heard(line)?;
    let counts = heard.reply.as_ref().is_some_and(|reply| key().made(target, reply, question));
    Some(Heard { cursor: heard.cursor, chosen: heard.reply.map(|reply| (reply.round, reply.key)), counts })
}

/// What the buttons of a notification say.
///
/// # Errors
/// If the question cannot be written as JSON.
pub fn buttons(target: &str, round: &RoundId, question: &Question, keys: &[String]) -> Result<Vec<String>> {
    key().replies(target, round, question, keys)
}
