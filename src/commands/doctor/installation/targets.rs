//! The places where people are notified, and the collector of spans: whether each can be reached, and when that last worked.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::Serialize;

use crate::commands::doctor::checkup::{Checkup, HANGS, hanging, word};
use askbox_config::{self as config, Means, Target};
use askbox_mailbox::{disk, text, time};
use askbox_run::programs;
use askbox_run::story::cause::edit_configuration;
use askbox_watch::news::arrivals::{self, Arrival, Kind};
use askbox_watch::news::{self, OURS, waiting};
use askbox_watch::traces::Tally;

/// One target and its history.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
struct KnownTarget<'a> {
    target: &'a str,
    /// `exec`, `desktop`, `webhook`, `ntfy` or `channel`.
    by: &'static str,
    last_sent: Option<Arrival>,
    last_confirmed: Option<Arrival>,
    last_failed: Option<Arrival>,
}

impl<'a> KnownTarget<'a> {
    fn of(checkup: &Checkup, name: &'a str, target: &Target) -> Option<Self> {
        let by = target.means()?.word();
        let last = |kind| checkup.mailbox.as_ref().and_then(|mailbox| arrivals::last(mailbox, name, kind));
        let (last_sent, last_confirmed, last_failed) = (last(Kind::Sent), last(Kind::Confirmed), last(Kind::Failed));
        Some(Self { target: name, by, last_sent, last_confirmed, last_failed })
    }

    /// One line about the target, for people.
    fn words(&self) -> String {
        let ago = |what: &str, arrival: &Option<Arrival>| match arrival {
            Some(arrival) => format!("last {what} {} ago", time::human(time::since(arrival.at))),
            None => format!("never {what}"),
        };
        let failed = self.last_failed.as_ref().map(|_| format!(", {}", ago("failed", &self.last_failed))).unwrap_or_default();
        let (sent, confirmed) = (ago("told", &self.last_sent), ago("confirmed", &self.last_confirmed));
        format!("Target {} ({}): {sent}, {confirmed}{failed}.\n", self.target, self.by)
    }
}

/// Reports targets that cannot be notified, and shows when each was told.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    for (name, _) in checkup.config.target.clone().iter().filter(|(_, target)| target.means().is_none()) {
        let said = "says no way to be told: it has none of exec, desktop, webhook, ntfy and channel";
        checkup.report("no_notifier", format!("target.{name}"), said, edit_configuration());
    }
    let targets = config::targets(&checkup.config.target);
    let mut missing = Vec::new();
    for (name, target) in &targets {
        let key = format!("target.{name}");
        let ours = (!matches!(target.means(), Some(Means::Channel(_)))).then(|| programs::beside(news::OURS));
        let programs = target.means().map(|means| means.program().to_owned()).into_iter().chain(ours);
        if let Some((program, error)) = programs.filter_map(|program| Some((program.clone(), programs::find(&program).err()?))).next() {
            let is_ours = program.ends_with(news::OURS);
            let mend = if is_ours { programs::FROM_A_CHECKOUT.to_owned() } else { edit_configuration() };
            let mend = programs::not_executable(&program).map_or(mend, |file| format!("chmod +x {}", word(&file)));
            checkup.report("no_notifier", &key, format!("{error}, so nobody is told of questions there"), mend);
            missing.push(name);
        }
        for (file_key, file) in [("secret_file", &target.secret_file), ("token_file", &target.token_file)] {
            secret_file(checkup, &format!("{key}.{file_key}"), file, &edit_configuration());
        }
    }
    let all: Vec<_> = targets.iter().filter_map(|(name, target)| Some((KnownTarget::of(checkup, name, target)?, target))).collect();
    for (known, target) in &all {
        let subject = format!("target {}", known.target);
        match (&known.last_sent, &known.last_failed) {
            // A target that was never told may have a mistake in its address.
            (None, None) if !missing.iter().any(|name| *name == known.target) => {
                let problem =
                    checkup.mailbox.as_ref().and_then(|mailbox| news::problem(mailbox, &checkup.config.notify, known.target, target));
                if let Some(problem) = problem {
                    checkup.report("unreachable", subject, format!("nobody answers there: {problem}"), edit_configuration());
                }
            }
            (sent, Some(failed)) if sent.as_ref().is_none_or(|sent| sent.at <= failed.at) => {
                let why = failed.problem.as_deref().map(|why| text::excerpt(why, 200)).unwrap_or_default();
                let said = format!("could not be told {} ago: {why}", time::human(time::since(failed.at)));
                checkup.report("not_told", subject, said, format!("askbox notify test {}", known.target));
            }
            _ => {}
        }
    }
    let all: Vec<_> = all.into_iter().map(|(known, _)| known).collect();
    if !all.is_empty() {
        checkup.facts.add("targets", &all, all.iter().map(KnownTarget::words).collect());
    }
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
        let what = format!("{what} to be told, the oldest {} ago, and", time::human(time::since(waits.since)));
        let is_new = [Kind::Sent, Kind::Failed].iter().all(|kind| arrivals::last(&mailbox, &waits.target, *kind).is_none());
        // A watcher that knew no target when it started does not hold the lock of the one that notifies.
        let holder = ["news", "watchers"].iter().find_map(|lock| disk::lock_holder(&mailbox.lock_file(lock)));
        let (said, mend) = match holder.filter(|holder| is_new && !holder.is_stopped) {
            // The target may be new in the configuration, which a watcher reads when it starts.
            Some(holder) => {
                let may = "may have begun before the configuration named it. Restart the watcher, runs go on";
                let said = format!("{what} this target was never told anything: the watcher, {holder}, {may}");
                (said, checkup.restart(holder.pid))
            }
            None => {
                let (hangs, mend) = hanging(&mailbox, "news");
                let said = format!("{what} was not, although a watcher is there. If the watcher knows this target: {hangs}");
                (said, mend.unwrap_or_else(|| checkup.command("relaunch watch")))
            }
        };
        checkup.report("news_wait", format!("target {}", waits.target), said, mend);
    }
}

/// Reports a collector that gets no spans, and shows the counts. The address of the collector may hold a secret, so it is not shown.
pub(in crate::commands::doctor) fn traces(checkup: &mut Checkup) {
    if checkup.config.traces.url.is_empty() {
        return;
    }
    let tally = checkup.mailbox.as_ref().and_then(Tally::read).unwrap_or_default();
    let Tally { sent, lost, .. } = tally;
    let last = tally.sent_at.map_or("never taken".into(), |at| format!("last taken {} ago", time::human(time::since(at))));
    let rounds = if sent == 1 { "round" } else { "rounds" };
    checkup.facts.add("traces", &tally, format!("Traces: spans of {sent} {rounds} sent, {last}; {lost} lost.\n"));
    let place = edit_configuration();
    for (program, mend) in [("curl".into(), place.as_str()), (programs::beside(OURS), programs::FROM_A_CHECKOUT)] {
        if let Err(error) = programs::find(&program) {
            checkup.report("no_traces", "traces.url", format!("{error}, so no spans are sent"), mend);
        }
    }
    secret_file(checkup, "traces.headers_file", &checkup.config.traces.headers_file.clone(), &place);
    if tally.is_failing() {
        let ago = tally.failed_at.map_or_else(String::new, |at| format!(" {} ago", time::human(time::since(at))));
        let why = tally.problem.as_deref().map(|why| text::excerpt(why, 200)).unwrap_or_default();
        checkup.report("no_traces", "traces.url", format!("the collector took no spans{ago}: {why}; {lost} rounds are lost"), place);
    }
}
