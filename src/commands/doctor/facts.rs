//! What the checks learn that is not a problem. The report shows it.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// The keys of the facts, in the order in which the report shows them.
const ORDER: [&str; 9] = ["agent", "acp_agents", "codex", "targets", "traces", "peers", "page", "sync", "history"];

/// The facts, by their places in [`ORDER`]. A fact has a value for programs, and a line or more for people. There is none if only one
/// workflow was checked.
#[derive(Debug, Default)]
pub(super) struct Facts(BTreeMap<usize, (Value, String)>);

impl Facts {
    pub(super) fn add(&mut self, key: &str, fact: &impl Serialize, words: String) {
        let place = ORDER.iter().position(|known| *known == key);
        debug_assert!(place.is_some(), "{key} has no place");
        self.0.extend(place.map(|place| (place, (serde_json::to_value(fact).unwrap_or_default(), words))));
    }

    pub(super) fn words(&self) -> String {
        self.0.values().map(|(_, words)| words.as_str()).collect()
    }
}

impl Serialize for Facts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(place, (value, _))| (ORDER[*place], value)))
    }
}
