//! The configuration that a watcher began with: for each key a number that changes with the value. So the keys can be named that
//! the running watcher does not know yet, and no secret is written down.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use askbox_config::Config;
use askbox_mailbox::{Mailbox, disk, document};

/// The maximum size of the file.
const LONGEST: u64 = 1 << 20;
/// The sections that no watcher uses.
const OF_OTHERS: [&str; 4] = ["web", "mcp", "peers", "sync"];

/// The content of the file.
#[derive(Debug, Serialize, Deserialize)]
struct BegunWith {
    pid: u32,
    /// Two versions of askbox may have different keys and defaults.
    version: String,
    keys: BTreeMap<String, String>,
}

fn path(mailbox: &Mailbox) -> PathBuf {
    mailbox.lock_file("watchers.keys")
}

/// Notes the configuration of this watcher. Without the file, nobody can compare.
pub fn note(mailbox: &Mailbox, config: &Config) {
    let begun = BegunWith { pid: std::process::id(), version: env!("CARGO_PKG_VERSION").into(), keys: numbers(config) };
    if let Ok(json) = document::to_json(&begun) {
        let _ = disk::replace_unsynced(&path(mailbox), &json, SystemTime::now());
    }
}

/// The keys that differ from those that the watcher with this process id began with. Empty if that is not known.
pub fn changed_since(mailbox: &Mailbox, config: &Config, pid: u32) -> Vec<String> {
    let begun = disk::read(&path(mailbox), LONGEST).ok().and_then(|bytes| serde_json::from_slice::<BegunWith>(&bytes).ok());
    let is_of_it = |begun: &BegunWith| begun.pid == pid && begun.version == env!("CARGO_PKG_VERSION");
    let Some(begun) = begun.filter(is_of_it) else { return Vec::new() };
    let (old, now) = (begun.keys, numbers(config));
    let all: BTreeSet<&String> = old.keys().chain(now.keys()).collect();
    let changed = all.into_iter().filter(|key| old.get(*key) != now.get(*key));
    // A section with a name that only one of them has is one change.
    let is_in = |keys: &BTreeMap<String, String>, section: &str| keys.keys().any(|key| key.starts_with(section));
    let named = changed.map(|key| match section_of(key).filter(|section| is_in(&old, section) != is_in(&now, section)) {
        Some(section) => section.trim_end_matches('.').to_owned(),
        None => key.clone(),
    });
    named.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The section of a key, with a dot at its end, if people choose the section's name: `target.phone.`.
fn section_of(key: &str) -> Option<&str> {
    let rest = key.strip_prefix("target.").or_else(|| key.strip_prefix("runner."))?;
    Some(&key[..key.len() - rest.len() + rest.find('.')? + 1])
}

fn numbers(config: &Config) -> BTreeMap<String, String> {
    let mut numbers = BTreeMap::new();
    let tree = serde_json::to_value(config).unwrap_or_default();
    let sections = tree.as_object().into_iter().flatten().filter(|(section, _)| !OF_OTHERS.contains(&section.as_str()));
    sections.for_each(|(section, value)| add(&mut numbers, section, value));
    numbers
}

fn add(numbers: &mut BTreeMap<String, String>, key: &str, value: &Value) {
    match value {
        Value::Object(below) => below.iter().for_each(|(name, value)| add(numbers, &format!("{key}.{name}"), value)),
        // FNV-1a, because the number must be the same in every build.
        _ => {
            let hash = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
            let number = value.to_string().bytes().fold(0xcbf2_9ce4_8422_2325_u64, hash);
            numbers.insert(key.to_owned(), format!("{number:016x}"));
        }
    }
}
