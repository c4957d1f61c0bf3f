//! The settings in force: those of the user, those of the project, its local ones, and those of the command line. Hooks and rules of all
//! of them count. A variable of a later file replaces that of an earlier one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex_lite::Regex;
use serde_json::{Value, json};

use crate::tool_names::TASK;
use askbox_cli::args::ask_agent_args::AskAgent;
use askbox_definitions::agent_file;
use askbox_mailbox::{Error, IoContext, Result};

/// How long a hook may take if its settings do not say.
const TIMEOUT: u64 = 60;

/// Everything that the settings say and this agent understands.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    /// The hooks, by the event.
    hooks: BTreeMap<String, Vec<Hook>>,
    hooks_are_disabled: bool,
    pub allow: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// The texts of the files `CLAUDE.md`.
    pub memory: String,
}

impl Settings {
    /// Reads the settings for an agent in this folder.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a file is not JSON: its rules must not be lost without a word.
    pub fn read(config_dir: &Path, cwd: &Path, args: &AskAgent) -> Result<Self> {
        let deny = agent_file::tools(&json!(args.disallowed_tools)).unwrap_or_default();
        let mut settings = Self { allow: args.allowed_tools.clone(), deny, memory: memory(config_dir, cwd), ..Self::default() };
        let of_project = cwd.join(".claude");
        let mut files = vec![config_dir.join("settings.json"), of_project.join("settings.json"), of_project.join("settings.local.json")];
        // In the home, the first two are one file.
        files.dedup();
        files.iter().try_for_each(|file| settings.take_file(file))?;
        match args.settings.as_deref() {
            None => {}
            Some(json) if json.trim_start().starts_with('{') => settings.take(json, "--settings")?,
            Some(file) => settings.take_file(Path::new(file))?,
        }
        // `Bash(git:*)` may be spelled `Bash(git *)`.
        let rules = [&mut settings.allow, &mut settings.ask, &mut settings.deny].into_iter().flatten();
        rules.for_each(|rule| *rule = rule.replace(" *)", ":*)"));
        Ok(settings)
    }

    fn take_file(&mut self, file: &Path) -> Result<()> {
        match std::fs::read_to_string(file) {
            Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => Ok(()),
            text => self.take(&text.io("read", file)?, &file.display().to_string()),
        }
    }

    fn take(&mut self, json: &str, name: &str) -> Result<()> {
        let invalid = |problem: String| Error::invalid(name.to_owned(), problem, "mend the file, or move it away");
        let value: Value = serde_json::from_str(json).map_err(|e| invalid(format!("is not JSON: {e}")))?;
        for (event, groups) in value["hooks"].as_object().into_iter().flatten() {
            for group in groups.as_array().into_iter().flatten() {
                let hooks = Hook::of_group(group).map_err(|why| invalid(format!("has a matcher that is not understood: {why}")))?;
                self.hooks.entry(event.clone()).or_default().extend(hooks);
            }
        }
        if let Some(disabled) = value["disableAllHooks"].as_bool() {
            self.hooks_are_disabled = disabled;
        }
        let rules = |key: &str| value["permissions"][key].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        self.allow.extend(rules("allow"));
        self.ask.extend(rules("ask"));
        self.deny.extend(rules("deny"));
        let env = value["env"].as_object().into_iter().flatten();
        self.env.extend(env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))));
        Ok(())
    }

    /// The hooks of an event that apply to this tool. The tool is empty in events without one.
    pub fn hooks(&self, event: &str, tool: &str) -> Vec<Hook> {
        let hooks = self.hooks.get(event).filter(|_| !self.hooks_are_disabled);
        hooks.into_iter().flatten().filter(|hook| hook.matcher.as_ref().is_none_or(|matcher| matcher.is_match(tool))).cloned().collect()
    }

    /// A variable of the environment, or of the settings.
    pub fn var(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.trim().is_empty()).or_else(|| self.env.get(name).cloned())
    }

    /// True if a rule takes the whole tool away, so that the model is not offered it.
    pub fn takes_away(&self, tool: &str) -> bool {
        // The tool that starts subagents has two names.
        self.deny.iter().any(|rule| rule == tool || tool == TASK && rule == "Agent")
    }
}

/// The texts of the files `CLAUDE.md`: the user's, and those of the working folder and of the folders above it.
fn memory(config_dir: &Path, cwd: &Path) -> String {
    let in_project = cwd.ancestors().flat_map(|folder| ["CLAUDE.local.md", "CLAUDE.md"].map(|name| folder.join(name)));
    let files = in_project.chain([config_dir.join("CLAUDE.md")]).collect::<Vec<_>>().into_iter().rev();
    let text = |file: PathBuf| Some(format!("\n\nContents of {}:\n\n{}", file.display(), std::fs::read_to_string(&file).ok()?));
    files.filter_map(text).collect()
}

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
}
