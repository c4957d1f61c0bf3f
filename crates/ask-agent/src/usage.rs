//! The tokens of a turn.

use serde_json::{Map, Value, json};

/// The tokens of several replies.
#[derive(Debug, Default, Clone)]
pub(crate) struct Usage([u64; 4]);

impl Usage {
    const NAMES: [&str; 4] = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];

    pub fn add(&mut self, usage: &Value) {
        for (sum, name) in self.0.iter_mut().zip(Self::NAMES) {
            *sum += usage[name].as_u64().unwrap_or(0);
        }
    }

    pub fn to_json(&self) -> Value {
        Self::NAMES.into_iter().zip(self.0).map(|(name, sum)| (name.to_owned(), json!(sum))).collect::<Map<_, _>>().into()
    }
}
