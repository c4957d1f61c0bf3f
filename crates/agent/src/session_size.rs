//! The size of a session in tokens, and whether its prompt cache is alive. Both are read from the two ends of its transcript, so the cost
//! of a look does not grow with the session.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use crate::transcript::entries;
use askbox_mailbox::{Time, disk};

/// The bytes that are read at the beginning of a transcript: enough for a long first prompt.
const HEAD: u64 = 1 << 20;
/// The bytes that are read at its end: enough for the results of a few tool calls.
const TAIL: u64 = 1 << 20;
/// How long an entry of the prompt cache lives after its last use, unless it was written for an hour.
const SHORT_LIFE: Duration = Duration::from_secs(5 * 60);
const LONG_LIFE: Duration = Duration::from_secs(60 * 60);

/// The size of a session, as the API reported it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSize {
    /// The tokens of its first request: the system prompt, the tools and the first message. `None` if they are not known.
    pub first_request: Option<u64>,
    /// The tokens of its newest request and of the reply: about what a resumed session sends in front of a new message.
    pub tokens: u64,
    /// The time when the prompt cache forgets them; `None` if that request used no cache.
    pub cached_until: Option<Time>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_creation: Option<Lives>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Lives {
    ephemeral_1h_input_tokens: u64,
}

impl Usage {
    /// The tokens of the request.
    fn request(&self) -> u64 {
        self.input_tokens.saturating_add(self.cached())
    }

    fn cached(&self) -> u64 {
        self.cache_read_input_tokens.saturating_add(self.cache_creation_input_tokens)
    }
}

/// Reads the size of a session from its transcript. `None` if the file cannot be read, or if its end has no reply of a model.
pub fn of_transcript(transcript: &Path) -> Option<SessionSize> {
    let mut file = disk::open_of_another_program(transcript).ok()?;
    let length = file.metadata().ok()?.len();
    let first_request = replies(file.by_ref().take(HEAD)).next().map(|(usage, _)| usage.request());
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    // The first line of the tail may be cut, and is then not an entry.
    let (newest, at) = replies(file.take(TAIL)).last()?;
    let life = match newest.cache_creation.as_ref().is_some_and(|lives| lives.ephemeral_1h_input_tokens > 0) {
        true => LONG_LIFE,
        false => SHORT_LIFE,
    };
    let cached_until = at.filter(|_| newest.cached() > 0).and_then(|at| at.checked_add_signed(chrono::TimeDelta::from_std(life).ok()?));
    Some(SessionSize { first_request, tokens: newest.request().saturating_add(newest.output_tokens), cached_until })
}

/// The usage that the API reported for each reply of the session's own model, and the time of the reply. Messages that the agent program made itself have no tokens.
fn replies(transcript: impl Read) -> impl Iterator<Item = (Usage, Option<Time>)> {
    let replies = entries(transcript, |line| line.contains("\"usage\"")).filter(|entry| entry.kind == "assistant" && !entry.is_of_subagent);
    let usages = replies.filter_map(|entry| Some((Usage::deserialize(&entry.message["usage"]).ok()?, entry.at())));
    usages.filter(|(usage, _)| usage.request() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(at: &str, usage: &str) -> String {
        format!("{{\"type\":\"assistant\",\"timestamp\":\"2026-01-01T{at}Z\",\"message\":{{\"usage\":{usage}}}}}\n")
    }

    fn size_of(transcript: &str) -> Option<SessionSize> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), transcript).unwrap();
        of_transcript(file.path())
    }

    #[test]
    fn a_session_is_as_large_as_its_newest_request_and_reply() {
        let user = "{\"type\":\"user\",\"message\":{\"content\":\"\\\"usage\\\"\"}}\n";
        let first = reply("10:00:00", r#"{"input_tokens":10,"cache_creation_input_tokens":12000,"output_tokens":5}"#);
        let last =
            reply("11:00:00", r#"{"input_tokens":4,"cache_read_input_tokens":80000,"cache_creation_input_tokens":16,"output_tokens":80}"#);
        let subagent = last.replacen('{', "{\"isSidechain\":true,", 1).replace("80000", "1");
        let made_up = reply("11:00:01", r#"{"input_tokens":0,"output_tokens":0}"#);
        let size = size_of(&[user, &first, user, &last, &subagent, &made_up, "{\"torn"].concat()).unwrap();
        assert_eq!((size.first_request, size.tokens), (Some(12010), 80100));
        assert_eq!(size.cached_until, Some("2026-01-01T11:05:00Z".parse().unwrap()));
        assert_eq!(size_of(user), None);
        assert_eq!(of_transcript(Path::new("/nonexistent")), None);
    }

    #[test]
    fn a_cache_lives_an_hour_if_it_was_written_for_one() {
        let long = r#"{"input_tokens":4,"cache_creation_input_tokens":16,"cache_creation":{"ephemeral_1h_input_tokens":16}}"#;
        assert_eq!(size_of(&reply("11:00:00", long)).unwrap().cached_until, Some("2026-01-01T12:00:00Z".parse().unwrap()));
        assert_eq!(size_of(&reply("11:00:00", r#"{"input_tokens":4}"#)).unwrap().cached_until, None);
    }

    #[test]
    fn only_the_ends_of_a_long_transcript_are_read() {
        let first = reply("10:00:00", r#"{"input_tokens":10}"#);
        let filler = format!("{{\"type\":\"user\",\"message\":{{\"content\":\"{}\"}}}}\n", "x".repeat(1000)).repeat(3000);
        let middle = reply("10:30:00", r#"{"input_tokens":20}"#);
        let last = reply("11:00:00", r#"{"input_tokens":30}"#);
        let size = size_of(&[&*first, &filler, &middle, &filler, &last].concat()).unwrap();
        assert_eq!((size.first_request, size.tokens), (Some(10), 30));
        assert_eq!(size_of(&[&*first, &filler].concat()), None, "the end says nothing");
    }
}
