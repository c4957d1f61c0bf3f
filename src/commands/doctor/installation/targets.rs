//! The places where people are notified: whether each can be reached, and when that last worked.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::Serialize;

use crate::commands::doctor::checkup::{Checkup, HANGS, edit, hanging, word};
use crate::commands::setup::systemd;
use askbox_config::{self as config, COMMAND, Means, Target};
use askbox_mailbox::platform::processes;
use askbox_mailbox::{Mailbox, disk, text, time};
use askbox_run::process::programs;
use askbox_watch::news::arrivals::{self, Arrival, Kind};
use askbox_watch::news::{self, reachable, waiting};

/// One target and its history.
#[derive(Debug, Serialize)]
pub(in crate::commands::doctor) struct KnownTarget {
    target: String,
    /// `exec`, `desktop`, `webhook` or `ntfy`.
    by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_sent: Option<Arrival>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_confirmed: Option<Arrival>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_failed: Option<Arrival>,
}

/// The state of every target.
fn known(checkup: &Checkup) -> Vec<KnownTarget> {
    let targets = config::targets(&checkup.config.notify, &checkup.config.target);
    let last = |target: &str, kind| checkup.mailbox.as_ref().and_then(|mailbox: &Mailbox| arrivals::last(mailbox, target, kind));
    let known = targets.iter().filter_map(|(name, target)| {
        Some(KnownTarget {
            by: match target.means()? {
                Means::Exec(_) => "exec",
                Means::Desktop => "desktop",
                Means::Webhook(_) => "webhook",
                Means::Ntfy(_) => "ntfy",
            },
            last_sent: last(name, Kind::Sent),
            last_confirmed: last(name, Kind::Confirmed),
            last_failed: last(name, Kind::Failed),
            target: name.clone(),
        })
    });
    known.collect()
}

impl KnownTarget {
    /// One line about the target, for people.
    pub(in crate::commands::doctor) fn words(&self) -> String {
        let ago = |what: &str, arrival: &Option<Arrival>| match arrival {
            Some(arrival) => format!("last {what} {} ago", time::human(time::since(arrival.at))),
            None => format!("never {what}"),
        };
        let failed = self.last_failed.as_ref().map(|_| format!(", {}", ago("failed", &self.last_failed))).unwrap_or_default();
        let (sent, confirmed) = (ago("told", &self.last_sent), ago("confirmed", &self.last_confirmed));
        format!("Target {} ({}): {sent}, {confirmed}{failed}.\n", self.target, self.by)
    }

    /// The target's last failure, if nothing was sent successfully after it.
    fn failing(&self) -> Option<&Arrival> {
        self.last_failed.as_ref().filter(|failed| self.last_sent.as_ref().is_none_or(|sent| sent.at <= failed.at))
    }
}

/// Reports targets that cannot be notified.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let place = config::location().unwrap_or_default();
    for (name, target) in checkup.config.target.clone() {
        if target.means().is_none() {
            let said = "says no way to be told: it has none of exec, desktop, webhook and ntfy";
            checkup.report("no_notifier", format!("target.{name}"), said, edit(&place));
        }
    }
    for (name, target) in config::targets(&checkup.config.notify, &checkup.config.target) {
        let key =
            if name == COMMAND && !checkup.config.notify.command.is_empty() { "notify.command".into() } else { format!("target.{name}") };
        if let Some(program) = news::program(&target)
            && let Err(error) = programs::find(program)
        {
            let mend = programs::not_executable(program).map_or_else(|| edit(&place), |file| format!("chmod +x {}", word(&file)));
            checkup.report("no_notifier", &key, format!("{error}, so nobody is told of questions there"), mend);
        }
        for (file_key, file) in files(&target) {
            secret_file(checkup, &format!("{key}.{file_key}"), file, &edit(&place));
        }
    }
    let targets = config::targets(&checkup.config.notify, &checkup.config.target);
    let all = known(checkup);
    for known in &all {
        // A target that was never told may have a mistake in its address.
        if known.last_sent.is_none()
            && known.last_failed.is_none()
            && let Some((_, target)) = targets.iter().find(|(name, _)| **name == known.target)
            && let Some(problem) = reachable::problem(target)
        {
            let said = format!("nobody answers there: {problem}");
            checkup.report("unreachable", format!("target {}", known.target), said, edit(&place));
        }
        if let Some(failed) = known.failing() {
            let why = failed.problem.as_deref().map(|why| text::excerpt(why, 200)).unwrap_or_default();
            let said = format!("could not be told {} ago: {why}", time::human(time::since(failed.at)));
            checkup.report("not_told", format!("target {}", known.target), said, format!("askbox notify test {}", known.target));
        }
    }
    checkup.facts.targets = all;
}

