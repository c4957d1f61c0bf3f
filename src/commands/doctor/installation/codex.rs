//! Codex's daemon, and everything that keeps the dialogs of its sessions out of the mailbox, although `live.codex` is switched on.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::commands::doctor::checkup::{Checkup, problem};
use crate::commands::doctor::installation::claude_files::text_of;
use crate::commands::doctor::installation::plugins;
use askbox_run::programs;
use askbox_sessions::codex;

/// How long the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Checks Codex, if its dialogs are wanted. Otherwise only looks for its daemon.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let Some(folder) = codex::folder() else { return };
    let sessions = codex::sessions(PATIENCE);
    let (asks, daemon) = (checkup.config.live.codex, matches!(sessions, Ok(Some(_))));
    if asks {
        plugins::look(checkup, &plugins::CODEX);
        settings(checkup, &folder.join("config.toml"));
        if let Err(error) = programs::find(&programs::beside(codex::LIVE)) {
            return checkup.report("live_daemon", "live.codex", error.to_string(), programs::FROM_A_CHECKOUT);
        }
        if let Err(error) = &sessions {
            return checkup.report("live_daemon", "live.codex", problem(error), "codex app-server daemon restart");
        }
    }
    let words = match (asks, daemon) {
        (true, true) => "Codex's daemon is running.\n",
        (true, false) => "Codex's daemon is not running. It starts with the first terminal that runs codex.\n",
        (false, true) => {
            "Codex's daemon is running. The dialogs of its sessions can wait in the mailbox as well: askbox setup --codex --only live\n"
        }
        (false, false) => return,
    };
    // `asks`: the dialogs of its sessions are questions of the mailbox as well. `daemon`: it runs.
    checkup.facts.add("codex", &json!({ "asks": asks, "daemon": daemon }), words.to_owned());
}

/// Reports settings of Codex that leave no dialog to a person, or no daemon.
fn settings(checkup: &mut Checkup, path: &Path) {
    let Ok(settings) = text_of(path).parse::<toml::Table>() else { return };
    let word = |key: &str| settings.get(key).and_then(toml::Value::as_str);
    let daemon = settings.get("features").and_then(|features| features.get("daemon_auto_start")).and_then(toml::Value::as_bool);
    let all = [
        (word("approval_policy") == Some("never"), "approval_policy is never, so Codex rejects calls instead of asking"),
        (
            word("approvals_reviewer").is_some_and(|reviewer| reviewer != "user"),
            "approvals_reviewer is not user, so a model decides about approvals, and no person is asked",
        ),
        (daemon == Some(false), "features.daemon_auto_start is false, so a session has no daemon that the watcher could connect to"),
    ];
    plugins::settings(checkup, path, &all);
}
