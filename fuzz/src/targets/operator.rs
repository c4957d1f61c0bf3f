//! Files of the operator and of the user: the configuration, and agent files.

use std::path::Path;

use askbox::config::{self, Config};
use askbox::definitions::agent_file::{self, Scope};
use askbox::text;

use super::promises;

/// The configuration. It is read, or refused with one line. An accepted one means the same when it is read as JSON.
pub fn configuration(bytes: &[u8]) {
    match config::parse(bytes, Path::new("config.toml")) {
        Ok(loaded) => {
            assert_eq!(loaded.config, config::parse(bytes, Path::new("x")).expect("the same text").config);
            let json = serde_json::to_string(&loaded.config).expect("a configuration is JSON");
            let again: Config = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}: {json}"));
            assert_eq!(again, loaded.config);
            let known: Vec<&str> = config::keys().map(|key| key.path).collect();
            for set in &loaded.set {
                let is_known = known.contains(&set.as_str()) || set.starts_with("runner.");
                assert!(is_known, "{set} was accepted");
            }
        }
        Err(e) => promises::is_a_usable_error(&e),
    }
}

/// An agent file: YAML front matter and a prompt.
pub fn agent_file(bytes: &[u8]) {
    match agent_file::parse(bytes, Path::new("/a.md"), Scope::User) {
        Ok(agent) => {
            let sizes = agent.fields.iter().map(|(name, value)| name.len() + value.to_string().len()).sum::<usize>();
            assert!(sizes <= 64 << 20, "{sizes} bytes of fields from {} bytes", bytes.len());
            promises::is_one_safe_line(&text::one_line(&agent.name));
            serde_json::to_string(&agent).expect("an agent is JSON");
        }
        Err(finding) => {
            assert!(!finding.problem.is_empty() && !finding.fix.is_empty(), "{finding:?}");
            assert!(finding.line <= 1 + bytes.iter().filter(|b| **b == b'\n' || **b == b'\r').count() + bytes.len(), "{finding:?}");
            promises::is_one_safe_line(&text::one_line(&finding.problem));
        }
    }
}