/// Reports a file with a secret that cannot be read, or that other users may read. `mend` leads to the key that names the file.
pub(super) fn secret_file(checkup: &mut Checkup, key: &str, file: &Path, mend: &str) {
    if file.as_os_str().is_empty() {
        return;
    }
    match std::fs::metadata(file).map(|about| about.mode() & 0o777) {
        Err(_) => checkup.report("no_secret", key, format!("the file {} cannot be read", text::file_name(file)), mend),
        Ok(mode) if mode & 0o077 != 0 => {
            let said = format!("other users may read {} (mode {mode:04o})", text::file_name(file));
            checkup.report("open_secret", key, said, format!("chmod go-rwx {}", word(file)));
        }
        Ok(_) => {}
    }
}

/// Reports news that was not sent although a watcher is there. If there are several watchers, only one of them sends.
pub(in crate::commands::doctor) fn news_wait(checkup: &mut Checkup) {
    let Some(mailbox) = checkup.mailbox.clone().filter(|_| checkup.watcher) else { return };
    let look = |checkup: &Checkup| waiting::late_targets(&mailbox, &checkup.config, HANGS, time::now());
    let mut late = look(checkup);
    if let (false, Some(moment)) = (late.is_empty(), checkup.moment.take()) {
        std::thread::sleep(moment);
        late = look(checkup);
    }
    for waits in late {
        let what = if waits.count == 1 { "an event was".to_owned() } else { format!("{} events were", waits.count) };
        let oldest = time::human(time::since(waits.since));
        let told = |kind| arrivals::last(&mailbox, &waits.target, kind).is_some();
        // A watcher that knew no target when it started does not hold the lock of the one that notifies.
        let holder = ["news", "watchers"].iter().find_map(|lock| disk::lock_holder(&mailbox.lock_file(lock)));
        let holder = holder.filter(|holder| !holder.is_stopped);
        // The target may be new in the configuration, which a watcher reads when it starts.
        if let (Some(holder), false) = (holder, told(Kind::Sent) || told(Kind::Failed)) {
            let said = format!(
                "{what} to be told, the oldest {oldest} ago, and this target was never told anything: the watcher, {holder}, may have begun \
                 before the configuration named it. Restart the watcher, runs go on"
            );
            let mend = restart(checkup, holder.pid);
            checkup.report("news_wait", format!("target {}", waits.target), said, mend);
            continue;
        }
        let (hangs, mend) = hanging(&mailbox, "news");
        let said = format!(
            "{what} to be told, the oldest {oldest} ago, and was not, although a watcher is there. If the watcher knows this target: {hangs}"
        );
        let mend = mend.unwrap_or_else(|| checkup.command("relaunch watch"));
        checkup.report("news_wait", format!("target {}", waits.target), said, mend);
    }
}

/// The command that restarts a healthy watcher. Its service does that if it runs the watcher: systemd names the process that it starts in
/// that process's environment, see systemd.exec(5).
pub(super) fn restart(checkup: &Checkup, pid: u32) -> String {
    let watcher = i32::try_from(pid).ok().and_then(processes::Seen::at);
    let started = watcher.as_ref().and_then(processes::Seen::environment);
    let is_service = started.is_some_and(|of| of.get("SYSTEMD_EXEC_PID").is_some_and(|of_service| of_service == pid.to_string().as_str()));
    match is_service {
        true => format!("systemctl --user restart {}", systemd::UNIT),
        false => format!("kill -TERM {pid} && {}", checkup.command("relaunch watch")),
    }
}

fn files(target: &Target) -> impl Iterator<Item = (&'static str, &Path)> {
    let files = [("secret_file", target.secret_file.as_path()), ("token_file", target.token_file.as_path())];
    files.into_iter().filter(|(_, file)| !file.as_os_str().is_empty())
}
