//! Checks outside the mailbox: the programs, the configuration, and the folders that it names.
//!
//! Limits on money that nothing can enforce: the agent tells no cost, so its runs count as free.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::Access;
use rustix::io::Errno;

use crate::commands::doctor::checkup::{Checkup, edit, is_claude, problem, word};
use askbox_agent::claude;
use askbox_config::{self as config, FenceMode, Runner, RunnerKind};
use askbox_mailbox::{Error, LockHolder, SecretKey, disk, list, text, time};
use askbox_run::story::begun_with;
use askbox_run::story::cause::{edit_configuration, startable};
use askbox_run::{launch, programs, run_processes};

const PROGRAMS: [&str; 4] = ["ask-post", "ask-answer", "checkpoint", "relaunch"];

/// True if this computer only answers questions of other machines: its configuration names some, nothing was ever asked here, and no agent
/// is installed.
pub(in crate::commands::doctor) fn only_answers(checkup: &Checkup) -> bool {
    let has_agent = |runner: &Runner| runner.program != "claude" || programs::find(Path::new(&runner.program)).is_ok();
    !checkup.watcher
        && checkup.config.names_other_machines()
        && checkup.config.runner.in_use().is_ok_and(|runners| !runners.iter().any(|(_, runner)| has_agent(runner)))
        && checkup.mailbox.as_ref().map_or_else(|| !disk::exists(&checkup.root), list::is_unused)
}

/// Reports that the configuration cannot be read, or that others may write it. No agent is launched until it can be read.
pub(in crate::commands::doctor) fn configuration(checkup: &mut Checkup) {
    let Some(path) = config::location() else { return };
    if let Err(error) = &checkup.loaded {
        let (shown, said) = (path.display().to_string(), problem(error));
        let said = said.strip_prefix(&format!("{shown}: ")).unwrap_or(&said).to_owned();
        let mend = if matches!(error, Error::NotFound { .. }) { "askbox init".to_owned() } else { edit(&path) };
        checkup.report("config", shown, format!("{said}; until then no agent is launched"), mend);
    }
    // The configuration says which programs are run, so nobody else may write it.
    let Ok(meta) = path.metadata() else { return };
    let (shown, mode, me) = (path.display().to_string(), meta.mode() & 0o777, rustix::process::geteuid().as_raw());
    if mode & 0o022 != 0 {
        let said = format!("other users may write it (mode {mode:04o}) and so choose what is executed");
        checkup.report("config_mode", &shown, said, format!("chmod go-w {}", word(&path)));
    }
    if ![me, 0].contains(&meta.uid()) {
        checkup.report("config_owner", &shown, format!("belongs to user {}", meta.uid()), format!("sudo chown {me} {}", word(&path)));
    }
}

/// Reports that no agent can be launched here, because processes cannot be seen.
pub(in crate::commands::doctor) fn processes(checkup: &mut Checkup) {
    if let Err(error) = run_processes::check_visible() {
        checkup.report("proc", "/proc", problem(&error), "mount -t proc proc /proc");
    }
}

/// Checks the programs of the runners, or of the runner of the only workflow.
pub(in crate::commands::doctor) fn runners(checkup: &mut Checkup) {
    let runners = match &checkup.only {
        Some(id) => checkup.config.runner_of(id).map(|one| vec![one]),
        None => checkup.config.runner.in_use().map(|all| all.into_iter().collect()),
    };
    match runners {
        Ok(runners) => runners.iter().for_each(|(name, one)| runner(checkup, name, one)),
        Err(error) => checkup.report("config", "runner.default", problem(&error), edit_configuration()),
    }
}

fn runner(checkup: &mut Checkup, name: &str, runner: &Runner) {
    let mode = runner.permission_mode.as_str();
    if is_claude(runner) && !mode.is_empty() && !claude::PERMISSION_MODES.contains(&mode) {
        let known = claude::PERMISSION_MODES.join(", ");
        let said = format!("claude knows no permission mode `{mode}` and would refuse to start; known: {known}");
        checkup.report("permission_mode", format!("runner.{name}.permission_mode"), said, edit_configuration());
    }
    if let Err(error) = programs::of_runner(runner) {
        checkup.report("no_runner", format!("runner.{name}.program"), problem(&error), startable(runner));
    }
}

