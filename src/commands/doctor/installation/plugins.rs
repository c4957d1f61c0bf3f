//! The programs whose dialogs can wait in the mailbox: whether each is there, is new enough, and has its plugin.

use std::path::Path;

use crate::commands::doctor::checkup::{Checkup, edit};
use crate::commands::doctor::installation::agent;
use crate::commands::setup::other_plugins::{self, Installed, OtherPlugin};
use askbox_agent::claude::Version;
use askbox_mailbox::text;
use askbox_run::programs;

/// A program, for which a key in `[live]` is switched on.
pub(super) struct LiveProgram {
    name: &'static str,
    key: &'static str,
    /// The oldest version whose dialogs were tried with the mailbox. An older one may tell its hooks less.
    oldest: &'static str,
    upgrade: &'static str,
    /// The kind of the finding if the program is missing, and the command that installs it.
    missing: Option<(&'static str, &'static str)>,
    plugin: Option<OtherPlugin>,
}

/// The check of the runners tells that claude is missing.
pub(super) const CLAUDE: LiveProgram =
    LiveProgram { name: "claude", key: "live.enabled", oldest: "2.1.330", upgrade: "claude update", missing: None, plugin: None };

pub(super) const CODEX: LiveProgram = LiveProgram {
    name: "codex",
    key: "live.codex",
    oldest: "0.166.0",
    upgrade: "codex update",
    missing: Some(("live_without_codex", "npm install -g @openai/codex")),
    plugin: None,
};

pub(super) const OPENCODE: LiveProgram = LiveProgram {
    name: "opencode",
    key: "live.opencode",
    oldest: "1.18.33",
    upgrade: "opencode upgrade",
    missing: Some(("live_without_opencode", "npm install -g opencode-ai")),
    plugin: Some(other_plugins::OPENCODE),
};

pub(super) const COPILOT: LiveProgram = LiveProgram {
    name: "copilot",
    key: "live.experimental_copilot",
    oldest: "1.0.102",
    upgrade: "npm install -g @github/copilot",
    missing: Some(("live_without_copilot", "npm install -g @github/copilot")),
    plugin: Some(other_plugins::COPILOT),
};

/// Reports a program that is missing or too old, and a plugin that is missing or belongs to another version.
pub(super) fn look(checkup: &mut Checkup, live: &LiveProgram) {
    let LiveProgram { name, key, oldest, .. } = live;
    match programs::find(Path::new(name)) {
        Ok(program) => {
            // Some print a sentence, or their name in front.
            let version = |word: &str| Version::parse(word.trim_end_matches('.'));
            let version = agent::said(&program).and_then(|said| said.split_whitespace().find_map(version));
            if let Some(version) = version.filter(|version| Some(*version) < Version::parse(oldest)) {
                let said = format!("{name} {version} is older than {oldest}, the oldest one whose dialogs were tried with the mailbox");
                checkup.report("live_version", text::file_name(&program), said, live.upgrade);
            }
        }
        Err(_) => {
            if let Some((kind, install)) = live.missing {
                checkup.report(kind, *key, format!("{key} is set, but the program `{name}` is not on PATH"), install);
            }
        }
    }
    let Some((plugin, path)) = live.plugin.and_then(|plugin| Some((plugin, plugin.path()?))) else { return };
    let write = format!("askbox setup --only live {}", plugin.flag);
    match plugin.installed(&path) {
        Installed::This => {}
        Installed::Missing => {
            checkup.report("live_without_plugin", *key, format!("{key} is set, but {} is not there", plugin.name), write);
        }
        Installed::Other => {
            let said = format!("this is not {} of this version of askbox", plugin.name);
            checkup.report("live_plugin", path.display().to_string(), said, format!("rm {} && {write}", text::path_word(&path)));
        }
    }
}

/// Reports what is so in these settings.
pub(super) fn settings(checkup: &mut Checkup, path: &Path, all: &[(bool, &str)]) {
    for (_, said) in all.iter().filter(|(is_so, _)| *is_so) {
        checkup.report("live_settings", path.display().to_string(), *said, edit(path));
    }
}
