//! The doctor and Codex: everything that keeps the dialogs of its sessions out of the mailbox.

use serde_json::Value;

use super::{configure, findings, finds, report, well};
use crate::support::codex::{Daemon, socket};
use crate::support::{World, files};

const ON: &str = "[live]\ncodex = true\n";

/// A world with a `codex` of this version.
fn with_codex(version: &str) -> World {
    let mut world = well();
    world.set_path(format!("{}:/usr/bin:/bin", world.path("bin").display()));
    world.sh("mkdir -p bin");
    files::write_program(&world.path("bin/codex"), &format!("#!/bin/sh\necho 'codex-cli {version}'\n"));
    world
}

#[test]
fn doctor_reports_settings_of_codex_that_ask_nobody() {
    let world = with_codex("0.169.0");
    configure(&world, ON);
    world.sh("mkdir -p .codex");
    let settings = world.path(".codex/config.toml");
    for text in ["approval_policy = \"never\"\n", "approvals_reviewer = \"auto_review\"\n", "[features]\ndaemon_auto_start = false\n"] {
        std::fs::write(&settings, text).unwrap();
        let mend = finds(&world, "live_settings", &settings.display().to_string());
        assert!(mend.starts_with("${EDITOR:-vi} "), "{text}: {mend}");
    }
    let fine = "approval_policy = \"on-request\"\napprovals_reviewer = \"user\"\n[features]\ndaemon_auto_start = true\n";
    for text in [fine, "not TOML"] {
        std::fs::write(&settings, text).unwrap();
        assert_eq!(findings(&world), [] as [Value; 0], "{text}");
    }
}

#[test]
fn doctor_says_whether_codexs_daemon_runs() {
    let world = with_codex("0.169.0");
    assert!(report(&world)["codex"].is_null());
    configure(&world, ON);
    let words = world.sh("askbox doctor");
    assert!(words.contains("Codex's daemon is not running. It starts with the first terminal") && words.contains("No problems"), "{words}");
    assert!(!world.home().join(".codex").exists(), "a look starts no daemon");
    let daemon = Daemon::start(world.home());
    assert!(world.sh("askbox doctor").contains("Codex's daemon is running.\n"));
    configure(&world, "");
    let words = world.sh("askbox doctor");
    assert!(
        words.contains("can wait in the mailbox as well: askbox setup --codex --only live\n") && words.contains("No problems"),
        "{words}"
    );
    drop(daemon);
    assert!(!world.sh("askbox doctor").contains("Codex"));
    // A daemon that hangs: the system accepts for it, and nobody answers.
    std::fs::remove_file(socket(world.home())).unwrap();
    let _hangs = std::os::unix::net::UnixListener::bind(socket(world.home())).unwrap();
    assert!(!world.sh("askbox doctor").contains("Codex"));
    configure(&world, ON);
    assert_eq!(finds(&world, "live_daemon", "live.codex"), "codex app-server daemon restart");
}

mod promises {
    use super::*;

    #[test]
    fn doctor_reports_a_codex_that_is_missing_or_old() {
        let world = with_codex("0.166.0");
        configure(&world, ON);
        assert_eq!(findings(&world), [] as [Value; 0]);
        files::write_program(&world.path("bin/codex"), "#!/bin/sh\necho 'codex-cli 0.98.1'\n");
        assert_eq!(finds(&world, "live_version", "bin/codex"), "codex update");
        std::fs::remove_file(world.path("bin/codex")).unwrap();
        assert_eq!(finds(&world, "live_without_codex", "live.codex"), "npm install -g @openai/codex");
        configure(&world, "");
        assert_eq!(findings(&world), [] as [Value; 0]);
    }
}
