//! Runs every check and prints the results, for people or as JSON.
//!
//! The configuration in force, and where each value comes from.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value as Json;

use crate::commands::doctor::checks;
use crate::commands::doctor::checkup::{CLOSED_CHECKED, Checkup, MOMENT, entries, word};
use crate::commands::doctor::findings::{Facts, Finding, Findings};
use crate::commands::doctor::installation::setup;
use crate::commands::doctor::progress::Progress;
use crate::commands::doctor::workflows::documents;
use crate::commands::doctor::workflows::road::Road;
use askbox_cli::args::askbox_args::Doctor;
use askbox_cli::{Context, columns, program};
use askbox_config::{self as config, Loaded};
use askbox_mailbox::overview::past_rounds;
use askbox_mailbox::platform::weaker::{self, Weaker};
use askbox_mailbox::{Error, Folder, Mailbox, Result, disk, presence, text};

/// The output of `askbox doctor`.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    findings: Vec<Finding>,
    /// The number of further problems that need a line of their own and are not listed. Missing if there are none.
    more: Option<u64>,
    /// The parts that could not be checked, with the reason. Missing if everything was checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_checked: Vec<String>,
    /// True if a watcher is running on the mailbox.
    watcher: bool,
    /// About the watcher, for people.
    #[serde(skip)]
    about_watcher: &'static str,
    /// The road of the workflow's newest round. Missing if the whole mailbox was checked.
    road: Option<Road>,
    #[serde(flatten)]
    facts: Facts,
    /// The promises that are weaker on this system. Missing on Linux.
    #[serde(skip_serializing_if = "<[Weaker]>::is_empty")]
    weaker: &'static [Weaker],
    /// The configuration in force. People see more than its first two values only with `--config`.
    in_force: Vec<Value>,
}

/// Refuses to check a mailbox of another user as root, as `sudo askbox doctor` does. Every file would count as a problem, and the commands
/// that solve them would give the mailbox to root.
fn refuse_for_another_user(root: &Path) -> Result<()> {
    let owner = disk::metadata(root).map(|meta| meta.uid()).unwrap_or_default();
    if owner == 0 || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let problem = format!("this runs as root, and the mailbox {} belongs to user {owner}", text::path_word(root));
    Err(Error::usage(problem, format!("run it as that user, without sudo; as root: sudo -u '#{owner}' askbox doctor")))
}

