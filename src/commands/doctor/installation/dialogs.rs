//! Settings and versions that keep the dialogs of attended sessions out of the mailbox, although `[live]` is switched on. Also the newest
//! dialog that could not be asked.

use std::path::Path;
use std::time::Duration;

use crate::commands::doctor::checkup::{Checkup, edit, problem};
use crate::commands::doctor::installation::{agent_version, claude_files, plugins};
use crate::commands::hook::at_terminal;
use crate::commands::live;
use crate::commands::setup::news_hooks;
use askbox_agent::claude::{self, Version};
use askbox_config::{Event, Target};
use askbox_mailbox::{audit, dialogs, disk, text, time};
use askbox_run::dialog::orphans::BY;
use askbox_run::process::programs;

/// The maximum size of a settings.json.
const LONGEST: u64 = 16 << 20;
/// A dialog that could not be asked longer ago than this is not reported.
const LATELY: Duration = Duration::from_secs(86_400);
/// The oldest version that `[live]` was tried with.
const OLDEST: &str = "2.1.330";
/// The settings of the machine's administrator.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    if checkup.config.live.enabled {
        of_claude(checkup);
    }
    if checkup.config.live.opencode {
        plugins::look(checkup, &plugins::OPENCODE);
    }
    if checkup.config.live.experimental_copilot {
        plugins::look(checkup, &plugins::COPILOT);
    }
    if checkup.config.live.experimental_qwen {
        plugins::program(checkup, &plugins::QWEN);
    }
    of_news(checkup);
    let live = &checkup.config.live;
    if live.enabled || live.codex || live.opencode || live.experimental_copilot || live.experimental_qwen || !live.news.is_empty() {
        not_asked(checkup);
    }
}

/// Reports a program that does not tell of its dialogs although they are to be news, and files of dialogs that cannot be read.
fn of_news(checkup: &mut Checkup) {
    for program in dialogs::Program::ALL.into_iter().filter(|program| checkup.config.live.news.contains(program)).collect::<Vec<_>>() {
        let Some(file) = news_hooks::file(program).filter(|file| !news_hooks::are_in(program, file)) else { continue };
        let (name, shown) = (program.command(), file.display());
        let said = format!("live.news names {name}, but {shown} has not all hooks for it; `askbox setup --dry-run` shows its lines");
        checkup.report("live_without_hook", "live.news", said, edit(&file));
    }
    let tells = |target: &Target| target.events.contains(&Event::AtTerminal) && target.live.tells(true);
    if !checkup.config.live.news.is_empty() && !checkup.config.target.values().any(tells) {
        let said = "live.news is set, but no [target.NAME] is told of at_terminal, so nobody hears of these dialogs";
        checkup.report("live_without_target", "live.news", said, "askbox notify --help");
    }
    let unreadable = checkup.mailbox.as_ref().and_then(|mailbox| dialogs::unreadable(mailbox).ok()).unwrap_or_default();
    for (name, error) in unreadable {
        let path = checkup.root.join("dialogs").join(name);
        checkup.report("dialog", checkup.shown(&path), problem(&error), format!("rm {}", text::path_word(&path)));
    }
}

fn of_claude(checkup: &mut Checkup) {
    settings(checkup, Path::new(MANAGED), true);
    version(checkup);
    if let Some(folder) = claude::config_dir(|name| std::env::var_os(name)) {
        settings(checkup, &folder.join("settings.json"), false);
        if !has_hook(&folder) {
            let said = "live.enabled is set, but the plugin with the hook for it is not installed";
            checkup.report("live_without_hook", "live.enabled", said, "askbox setup");
        }
    }
}

/// Reports the newest dialog that could not be asked.
fn not_asked(checkup: &mut Checkup) {
    let failed = checkup.mailbox.as_ref().and_then(|mailbox| audit::last(mailbox, "dialog_not_asked"));
    if let Some(entry) = failed.filter(|entry| time::is_near(entry.at, LATELY)) {
        let said = format!("a dialog was left to its terminal {} ago: {}", time::human(time::since(entry.at)), entry.why);
        let program = match entry.by.as_str() {
            // The hook beside a dialog of Claude Code.
            BY => "claude",
            by => by.strip_prefix(live::BY).or_else(|| by.strip_prefix(at_terminal::BY)).unwrap_or("codex"),
        };
        checkup.report("dialog", "audit.jsonl", said, format!("{program} --version"));
    }
}

/// Reports a `claude` whose dialogs nobody has tried. Its hooks may be told less.
fn version(checkup: &mut Checkup) {
    let Ok(program) = programs::find(Path::new("claude")) else { return };
    let (Some(version), Some(oldest)) = (agent_version::of_program(&program), Version::parse(OLDEST)) else { return };
    if version < oldest {
        let said = format!("claude {version} is older than {OLDEST}, the oldest one whose dialogs were tried with the mailbox");
        checkup.report("live_version", text::file_name(&program), said, "claude update");
    }
}

/// Reports settings of Claude Code that leave no dialog, or no hook beside it.
fn settings(checkup: &mut Checkup, path: &Path, is_managed: bool) {
    let settings = claude_files::settings(path);
    let mode = settings["permissions"]["defaultMode"].as_str().unwrap_or_default();
    let found = [
        (settings["disableAllHooks"] == true, "disableAllHooks is true, so no dialog reaches the mailbox"),
        (is_managed && settings["allowManagedHooksOnly"] == true, "allowManagedHooksOnly is true, so no dialog reaches the mailbox"),
        (
            settings["askUserQuestionTimeout"].as_str().is_some_and(|time| time != "never"),
            "askUserQuestionTimeout lets a question go on without an answer, also while it waits in the mailbox",
        ),
        (mode == "dontAsk", "permissions.defaultMode is dontAsk, so sessions open no dialog"),
        (mode == "auto", "permissions.defaultMode is auto, so Claude Code decides about most calls without a dialog"),
    ];
    for (_, said) in found.into_iter().filter(|(is_so, _)| *is_so) {
        checkup.report("live_settings", path.display().to_string(), said, edit(path));
    }
}

/// True if the plugin was written by `askbox setup`, or installed from a marketplace.
fn has_hook(claude: &Path) -> bool {
    let holds =
        |file: &str, word: &str| disk::read(&claude.join(file), LONGEST).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(word));
    holds("skills/askbox/hooks/hooks.json", "PermissionRequest") || holds("plugins/installed_plugins.json", "\"askbox@")
}
