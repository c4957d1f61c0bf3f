//! What a turn cost: US dollars and tokens.

use std::collections::HashMap;

use serde::Deserialize;

use crate::agent::events::Tokens;
use crate::agent::stream::wire;

/// Longest `model_usage_since_last_result` that is read, in bytes. A model takes a few hundred.
const USAGE_LIMIT: usize = 64 << 10;

/// US dollars that the stream reported so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Spent {
    /// The running total of the last result.
    Total(f64),
    /// Unknown: the session has an earlier total that this process has not reported yet.
    Unknown,
}

impl Default for Spent {
    /// Nothing.
    fn default() -> Self {
        Self::Total(0.0)
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ModelUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    #[serde(rename = "costUSD")]
    cost_usd: f64,
}

/// Dollars and tokens of the turn that this line ends. The dollars are `None` where they are unknown.
///
/// `model_usage_since_last_result` counts this turn alone: with its subagents, and also if the turn was cut. Without it, there
/// are `usage` (the main agent alone, zero if the turn was cut) and the growth of `total_cost_usd`, which is a total over all
/// turns, resumes and forks.
pub(super) fn of_turn(wire: &wire::ResultLine<'_>, spent: &mut Spent) -> (Option<f64>, Tokens) {
    let before = *spent;
    let total = wire::get::<f64>(wire.total_cost_usd);
    if let Some(total) = total {
        *spent = Spent::Total(total);
    }
    let models = wire.model_usage_since_last_result.filter(|raw| raw.get().len() <= USAGE_LIMIT);
    if let Some(models) = wire::get::<HashMap<String, ModelUsage>>(models) {
        let mut tokens = Tokens::default();
        let mut cost = 0.0;
        for model in models.values() {
            cost += model.cost_usd;
            tokens += Tokens {
                input: model.input_tokens,
                output: model.output_tokens,
                cache_read: model.cache_read_input_tokens,
                cache_creation: model.cache_creation_input_tokens,
            };
        }
        return (Some(cost), tokens);
    }
    let usage: wire::Usage = wire::object(wire.usage).unwrap_or_default();
    let count = |raw| wire::get(raw).unwrap_or(0);
    let tokens = Tokens {
        input: count(usage.input_tokens),
        output: count(usage.output_tokens),
        cache_read: count(usage.cache_read_input_tokens),
        cache_creation: count(usage.cache_creation_input_tokens),
    };
    let cost = match (total, before) {
        (Some(total), Spent::Total(before)) => Some((total - before).max(0.0)),
        _ => None,
    };
    (cost, tokens)
}
