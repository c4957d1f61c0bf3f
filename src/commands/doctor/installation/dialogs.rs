//! Settings and versions that keep the dialogs of attended sessions out of the mailbox, although `[live]` is switched on. Also the newest
//! dialog that could not be asked.

use std::path::Path;
use std::time::Duration;

use crate::commands::doctor::checkup::{Checkup, edit, problem};
use crate::commands::doctor::installation::claude_files::{self, MANAGED};
use crate::commands::doctor::installation::plugins;
use crate::commands::hook::at_terminal;
use crate::commands::setup::news_hooks;
use askbox_config::{Event, Target};
use askbox_mailbox::{audit, dialogs, programs, text, time};

/// A dialog that could not be asked longer ago than this is not reported.
const LATELY: Duration = Duration::from_secs(86_400);

pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let live = &checkup.config.live;
    let (claude, has_news) = (live.enabled, !live.news.is_empty());
    let others = [(live.opencode, plugins::OPENCODE), (live.experimental_copilot, plugins::COPILOT)];
    let is_live = claude || live.codex || has_news || others.iter().any(|(is_on, _)| *is_on);
    if claude {
        of_claude(checkup);
    }
    others.iter().filter(|(is_on, _)| *is_on).for_each(|(_, program)| plugins::look(checkup, program));
    of_news(checkup);
    if is_live {
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
    MANAGED.iter().for_each(|path| settings(checkup, Path::new(path), true));
    plugins::look(checkup, &plugins::CLAUDE);
    if let Some(folder) = claude_files::config_dir() {
        settings(checkup, &folder.join("settings.json"), false);
        let holds = |file: &str, word: &str| claude_files::text_of(&folder.join(file)).contains(word);
        if !holds("skills/askbox/hooks/hooks.json", "PermissionRequest") && !holds("plugins/installed_plugins.json", "\"askbox@") {
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
        let of_answers = programs::ALL.iter().find(|facts| facts.by == entry.by).map(|facts| facts.name);
        let program = of_answers.or_else(|| entry.by.strip_prefix(at_terminal::BY)).unwrap_or("askbox");
        checkup.report("dialog", "audit.jsonl", said, format!("{program} --version"));
    }
}

/// Reports settings of Claude Code that leave no dialog, or no hook beside it.
fn settings(checkup: &mut Checkup, path: &Path, is_managed: bool) {
    let settings = claude_files::settings(path);
    let mode = settings["permissions"]["defaultMode"].as_str().unwrap_or_default();
    let all = [
        (settings["disableAllHooks"] == true, "disableAllHooks is true, so no dialog reaches the mailbox"),
        (is_managed && settings["allowManagedHooksOnly"] == true, "allowManagedHooksOnly is true, so no dialog reaches the mailbox"),
        (
            settings["askUserQuestionTimeout"].as_str().is_some_and(|time| time != "never"),
            "askUserQuestionTimeout lets a question go on without an answer, also while it waits in the mailbox",
        ),
        (mode == "dontAsk", "permissions.defaultMode is dontAsk, so sessions open no dialog"),
        (mode == "auto", "permissions.defaultMode is auto, so Claude Code decides about most calls without a dialog"),
    ];
    plugins::settings(checkup, path, &all);
}