/// Checks that answers can be signed here so that they count.
pub(in crate::commands::doctor) fn signing(checkup: &mut Checkup) {
    let answers = checkup.config.answers.clone();
    let path = &answers.sign_key;
    let found = match (!path.as_os_str().is_empty()).then(|| SecretKey::read(path)) {
        Some(Err(error)) => {
            let mend = if path.exists() { format!("chmod 600 {}", word(path)) } else { format!("askbox keygen {}", word(path)) };
            Some((format!("answers cannot be signed: {}", problem(&error)), mend))
        }
        Some(Ok(key)) if !answers.trusted_keys.is_empty() && !answers.trusted_keys.iter().any(|trusted| trusted.is_of(&key)) => {
            let said = "its public half is not in answers.trusted_keys, so that what it signs does not count";
            Some((said.to_owned(), format!("askbox keygen --public {}", word(path))))
        }
        _ => None,
    };
    if let Some((said, mend)) = found {
        checkup.report("sign_key", "answers.sign_key", said, mend);
    }
    if let Some(Err(error)) = answers.sign_command.first().map(|program| programs::find(Path::new(program))) {
        let said = format!("answers cannot be signed: {}", problem(&error));
        checkup.report("sign_command", "answers.sign_command", said, edit_configuration());
    }
}

/// Reports that the agents have no fence, or no runs, because this system cannot hold one. Nobody is told what no setting changes, unless
/// a fence is a must.
pub(in crate::commands::doctor) fn fence(checkup: &mut Checkup) {
    let mode = checkup.config.fence.mode;
    let obstacle = askbox_fence::obstacle();
    if mode == FenceMode::Off || (mode == FenceMode::Auto && obstacle.is_some_and(|obstacle| obstacle.is_lasting)) {
        return;
    }
    let known = obstacle.map(|obstacle| format!("{}: {}", obstacle.why, obstacle.todo));
    if let Some(why) = known.or_else(launch::try_fence) {
        let so = if mode == FenceMode::On { "no run is launched" } else { "each run can touch what decides" };
        checkup.report("no_fence", "fence.mode", format!("{so}, because there is no fence here: {why}"), edit_configuration());
    }
}

pub(in crate::commands::doctor) fn folders(checkup: &mut Checkup) {
    let (relaunch, metrics) = (checkup.config.relaunch.clone(), checkup.config.metrics.file.clone());
    let roots = relaunch.cwd_roots.iter().map(|path| ("relaunch.cwd_roots", path.as_path()));
    let dirs = relaunch.config_dirs.iter().map(|path| ("relaunch.config_dirs", path.as_path()));
    let of_metrics = metrics.parent().filter(|folder| folder.is_absolute()).map(|folder| ("metrics.file", folder));
    for (key, path) in roots.chain(dirs).chain(of_metrics).filter(|(_, path)| !path.is_dir()) {
        checkup.report("no_folder", key, format!("the folder {} does not exist", path.display()), format!("mkdir -p {}", word(path)));
    }
    metrics_file(checkup, &metrics);
}

/// Checks the folder of the metrics file: the metrics are written to a second file there, which is then renamed.
fn metrics_file(checkup: &mut Checkup, file: &Path) {
    let Some(folder) = file.parent().filter(|folder| folder.is_dir()) else { return };
    let (said, mend) = if file.is_dir() {
        (format!("{} is a folder; name a file in it", file.display()), edit_configuration())
    } else {
        let Err(why) = rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK) else { return };
        let is_mine = folder.metadata().is_ok_and(|about| about.uid() == rustix::process::geteuid().as_raw());
        let can_mend = is_mine && why == Errno::ACCESS;
        let mend = if can_mend { format!("chmod u+wx {}", word(folder)) } else { edit_configuration() };
        (format!("the folder {} cannot be written: {}", folder.display(), std::io::Error::from(why)), mend)
    };
    checkup.report("no_metrics", "metrics.file", said, mend);
}

/// Checks that local times are those of the time zone that the person named.
pub(in crate::commands::doctor) fn time_zone(checkup: &mut Checkup) {
    if let Some(zone) = time::unknown_zone() {
        let quiet = if checkup.config.notify.quiet.are_set() { ", also those of notify.quiet" } else { "" };
        let said = format!("this system does not know the time zone `{}`, so all local times are in UTC{quiet}", text::excerpt(&zone, 60));
        checkup.report("time_zone", "$TZ", said, "unset TZ   # or export TZ=Europe/Berlin, with the package tzdata installed");
    }
}

