//! Everything that keeps the dialogs of opencode's, Copilot's or Qwen's sessions out of the mailbox, although their key in `[live]` is
//! switched on.

use std::path::Path;

use crate::commands::doctor::checkup::Checkup;
use crate::commands::doctor::installation::agent_version;
use crate::commands::setup::other_plugins::{Installed, OtherPlugin};
use askbox_agent::claude::Version;
use askbox_mailbox::text;
use askbox_run::process::programs;

/// A program, whose plugin may be another matter.
pub(super) struct Needed {
    program: &'static str,
    /// The key of askbox's configuration.
    key: &'static str,
    /// The oldest version whose dialogs were tried with the mailbox.
    oldest: &'static str,
    /// The finding if the program is missing.
    missing: &'static str,
    install: &'static str,
    upgrade: &'static str,
}

/// A plugin, and the program that it needs.
pub(super) struct NeededPlugin {
    plugin: OtherPlugin,
    needed: Needed,
}

pub(super) const OPENCODE: NeededPlugin = NeededPlugin {
    plugin: OtherPlugin::Opencode,
    needed: Needed {
        program: "opencode",
        key: "live.opencode",
        oldest: "1.18.33",
        missing: "live_without_opencode",
        install: "npm install -g opencode-ai",
        upgrade: "opencode upgrade",
    },
};

pub(super) const COPILOT: NeededPlugin = NeededPlugin {
    plugin: OtherPlugin::Copilot,
    needed: Needed {
        program: "copilot",
        key: "live.experimental_copilot",
        oldest: "1.0.102",
        missing: "live_without_copilot",
        install: "npm install -g @github/copilot",
        upgrade: "npm install -g @github/copilot",
    },
};

/// Qwen has no plugin.
pub(super) const QWEN: Needed = Needed {
    program: "qwen",
    key: "live.experimental_qwen",
    oldest: "0.24.4",
    missing: "live_without_qwen",
    install: "npm install -g @qwen-code/qwen-code",
    upgrade: "npm install -g @qwen-code/qwen-code",
};

/// Reports a program that is missing or too old, and a plugin that is missing or belongs to another version.
pub(super) fn look(checkup: &mut Checkup, NeededPlugin { plugin, needed }: &NeededPlugin) {
    program(checkup, needed);
    let key = needed.key;
    let Some(path) = plugin.path() else { return };
    let write = format!("askbox setup --only live {}", plugin.flag());
    match plugin.installed(&path) {
        Installed::This => {}
        Installed::Missing => {
            let said = format!("{key} is set, but {} is not there", plugin.name());
            checkup.report("live_without_plugin", key, said, write);
        }
        Installed::Other => {
            let said = format!("this is not {} of this version of askbox", plugin.name());
            let mend = format!("rm {} && {write}", text::path_word(&path));
            checkup.report("live_plugin", path.display().to_string(), said, mend);
        }
    }
}

/// Reports a program that is missing or too old.
pub(super) fn program(checkup: &mut Checkup, needed: &Needed) {
    let (name, key) = (needed.program, needed.key);
    let Ok(program) = programs::find(Path::new(name)) else {
        let said = format!("{key} is set, but the program `{name}` is not on PATH");
        return checkup.report(needed.missing, key, said, needed.install);
    };
    let version = agent_version::said(&program).and_then(|said| said.split_whitespace().find_map(version));
    if let (Some(version), Some(oldest)) = (version, Version::parse(needed.oldest))
        && version < oldest
    {
        let said = format!("{name} {version} is older than {oldest}, the oldest one whose dialogs were tried with the mailbox");
        checkup.report("live_version", text::file_name(&program), said, needed.upgrade);
    }
}

/// The version in a word of the output. opencode and Qwen print nothing else, and Copilot a sentence.
fn version(word: &str) -> Option<Version> {
    Version::parse(word.trim_end_matches('.'))
}