/// True if a watcher runs. If something waits for one, it is looked for during [`MOMENT`], because it may be restarting.
fn is_watched(mailbox: &Mailbox) -> bool {
    let waits = || [Folder::Answered, Folder::Running, Folder::Timers].iter().any(|kind| entries(&mailbox.folder(*kind)).next().is_some());
    let begun = Instant::now();
    loop {
        if presence::anybody(mailbox).unwrap_or(false) {
            return true;
        }
        if begun.elapsed() >= MOMENT || !waits() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs every check and prints the report. Returns 1 if there is a problem.
pub fn run(args: &Doctor, context: &Context) -> Result<u8> {
    if args.checks {
        return checks::list(args.common.json).map(|()| 0);
    }
    let root = Mailbox::locate(args.common.mailbox.as_deref())?;
    refuse_for_another_user(&root)?;
    let flag = args.common.mailbox.as_ref().map_or_else(String::new, |_| format!(" --mailbox {}", word(&root)));
    let (mailbox, refused) = match Mailbox::open_to_look(&root) {
        Ok(mailbox) => (Some(mailbox), None),
        Err(error) if args.id.is_some() => return Err(error),
        Err(error) => (None, Some(error)),
    };
    let is_missing = matches!(refused, Some(Error::NotFound { .. }));
    let is_whole = args.id.is_none();
    let watcher = mailbox.as_ref().is_some_and(is_watched);
    let config = context.loaded().map(|l| l.config.clone()).unwrap_or_default();
    let newest = |mailbox: &Mailbox| past_rounds::closed_last(mailbox, CLOSED_CHECKED).ok();
    let closed = mailbox.as_ref().filter(|_| is_whole).and_then(newest).unwrap_or_default();
    let mut checkup = Checkup {
        root,
        mailbox,
        is_missing,
        only: args.id.clone(),
        newest: None,
        config,
        loaded: context.loaded(),
        only_answers: false,
        watcher,
        stale: args.stale,
        flag,
        all_rounds: args.all_rounds,
        closed,
        context: context.clone(),
        findings: Findings::default(),
        says: Vec::new(),
        facts: Facts::default(),
        seen: HashSet::new(),
        progress: Progress::new(),
        moment: Some(MOMENT),
        is_codex_silent: false,
    };
    checkup.only_answers = checkup.loaded.is_ok() && setup::only_answers(&checkup);
    let mut road = None;
    if let Some((mailbox, id)) = checkup.asked() {
        documents::check_known(&mailbox, &id)?;
        road = Road::of_workflow(&checkup, &checkup.teller(&mailbox), &id);
    }
    checkup.newest = road.as_ref().map(Road::newest);
    checks::run(&mut checkup);
    // A signal may have stopped it.
    let is_stopped = checkup.watcher_process().is_some_and(|watcher| watcher.is_stopped);
    let about_watcher = match &refused {
        Some(Error::NotFound { .. }) => "There is no mailbox yet; askbox setup makes it, and so does the first ask-post.\n",
        Some(_) => "The mailbox cannot be used as it is, so no watcher can run.\n",
        None if is_stopped => "A watcher is there, but a signal has stopped it.\n",
        None if watcher => "A watcher is running.\n",
        None if checkup.newest.is_some_and(|newest| !newest.is_open) => "No watcher is running.\n",
        None if checkup.loaded.is_err() => "No watcher is running. First mend the configuration, then start one with: relaunch watch\n",
        None => "No watcher is running; start one with: relaunch watch\n",
    };
    let mut not_checked = Vec::new();
    if let Some(error) = refused.filter(|_| !is_missing) {
        let what = "questions, answers, runs, checkpoints, workflows and waits were not checked, because the mailbox cannot be used";
        not_checked.push(format!("{what}: {error}"));
    }
    if checkup.only_answers && is_whole {
        let why = "nothing was asked on this computer, claude is not installed, and the configuration names other machines";
        not_checked.push(format!("runners and the mailbox, as from here one only answers: {why}"));
    }
    if checkup.loaded.is_err() && is_whole {
        not_checked.push("runners, notifier, metrics and folders of the configuration were not checked, because it cannot be read".into());
    }
    let all_values = args.config || args.common.json;
    let values = || values(&checkup.root, args.common.mailbox.is_some(), all_values, checkup.loaded.as_deref().ok());
    let in_force = if is_whole { values() } else { Vec::new() };
    // Dropping the progress removes its line from the terminal.
    drop(checkup.progress);
    let more = Some(checkup.findings.more).filter(|more| *more > 0);
    let findings = checkup.findings.told();
    // The road names the command that mends it.
    let is_held_up = road.as_ref().is_some_and(Road::is_held_up);
    let report = Report {
        ok: findings.is_empty() && !is_held_up,
        findings,
        more,
        not_checked,
        watcher,
        about_watcher,
        road,
        facts: checkup.facts,
        weaker: weaker::here(),
        in_force,
    };
    program::print_result(args.common.json, &report, &report.words())?;
    Ok(u8::from(!report.ok))
}

impl Report {
    fn words(&self) -> String {
        let row = |v: &Value| [v.key.clone(), text::excerpt(&v.value.to_string(), 80), v.from.clone()];
        let rows: Vec<[String; 3]> = self.in_force.iter().map(row).collect();
        let mut out = if rows.is_empty() { String::new() } else { columns::table(["IN FORCE", "VALUE", "FROM"], &rows) + "\n" };
        out.push_str(self.about_watcher);
        out.push_str(&self.facts.words());
        out.push_str(&weaker::words(self.weaker));
        out.extend(self.road.iter().map(|road| format!("\n{}\n", road.words())));
        let is_held_up = self.road.as_ref().is_some_and(Road::is_held_up);
        match self.findings.iter().map(Finding::count).sum::<u64>() {
            0 if is_held_up => out.push_str("No other problem found.\n"),
            0 => out.push_str("No problems found.\n"),
            1 => out.push_str("1 problem found:\n"),
            n => out.push_str(&format!("{n} problems found:\n")),
        }
        out.extend(self.findings.iter().map(Finding::words));
        out.extend(self.not_checked.iter().map(|said| format!("\nnot checked: {said}\n")));
        out.extend(self.more.map(|more| format!("\n{more} more problems are not listed: solve these first\n")));
        out
    }
}

/// One value in force.
#[derive(Debug, Clone, Serialize)]
struct Value {
    /// The key as in the configuration file, or `mailbox` or `config`.
    pub key: String,
    /// Its value.
    pub value: Json,
    /// `--FLAG`, `$VARIABLE`, `file` or `default`.
    pub from: String,
}

/// The paths of the mailbox and of the configuration. With `all`, also every value in force. If the configuration cannot be read, returns
/// only the two paths, because the programs would not start.
fn values(root: &Path, by_flag: bool, all: bool, loaded: Option<&Loaded>) -> Vec<Value> {
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
    for (name, runner) in names.iter().filter_map(|name| config.runner.find(Some(name)).ok()) {
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