/// Checks that the programs of askbox are found. A relaunched agent finds the small programs beside `relaunch`, and all others on PATH.
pub(in crate::commands::doctor) fn all_programs(checkup: &mut Checkup) {
    let own = std::env::current_exe().ok().and_then(|p| p.parent().map(Path::to_path_buf)).unwrap_or_default();
    for name in PROGRAMS {
        if programs::find(&own.join(name)).is_err() && programs::find(Path::new(name)).is_err() {
            let said = format!("is neither in {} nor on PATH; the five programs are installed together", own.display());
            checkup.report("no_program", name, said, how_to_install(&own));
        }
    }
    programs_of_the_watcher(checkup);
}

/// Checks the program files that a running watcher uses, because they may be gone. A watcher starts every supervisor from its own program
/// file, and the supervisor looks for programs beside that file.
fn programs_of_the_watcher(checkup: &mut Checkup) {
    let Some(watcher) = checkup.watcher_process() else { return };
    let Some(relaunch) = watcher.file() else { return };
    let folder = relaunch.parent().map(Path::to_path_buf).unwrap_or_default();
    let askbox = Some(folder.join("askbox")).filter(|_| programs::find(Path::new("askbox")).is_err());
    for file in [Some(relaunch), askbox].into_iter().flatten().filter(|file| programs::find(file).is_err()) {
        let said = format!("is not there any more, and the running watcher, process {}, starts agents with it", watcher.pid);
        checkup.report("no_program", file.display().to_string(), said, how_to_install(&folder));
    }
}

/// Reports the keys of the configuration that have changed since the watcher began.
pub(in crate::commands::doctor) fn newer_configuration(checkup: &mut Checkup) {
    let Some((mailbox, LockHolder { pid, .. })) = checkup.mailbox.clone().zip(checkup.watcher_process()) else { return };
    for key in begun_with::changed_since(&mailbox, &checkup.config, pid) {
        let new_runs = if key.starts_with("runner.") || key.starts_with("limits.") { "; new runs use the new one" } else { "" };
        let said = format!("changed since the watcher, process {pid}, began, and the watcher uses the old value{new_runs}");
        checkup.report("newer_configuration", key, said, checkup.restart(pid));
    }
}

/// The command that installs the programs again in the same way as this one was installed. Its folder shows which way that was.
fn how_to_install(own: &Path) -> String {
    let part = |name: &str| own.components().any(|part| part.as_os_str() == name);
    if part("node_modules") {
        // These are npm's own names of processors.
        let processor = std::env::consts::ARCH.replace("x86_64", "x64").replace("aarch64", "arm64");
        format!("npm install -g npm-askbox-*.tgz npm-linux-{processor}-*.tgz")
    } else if part("Cellar") {
        "brew reinstall askbox".to_owned()
    } else if part(".cargo") {
        "cargo install --locked --profile dist --path .".to_owned()
    } else {
        format!("tar -xzf askbox-*.tar.gz && cp askbox-*/bin/* {}", word(own))
    }
}

/// Reports the runners whose agents tell no cost, if money is limited.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let limits = &checkup.config.limits;
    let all = [
        ("run_cost", limits.run_cost),
        ("workflow_cost", limits.workflow_cost),
        ("tree_cost", limits.tree_cost),
        ("day_cost", limits.day_cost),
    ];
    let set: Vec<String> = all.iter().filter(|(_, usd)| *usd > 0.0).map(|(key, _)| format!("limits.{key}")).collect();
    if set.is_empty() {
        return;
    }
    for (name, runner) in checkup.runners() {
        let Some(preset) =
            runner.agent(&name).filter(|preset| runner.kind == RunnerKind::Acp && !preset.tells_cost && runner.prices.is_empty())
        else {
            continue;
        };
        let said = format!(
            "{} cannot be enforced: {} tells no cost, so its runs count as free; name its prices, or limit runs by limits.run_time and limits.tree_time",
            set.join(", "),
            preset.name
        );
        checkup.report("no_cost", format!("runner.{name}"), said, edit_configuration());
    }
}
