//! The costs that `relaunch.mode = "auto"` knows when it chooses: the tokens of both ways, and the state of the prompt cache.

use std::path::Path;

use crate::attempt::auto_choice::{AutoChoice, PromptCache};
use askbox_agent::session_size::{self, SessionSize};
use askbox_mailbox::{Folder, Mailbox, Question, Time, disk};

/// A token has about this many bytes.
const BYTES_PER_TOKEN: u64 = 4;

/// The choice with the costs of both ways, as of `now`. `transcript` belongs to the session that can be resumed.
pub(super) fn weigh(mailbox: &Mailbox, question: &Question, transcript: Option<&Path>, why: &str, now: Time) -> AutoChoice {
    let size = transcript.and_then(session_size::of_transcript);
    let told = bytes_to_tell(mailbox, question) / BYTES_PER_TOKEN;
    with_costs(why, size, told, now)
}

fn with_costs(why: &str, size: Option<SessionSize>, told: u64, now: Time) -> AutoChoice {
    let Some(size) = size else { return AutoChoice::because(why) };
    let until = size.cached_until;
    AutoChoice {
        resume_tokens: Some(size.tokens),
        cache: Some(if until.is_some_and(|until| until > now) { PromptCache::Warm } else { PromptCache::Cold }),
        cache_seconds: until.map(|until| (until - now).num_seconds().unsigned_abs()),
        // Both begin with the system prompt, the tools and a first prompt, which the first request of the session had too.
        fresh_tokens: size.first_request.map(|first| first.saturating_add(told)),
        ..AutoChoice::because(why)
    }
}

/// The bytes of the checkpoint and of the question, which a new session has to read.
fn bytes_to_tell(mailbox: &Mailbox, question: &Question) -> u64 {
    let own = mailbox.document(Folder::Checkpoints, &question.workflow_id);
    let length = |path: &Path| disk::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|m| m.len());
    let checkpoint = question.checkpoint.as_deref().and_then(length).or_else(|| length(&own));
    checkpoint.unwrap_or(0).saturating_add(question.question.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_warm_until_its_time_is_over() {
        let size = |until: &str| Some(SessionSize { first_request: Some(100), tokens: 900, cached_until: Some(until.parse().unwrap()) });
        let now = "2026-01-01T12:00:00Z".parse().unwrap();
        let warm = with_costs("w", size("2026-01-01T12:03:00Z"), 50, now);
        assert_eq!((warm.cache, warm.cache_seconds), (Some(PromptCache::Warm), Some(180)));
        assert_eq!((warm.resume_tokens, warm.fresh_tokens), (Some(900), Some(150)));
        let cold = with_costs("w", size("2026-01-01T11:59:00Z"), 50, now);
        assert_eq!((cold.cache, cold.cache_seconds), (Some(PromptCache::Cold), Some(60)));
        assert_eq!(with_costs("w", None, 50, now), AutoChoice::because("w"));
    }
}
