//! Codex's daemon, and everything that keeps the dialogs of its sessions out of the mailbox, although `live.codex` is switched on.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::commands::doctor::checkup::{Checkup, edit, problem};
use crate::commands::doctor::installation::agent_version;
use askbox_agent::claude::Version;
use askbox_mailbox::{disk, text};
use askbox_run::process::programs;
use askbox_watch::codex;

/// How long the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// The maximum size of a config.toml.
const LONGEST: u64 = 16 << 20;
/// The oldest version whose dialogs were tried with the mailbox.
const OLDEST: &str = "0.166.0";
/// The key of askbox's configuration.
const KEY: &str = "live.codex";

/// Codex's daemon, as the doctor found it.
#[derive(Debug, Serialize)]
pub(in crate::commands::doctor) struct KnownCodex {
    /// True if the dialogs of its sessions are questions of the mailbox as well.
    asks: bool,
    /// True if the daemon runs.
    daemon: bool,
}

impl KnownCodex {
    /// The daemon in words, for people.
    pub(in crate::commands::doctor) fn words(&self) -> &'static str {
        match (self.asks, self.daemon) {
            (true, true) => "Codex's daemon is running.\n",
            (true, false) => "Codex's daemon is not running. It starts with the first terminal that runs codex.\n",
            (false, _) => {
                "Codex's daemon is running. The dialogs of its sessions can wait in the mailbox as well: askbox setup --codex --only live\n"
            }
        }
    }
}

/// Checks Codex, if its dialogs are wanted. Otherwise only looks for its daemon.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    checkup.facts.codex = known(checkup);
}

fn known(checkup: &mut Checkup) -> Option<KnownCodex> {
    let folder = codex::home::folder()?;
    let sessions = codex::sessions::all(&folder, PATIENCE);
    let daemon = matches!(sessions, Ok(Some(_)));
    if !checkup.config.live.codex {
        return daemon.then_some(KnownCodex { asks: false, daemon });
    }
    program(checkup);
    settings(checkup, &folder.join("config.toml"));
    if let Err(error) = &sessions {
        checkup.report("live_daemon", KEY, problem(error), "codex app-server daemon restart");
        return None;
    }
    Some(KnownCodex { asks: true, daemon })
}

/// Reports a missing `codex`, and one whose dialogs nobody has tried.
fn program(checkup: &mut Checkup) {
    let Ok(program) = programs::find(Path::new("codex")) else {
        let said = "live.codex is set, but the program `codex` is not on PATH";
        return checkup.report("live_without_codex", KEY, said, "npm install -g @openai/codex");
    };
    let said = agent_version::said(&program).unwrap_or_default();
    let version = said.strip_prefix("codex-cli ").and_then(Version::parse);
    if let (Some(version), Some(oldest)) = (version, Version::parse(OLDEST))
        && version < oldest
    {
        let said = format!("codex {version} is older than {OLDEST}, the oldest one whose dialogs were tried with the mailbox");
        checkup.report("live_version", text::file_name(&program), said, "codex update");
    }
}

/// Reports settings of Codex that leave no dialog to a person, or no daemon.
fn settings(checkup: &mut Checkup, path: &Path) {
    let Ok(bytes) = disk::read(path, LONGEST) else { return };
    let Ok(settings) = String::from_utf8_lossy(&bytes).parse::<toml::Table>() else { return };
    let word = |key: &str| settings.get(key).and_then(toml::Value::as_str);
    let daemon = settings.get("features").and_then(|features| features.get("daemon_auto_start")).and_then(toml::Value::as_bool);
    let found = [
        (word("approval_policy") == Some("never"), "approval_policy is never, so Codex rejects calls instead of asking"),
        (
            word("approvals_reviewer").is_some_and(|reviewer| reviewer != "user"),
            "approvals_reviewer is not user, so a model decides about approvals, and no person is asked",
        ),
        (daemon == Some(false), "features.daemon_auto_start is false, so a session has no daemon that the watcher could connect to"),
    ];
    for (_, said) in found.into_iter().filter(|(is_so, _)| *is_so) {
        checkup.report("live_settings", path.display().to_string(), said, edit(path));
    }
}
