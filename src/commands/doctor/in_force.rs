//! The configuration in force, and where each value comes from.

use std::path::Path;

use serde::Serialize;
use serde_json::Value as Json;

use askbox_config::{self as config, Loaded};

/// One value in force.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Value {
    /// The key as in the configuration file, or `mailbox` or `config`.
    pub key: String,
    /// Its value.
    pub value: Json,
    /// `--FLAG`, `$VARIABLE`, `file` or `default`.
    pub from: String,
}

/// The paths of the mailbox and of the configuration. With `all`, also every value in force. If the configuration cannot be read, returns
/// only the two paths, because the programs would not start.
pub(super) fn values(root: &Path, by_flag: bool, all: bool, loaded: Option<&Loaded>) -> Vec<Value> {
    let path = |p: &Path| Json::from(p.display().to_string());
    let is_set = |name: &&&str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let variable = |names: &[&str]| names.iter().find(is_set).map_or_else(|| "default".to_owned(), |n| format!("${n}"));
    let from = if by_flag { "--mailbox".to_owned() } else { variable(&["ASKBOX_DIR"]) };
    let missing = if loaded.is_some_and(|l| l.file.is_none()) { ", not there" } else { "" };
    let mut values = vec![
        Value { key: "mailbox".into(), value: path(root), from },
        Value {
            key: "config".into(),
            value: config::location().as_deref().map_or(Json::Null, path),
            from: variable(&["ASKBOX_CONFIG", "XDG_CONFIG_HOME"]) + missing,
        },
    ];
    let Some(loaded) = loaded.filter(|_| all) else { return values };
    let config = &loaded.config;
    // Every runner of the file and the default runner, each with its defaults.
    let mut tree = serde_json::to_value(config).unwrap_or_default();
    let default = Some(&config.runner.default).filter(|name| !config.runner.named.contains_key(*name));
    let names: Vec<&String> = config.runner.named.keys().chain(default).collect();
    for (name, runner) in names.iter().filter_map(|name| config.runner(Some(name)).ok()) {
        tree["runner"][name] = serde_json::to_value(runner).unwrap_or_default();
    }
    for config::Key { path: key, .. } in config::keys() {
        let keys: Vec<String> = match key.split_once(".*.") {
            Some(("target", rest)) => config.target.keys().map(|name| format!("target.{name}.{rest}")).collect(),
            Some(("peers", rest)) => config.peers.keys().map(|name| format!("peers.{name}.{rest}")).collect(),
            Some((_, rest)) => names.iter().map(|name| format!("runner.{name}.{rest}")).collect(),
            None => vec![(*key).to_owned()],
        };
        for key in keys {
            let mut value = key.split('.').fold(&tree, |tree, piece| &tree[piece]).clone();
            // Its values may be secret, and people show the doctor's output to others.
            if key.ends_with(".env") {
                value.as_object_mut().into_iter().flatten().for_each(|(_, value)| *value = "(set)".into());
            }
            // Anybody who knows such an address can read the messages sent there, or send some.
            let is_of_target = key.starts_with("target.") && [".webhook", ".ntfy", ".ntfy_replies"].iter().any(|end| key.ends_with(end));
            let is_secret = is_of_target || key == "traces.url";
            if is_secret && value != "" {
                value = "(set)".into();
            }
            let from = if loaded.set.contains(&key) { "file" } else { "default" };
            values.push(Value { key, value, from: from.into() });
        }
    }
    values
}
