//! The choice of `relaunch.mode = "auto"` between a new and a resumed session, with the costs of both as they were estimated then.

use serde::{Deserialize, Serialize};

use askbox_mailbox::time;

/// Whether a resumed session's tokens come from the API's prompt cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptCache {
    /// The session was used so recently that the cache holds it. Reading it costs about a tenth.
    Warm,
    /// The cache has forgotten the session. All of it is read anew, and written to the cache.
    Cold,
}

/// The choice, its reason, and what both ways cost.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AutoChoice {
    /// The reason.
    pub why: String,
    /// About how many tokens a resumed session sends before the answer. Missing if no session can be resumed, or if its transcript does
    /// not say.
    pub resume_tokens: Option<u64>,
    /// The state of the cache for those tokens.
    pub cache: Option<PromptCache>,
    /// The seconds since the cache expired, or until it does.
    pub cache_seconds: Option<u64>,
    /// About how many tokens a new session sends: its system prompt, its tools, the prompt and the checkpoint.
    pub fresh_tokens: Option<u64>,
}

impl AutoChoice {
    /// The choice without the costs.
    pub fn because(why: impl Into<String>) -> Self {
        Self { why: why.into(), resume_tokens: None, cache: None, cache_seconds: None, fresh_tokens: None }
    }

    /// The choice in one line: `resumed: no checkpoint was saved (to resume: 84.1k tokens, cached for 2m more; a new session: 14.2k)`.
    pub fn in_words(&self) -> String {
        let resume = self.resume_tokens.map(|tokens| {
            let seconds = self.cache_seconds.map(|seconds| time::human(std::time::Duration::from_secs(seconds)));
            let cache = match (self.cache, seconds) {
                (Some(PromptCache::Warm), Some(left)) => format!(", in the prompt cache for {left} more"),
                (Some(PromptCache::Cold), Some(since)) => format!(", not in the prompt cache since {since}"),
                _ => ", not in the prompt cache".into(),
            };
            format!("to resume: {} tokens{cache}", rounded(tokens))
        });
        let fresh = self.fresh_tokens.map(|tokens| format!("a new session: {} tokens", rounded(tokens)));
        let costs: Vec<String> = resume.into_iter().chain(fresh).collect();
        if costs.is_empty() { self.why.clone() } else { format!("{} (estimated then: {})", self.why, costs.join("; ")) }
    }
}

fn rounded(tokens: u64) -> String {
    if tokens < 10_000 { tokens.to_string() } else { format!("{}.{}k", tokens / 1000, tokens % 1000 / 100) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_says_what_both_ways_cost_and_nothing_unknown() {
        let choice = AutoChoice {
            resume_tokens: Some(84_150),
            cache: Some(PromptCache::Cold),
            cache_seconds: Some(7200),
            fresh_tokens: Some(9_999),
            ..AutoChoice::because("fresh: the question names a checkpoint")
        };
        assert_eq!(
            choice.in_words(),
            "fresh: the question names a checkpoint (estimated then: to resume: 84.1k tokens, not in the prompt cache since 2h; \
             a new session: 9999 tokens)"
        );
        assert_eq!(AutoChoice::because("resumed: it can be").in_words(), "resumed: it can be");
    }
}
