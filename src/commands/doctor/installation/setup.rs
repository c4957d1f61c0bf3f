//! Checks outside the mailbox: the programs, the configuration, and the folders that it names.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::Access;
use rustix::io::Errno;

use crate::commands::doctor::checkup::{Checkup, edit, problem, word};
use crate::commands::doctor::installation::targets;
use askbox_agent::claude;
use askbox_config::{self as config, Runner};
use askbox_mailbox::disk;
use askbox_mailbox::error::Error;
use askbox_mailbox::listing::list;
use askbox_mailbox::trust::SecretKey;
use askbox_mailbox::{text, time};
use askbox_run::process::{programs, run_processes};
use askbox_run::story::cause::{edit_configuration, startable};
use askbox_watch::begun_with;

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
    who_may_write(checkup, &path);
}

/// Reports that no agent can be launched here, because processes cannot be seen.
pub(in crate::commands::doctor) fn processes(checkup: &mut Checkup) {
    if let Err(error) = run_processes::check_visible() {
        checkup.report("proc", "/proc", problem(&error), "mount -t proc proc /proc");
    }
}

fn who_may_write(checkup: &mut Checkup, path: &Path) {
    let shown = path.display().to_string();
    // The configuration says which programs are run, so nobody else may write it.
    if let Ok(meta) = path.metadata() {
        let mode = meta.permissions().mode() & 0o777;
        if mode & 0o022 != 0 {
            let said = format!("other users may write it (mode {mode:04o}) and so choose what is executed");
            checkup.report("config_mode", &shown, said, format!("chmod go-w {}", word(path)));
        }
        let me = rustix::process::geteuid().as_raw();
        if meta.uid() != me && meta.uid() != 0 {
            checkup.report("config_owner", &shown, format!("belongs to user {}", meta.uid()), format!("sudo chown {me} {}", word(path)));
        }
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
    let place = config::location().unwrap_or_default();
    let mode = runner.permission_mode.as_str();
    let is_claude = Path::new(&runner.program).file_name().is_some_and(|name| name == "claude");
    if is_claude && !mode.is_empty() && !claude::PERMISSION_MODES.contains(&mode) {
        let known = claude::PERMISSION_MODES.join(", ");
        let said = format!("claude knows no permission mode `{mode}` and would refuse to start; known: {known}");
        checkup.report("permission_mode", format!("runner.{name}.permission_mode"), said, edit(&place));
    }
    if let Err(error) = programs::of_runner(runner) {
        checkup.report("no_runner", format!("runner.{name}.program"), problem(&error), startable(runner));
    }
}

/// Checks that answers can be signed here so that they count.
pub(in crate::commands::doctor) fn signing(checkup: &mut Checkup) {
    let answers = checkup.config.answers.clone();
    let place = config::location().unwrap_or_default();
    if !answers.sign_key.as_os_str().is_empty() {
        match SecretKey::read(&answers.sign_key) {
            Err(error) => {
                let mend = match answers.sign_key.exists() {
                    true => format!("chmod 600 {}", word(&answers.sign_key)),
                    false => format!("askbox keygen {}", word(&answers.sign_key)),
                };
                checkup.report("sign_key", "answers.sign_key", format!("answers cannot be signed: {}", problem(&error)), mend);
            }
            Ok(key) if !answers.trusted_keys.is_empty() && !answers.trusted_keys.iter().any(|trusted| trusted.is_of(&key)) => {
                let said = "its public half is not in answers.trusted_keys, so that what it signs does not count";
                checkup.report("sign_key", "answers.sign_key", said, format!("askbox keygen --public {}", word(&answers.sign_key)));
            }
            Ok(_) => {}
        }
    }
    if let Some(program) = answers.sign_command.first()
        && let Err(error) = programs::find(Path::new(program))
    {
        checkup.report("sign_command", "answers.sign_command", format!("answers cannot be signed: {}", problem(&error)), edit(&place));
    }
}

pub(in crate::commands::doctor) fn folders(checkup: &mut Checkup) {
    let relaunch = &checkup.config.relaunch;
    let named = relaunch
        .cwd_roots
        .iter()
        .map(|p| ("relaunch.cwd_roots", p))
        .chain(relaunch.config_dirs.iter().map(|p| ("relaunch.config_dirs", p)));
    let metrics = checkup.config.metrics.file.parent().filter(|f| f.is_absolute()).map(|f| ("metrics.file", f.to_path_buf()));
    let missing = named.filter(|(_, path)| !path.is_dir()).map(|(key, path)| (key, path.clone()));
    let missing: Vec<_> = missing.chain(metrics.filter(|(_, folder)| !folder.is_dir())).collect();
    for (key, path) in missing {
        checkup.report("no_folder", key, format!("the folder {} does not exist", path.display()), format!("mkdir -p {}", word(&path)));
    }
    metrics_file(checkup);
}

/// Checks the folder of the metrics file: the metrics are written to a second file there, which is then renamed.
fn metrics_file(checkup: &mut Checkup) {
    let file = checkup.config.metrics.file.clone();
    let Some(folder) = file.parent().filter(|folder| folder.is_dir()) else { return };
    let place = edit_configuration();
    if file.is_dir() {
        return checkup.report("no_metrics", "metrics.file", format!("{} is a folder; name a file in it", file.display()), place);
    }
    let Err(why) = rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK) else { return };
    let mine = folder.metadata().is_ok_and(|about| about.uid() == rustix::process::geteuid().as_raw());
    let mend = if mine && why == Errno::ACCESS { format!("chmod u+wx {}", word(folder)) } else { place };
    let said = format!("the folder {} cannot be written: {}", folder.display(), std::io::Error::from(why));
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

/// Checks that the programs of askbox are there.
pub(in crate::commands::doctor) fn all_programs(checkup: &mut Checkup) {
    programs(checkup);
    programs_of_the_watcher(checkup);
}

/// Checks that the programs are found. A relaunched agent finds the small programs beside `relaunch`, and all others on PATH.
fn programs(checkup: &mut Checkup) {
    let own = std::env::current_exe().ok().and_then(|p| p.parent().map(Path::to_path_buf)).unwrap_or_default();
    for name in PROGRAMS {
        if programs::find(&own.join(name)).is_err() && programs::find(Path::new(name)).is_err() {
            let said = format!("is neither in {} nor on PATH; the five programs are installed together", own.display());
            checkup.report("no_program", name, said, how_to_install(&own));
        }
    }
}

/// Checks the program files that a running watcher uses, because they may be gone. A watcher starts every supervisor from its own program
/// file, and the supervisor looks for programs beside that file.
fn programs_of_the_watcher(checkup: &mut Checkup) {
    let Some(mailbox) = checkup.mailbox.clone().filter(|_| checkup.watcher) else { return };
    let Some(holder) = disk::lock_holder(&mailbox.lock_file("watchers")) else { return };
    let Some(relaunch) = holder.file() else { return };
    let folder = relaunch.parent().map(Path::to_path_buf).unwrap_or_default();
    let askbox = Some(folder.join("askbox")).filter(|_| programs::find(Path::new("askbox")).is_err());
    for file in [Some(relaunch), askbox].into_iter().flatten().filter(|file| programs::find(file).is_err()) {
        let said = format!("is not there any more, and the running watcher, process {}, starts agents with it", holder.pid);
        checkup.report("no_program", file.display().to_string(), said, how_to_install(&folder));
    }
}

/// Reports the keys of the configuration that have changed since the watcher began.
pub(in crate::commands::doctor) fn newer_configuration(checkup: &mut Checkup) {
    let Some(mailbox) = checkup.mailbox.clone().filter(|_| checkup.watcher) else { return };
    let Some(holder) = disk::lock_holder(&mailbox.lock_file("watchers")) else { return };
    for key in begun_with::changed_since(&mailbox, &checkup.config, holder.pid) {
        let new_runs = if key.starts_with("runner.") || key.starts_with("limits.") { "; new runs use the new one" } else { "" };
        let said = format!("changed since the watcher, process {}, began, and the watcher uses the old value{new_runs}", holder.pid);
        let mend = targets::restart(checkup, holder.pid);
        checkup.report("newer_configuration", key, said, mend);
    }
}

/// The name that npm uses for this processor.
fn npm_processor() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The command that installs the programs again in the same way as this one was installed. Its folder shows which way that was.
fn how_to_install(own: &Path) -> String {
    let part = |name: &str| own.components().any(|part| part.as_os_str() == name);
    match () {
        () if part("node_modules") => format!("npm install -g npm-askbox-*.tgz npm-linux-{}-*.tgz", npm_processor()),
        () if part("Cellar") => "brew reinstall askbox".to_owned(),
        () if part(".cargo") => "cargo install --locked --profile dist --path .".to_owned(),
        () => format!("tar -xzf askbox-*.tar.gz && cp askbox-*/bin/* {}", word(own)),
    }
}
