//! The promises of `askbox setup`: its files, its rules and its service are there, and no setting of Claude Code takes them back.

use std::path::Path;

use serde_json::Value;

use crate::commands::doctor::checkup::{Checkup, edit};
use crate::commands::doctor::installation::claude_files;
use crate::commands::setup::lost;
use askbox_mailbox::text;

/// The programs that an agent needs to ask.
const NEEDED: [&str; 2] = ["ask-post", "checkpoint"];

pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    for gone in lost::all() {
        checkup.report("setup_lost", gone.subject, gone.said, gone.mend);
    }
    let here = std::env::current_dir().unwrap_or_default();
    claude_files::files_for(&here, None).iter().for_each(|path| denied(checkup, path));
}

/// Reports a rule that forbids agents to ask. A rule that denies wins over every rule that allows.
fn denied(checkup: &mut Checkup, path: &Path) {
    let settings = claude_files::settings(path);
    let rules = settings["permissions"]["deny"].as_array().cloned().unwrap_or_default();
    let Some(rule) = rules.iter().filter_map(Value::as_str).find(|rule| forbids_asking(rule)) else { return };
    let said = format!("permissions.deny holds `{}`, so no agent can ask: it wins over the rules that allow", text::excerpt(rule, 80));
    checkup.report("denied", path.display().to_string(), said, edit(path));
}

/// True for a rule that covers a call of a program that agents ask with: `Bash`, `Bash(*)`, `Bash(ask-post:*)`, `Bash(ask-post *)`.
fn forbids_asking(rule: &str) -> bool {
    let Some(of) = rule.trim().strip_prefix("Bash") else { return false };
    let Some(pattern) = of.strip_prefix('(').and_then(|of| of.strip_suffix(')')) else { return of.is_empty() };
    let pattern = pattern.trim();
    pattern.is_empty()
        || pattern.chars().all(|c| c == '*')
        || NEEDED
            .iter()
            .any(|program| pattern.strip_prefix(program).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ', '*'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_rule_that_covers_asking_forbids_it() {
        for rule in ["Bash", "Bash()", "Bash(*)", "Bash(ask-post)", "Bash(ask-post:*)", "Bash(ask-post *)", "Bash(checkpoint:*)"] {
            assert!(forbids_asking(rule), "{rule}");
        }
        for rule in ["Bash(rm:*)", "Bash(ask-postpone:*)", "BashOutput", "Read(~/.ssh/**)", "WebFetch", "Bash(ask-answer:*)"] {
            assert!(!forbids_asking(rule), "{rule}");
        }
    }
}
