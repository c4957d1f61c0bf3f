//! Everything that keeps the dialogs of opencode's sessions out of the mailbox, although `live.opencode` is switched on.

use std::path::Path;

use crate::commands::doctor::checkup::Checkup;
use crate::commands::doctor::installation::agent_version;
use crate::commands::setup::opencode::{self, Installed};
use askbox_agent::claude::Version;
use askbox_mailbox::text;
use askbox_run::process::programs;

/// The oldest version whose dialogs were tried with the mailbox.
const OLDEST: &str = "1.18.33";
/// The key of askbox's configuration.
const KEY: &str = "live.opencode";
/// The command that writes the plugin.
const WRITE: &str = "askbox setup --only live --opencode";

/// Reports an `opencode` that is missing or too old, and a plugin that is missing or belongs to another version.
pub(super) fn look(checkup: &mut Checkup) {
    program(checkup);
    let Some(path) = opencode::path() else { return };
    match opencode::installed(&path) {
        Installed::This => {}
        Installed::Missing => {
            checkup.report("live_without_plugin", KEY, "live.opencode is set, but the plugin for opencode is not there", WRITE);
        }
        Installed::Other => {
            let said = "this is not the plugin for opencode of this version of askbox";
            let mend = format!("rm {} && {WRITE}", text::path_word(&path));
            checkup.report("live_plugin", path.display().to_string(), said, mend);
        }
    }
}

fn program(checkup: &mut Checkup) {
    let Ok(program) = programs::find(Path::new("opencode")) else {
        let said = "live.opencode is set, but the program `opencode` is not on PATH";
        return checkup.report("live_without_opencode", KEY, said, "npm install -g opencode-ai");
    };
    // Its whole output is the version.
    let version = agent_version::said(&program).as_deref().and_then(Version::parse);
    if let (Some(version), Some(oldest)) = (version, Version::parse(OLDEST))
        && version < oldest
    {
        let said = format!("opencode {version} is older than {OLDEST}, the oldest one whose dialogs were tried with the mailbox");
        checkup.report("live_version", text::file_name(&program), said, "opencode upgrade");
    }
}
