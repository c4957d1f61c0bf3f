//! One hook, as the settings describe it.

use std::time::Duration;

use regex_lite::Regex;
use serde_json::Value;

/// How long a hook may take if its settings do not say.
const TIMEOUT: u64 = 60;

/// One program for one event.
#[derive(Debug, Clone)]
pub(crate) struct Hook {
    /// The tools; `None` for all.
    matcher: Option<Regex>,
    pub command: String,
    pub timeout: Duration,
    /// A call is refused if the hook fails.
    pub refuses_if_it_fails: bool,
}

impl Hook {
    /// The hooks of one group: `{"matcher": …, "hooks": [{"type": "command", "command": …}]}`.
    pub fn of_group(group: &Value) -> Result<Vec<Self>, String> {
        let matcher = match group["matcher"].as_str() {
            None | Some("" | "*") => None,
            Some(pattern) => Some(Regex::new(&format!("^(?:{pattern})$")).map_err(|e| e.to_string())?),
        };
        let hooks = group["hooks"].as_array().into_iter().flatten();
        let hooks = hooks.filter_map(|hook| {
            Some(Self {
                matcher: matcher.clone(),
                command: hook["command"].as_str()?.to_owned(),
                timeout: Duration::from_secs(hook["timeout"].as_u64().unwrap_or(TIMEOUT)),
                refuses_if_it_fails: hook["onFailure"] == "block",
            })
        });
        Ok(hooks.collect())
    }

    pub fn applies_to(&self, tool: &str) -> bool {
        self.matcher.as_ref().is_none_or(|matcher| matcher.is_match(tool))
    }
}
