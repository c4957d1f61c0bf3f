//! The watcher's regular reports: the metrics file, and the status line that the service manager shows.
//!
//! The metrics file (`metrics.file`), for Prometheus's textfile collector. It is replaced whenever a number changes, without fsync,
//! because a watcher that starts writes it again. If several watchers are configured with the same file, even for different mailboxes,
//! only the one that holds the lock beside it writes it.
//!
//! The numbers at a glance, for monitoring: rounds by state, the age of the oldest question, the state of the queue, and the money
//! spent today.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sd_notify::NotifyState;
use serde::Serialize;

use crate::launch::launches::Launches;
use crate::scope::Served;
use askbox_config::Config;
use askbox_mailbox::{Error, Folder, Lock, Mailbox, Result, Time, disk, list, presence, quarantined_round, time, timers};
use askbox_run::money::costs;
use askbox_run::story;
use askbox_run::story::queue::{self, Queue, QueueState};
use askbox_run::{Run, RunState, Standing, log};

/// The reports of a watcher.
pub(crate) struct Reports {
    pub(crate) metrics: Metrics,
    /// The service manager's status line.
    status_line: String,
}

impl Reports {
    pub(crate) fn new(config: &Config) -> Self {
        Self { metrics: Metrics::new(config), status_line: String::new() }
    }

    /// Updates the metrics file and the status line, if they changed.
    pub(crate) fn write(&mut self, served: &Served, launches: &Launches) {
        if !served.scope.is_service() {
            return;
        }
        self.metrics.due = self.metrics.due.or(Some(self.metrics.next));
        self.metrics.write_if_due(&served.mailbox, &served.config);
        let mut status = format!("{} running, {} waiting to be launched", launches.live(), launches.waiting());
        if let Some(until) = launches.gate.until {
            status.push_str(&format!("; the queue is paused until {}", time::rfc3339(until)));
        }
        if status != self.status_line {
            // Without a service manager this does nothing.
            let _ = sd_notify::notify(&[NotifyState::Status(&status)]);
            self.status_line = status;
        }
    }
}

/// The shortest time between two summaries.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Summaries take at most one part in this many of the watcher's time.
const TIME_SHARE: u32 = 20;
/// How soon a watcher checks again if the watcher that writes the file has ended.
const LOOK_FOR_WRITER_EVERY: Duration = Duration::from_secs(60);

pub(crate) struct Metrics {
    file: Option<PathBuf>,
    /// The number of runs that ended since the watcher started, by the kind of their end.
    ended: BTreeMap<&'static str, u64>,
    /// The text of the file as it was last written.
    written: String,
    /// When to write, if something may have changed.
    due: Option<Instant>,
    /// The earliest time of the next summary.
    next: Instant,
    /// True if the last write failed, and that was logged.
    error_logged: bool,
    /// The right to write the file.
    lock: Option<Lock>,
    /// True if another watcher writes the file, and that was logged.
    other_logged: bool,
}

impl Metrics {
    pub(crate) fn new(config: &Config) -> Self {
        let file = Some(config.metrics.file.clone()).filter(|f| f.components().next().is_some());
        let ended = ["delivered", "asking", "failed", "throttled", "parked", "interrupted"].map(|how| (how, 0)).into();
        Self {
            file,
            ended,
            written: String::new(),
            due: Some(Instant::now()),
            next: Instant::now(),
            error_logged: false,
            lock: None,
            other_logged: false,
        }
    }

    /// Counts a run that ended.
    pub(crate) fn count(&mut self, run: &Run) {
        let how = match run.state {
            RunState::Claimed | RunState::Running => return,
            RunState::Failed if run.is_throttled() => "throttled",
            ended => ended.into(),
        };
        *self.ended.entry(how).or_default() += 1;
    }

    /// True if this watcher writes the file. If there can be no lock, the watcher writes, and the error of the write gives the reason.
    fn is_writer(&mut self, file: &Path) -> bool {
        if self.lock.is_some() {
            return true;
        }
        match lock_of(file).map(|path| Lock::try_acquire(&path)) {
            Some(Ok(Some(lock))) => {
                (self.lock, self.other_logged) = (Some(lock), false);
                true
            }
            Some(Ok(None)) => {
                if !std::mem::replace(&mut self.other_logged, true) {
                    let hint = "watchers of several mailboxes need a metrics.file each";
                    tracing::warn!(hint, "another watcher writes {}; this one writes no metrics while that one runs", file.display());
                }
                false
            }
            _ => true,
        }
    }

    /// When to call [`Self::write_if_due`], if a file is configured.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.due.filter(|_| self.file.is_some())
    }

    /// Writes the file, if it is due and its text has changed.
    fn write_if_due(&mut self, mailbox: &Mailbox, config: &Config) {
        let Some(file) = self.file.clone().filter(|_| self.due.is_some_and(|at| at <= Instant::now())) else { return };
        let began = Instant::now();
        self.due = None;
        if !self.is_writer(&file) {
            self.due = Some(began + LOOK_FOR_WRITER_EVERY);
            return;
        }
        let done = sum_up(mailbox, config).and_then(|summary| {
            let text = text(&summary, &self.ended);
            if text != self.written {
                replace(&file, &text)?;
                self.written = text;
            }
            Ok(())
        });
        match done {
            Ok(()) => self.error_logged = false,
            Err(e) => {
                if !std::mem::replace(&mut self.error_logged, true) {
                    log::error(&e);
                }
                self.written.clear();
            }
        }
        self.next = Instant::now() + MIN_INTERVAL.max(began.elapsed() * TIME_SHARE);
    }
}

/// The lock beside the metrics file. Collectors read only names that end with `.prom`.
fn lock_of(file: &Path) -> Option<PathBuf> {
    let mut name = std::ffi::OsString::from(".");
    name.push(file.file_name()?);
    name.push(".lock");
    Some(file.with_file_name(name))
}

/// The metrics in Prometheus's text format.
fn text(summary: &Summary, ended: &BTreeMap<&'static str, u64>) -> String {
    let mut out = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, values: &[(String, f64)]| {
        out.push_str(&format!("# HELP askbox_{name} {help}\n# TYPE askbox_{name} {kind}\n"));
        values.iter().for_each(|(labels, value)| out.push_str(&format!("askbox_{name}{labels} {value}\n")));
    };
    let labelled = |map: &BTreeMap<&'static str, u64>| -> Vec<(String, f64)> {
        map.iter().map(|(state, n)| (format!("{{state=\"{state}\"}}"), *n as f64)).collect()
    };
    let one = |value: f64| [(String::new(), value)];
    metric("rounds", "gauge", "Open rounds by state.", &labelled(&summary.rounds));
    metric("runs_ended_total", "counter", "Runs that ended since the watcher started, by how.", &labelled(ended));
    let oldest = summary.oldest_pending_at.map_or(0.0, |at| at.timestamp_millis() as f64 / 1000.0);
    metric("oldest_pending_timestamp_seconds", "gauge", "When the oldest pending question was asked; 0 where there is none.", &one(oldest));
    let paused = if summary.queue.state == QueueState::Open { 0.0 } else { 1.0 };
    metric("queue_paused", "gauge", "1 while the breaker or the day's limit holds launches back.", &one(paused));
    metric("spent_today_usd", "gauge", "US dollars that runs cost this day (UTC).", &one(hundredths_of_cents(summary.spent_today_usd)));
    metric("day_limit_usd", "gauge", "limits.day_cost; 0 is no limit.", &one(summary.day_limit_usd.unwrap_or(0.0)));
    out
}

/// An amount without the noise of a sum of floating point numbers, such as 0.010799999999999999.
fn hundredths_of_cents(usd: f64) -> f64 {
    (usd * 10_000.0).round() / 10_000.0
}

/// Replaces the file at once, readable by everyone. A reader never sees half of it.
#[allow(clippy::disallowed_methods, reason = "the metrics file lies outside of any mailbox, and everybody may read it")]
fn replace(file: &Path, text: &str) -> Result<()> {
    let folder = file.parent().ok_or_else(|| Error::invalid("metrics.file", "is no file", "name a file"))?;
    let everyone = std::fs::Permissions::from_mode(0o644);
    let failed = |e: std::io::Error| {
        let hint = "make that folder and let the watcher write there, or name another file in the configuration: metrics.file";
        Error::failed(format!("the metrics cannot be written to {}: {e}", file.display()), hint)
    };
    let mut temporary = tempfile::Builder::new().prefix(".askbox").permissions(everyone).tempfile_in(folder).map_err(failed)?;
    temporary.write_all(text.as_bytes()).map_err(failed)?;
    temporary.persist(file).map_err(|e| failed(e.error)).map(drop)
}

/// The numbers at a glance.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Summary {
    /// The number of open rounds in each state; every state has an entry.
    pub rounds: BTreeMap<&'static str, u64>,
    /// When the oldest question that waits for a person was asked.
    pub oldest_pending_at: Option<Time>,
    /// How long that question has been waiting, in seconds.
    pub oldest_pending_seconds: Option<u64>,
    /// The state of the launches of answered questions.
    pub queue: Queue,
    /// US dollars spent on this day (UTC).
    pub spent_today_usd: f64,
    /// The limit on the money of a day, `limits.day_cost`; missing if there is none.
    pub day_limit_usd: Option<f64>,
    /// True if a watcher runs on the mailbox.
    pub watched: bool,
}

/// The states of open rounds.
const STATES: [Standing; 12] = [
    Standing::Pending,
    Standing::Waiting,
    Standing::Answered,
    Standing::Queued,
    Standing::Running,
    Standing::Throttled,
    Standing::Retrying,
    Standing::Sent,
    Standing::Orphaned,
    Standing::Interrupted,
    Standing::Parked,
    Standing::Unreadable,
];

/// Sums up a mailbox. Reads file names, the records of claimed rounds and the day's costs, but no question.
pub fn sum_up(mailbox: &Mailbox, config: &Config) -> Result<Summary> {
    let mut rounds: BTreeMap<&'static str, u64> = STATES.iter().map(|s| (s.word(), 0)).collect();
    let mut add = |standing: Standing, n: usize| *rounds.entry(standing.word()).or_default() += n as u64;
    let events = timers::waiting_for_events(mailbox)?;
    let (waiting, pending): (Vec<_>, Vec<_>) = list::workflows(mailbox, Folder::Pending)?.into_iter().partition(|w| events.contains(w));
    add(Standing::Waiting, waiting.len());
    add(Standing::Pending, pending.len());
    add(Standing::Answered, list::workflows(mailbox, Folder::Answered)?.len());
    for folder in [Folder::Running, Folder::Parked] {
        for round in list::round_names(mailbox, folder) {
            // If one record cannot be read, the others must be shown all the same.
            add(story::standing_of(mailbox, folder, &round).unwrap_or(Standing::Unreadable), 1);
        }
    }
    add(Standing::Parked, quarantined_round::all(mailbox)?.len());
    let written = |path: std::path::PathBuf| disk::metadata(&path).and_then(|m| m.modified()).ok();
    let oldest = pending.iter().filter_map(|w| written(mailbox.document(Folder::Pending, w))).min();
    let oldest = oldest.map(|at| time::to_the_millisecond(Time::from(at)));
    let limit = config.limits.day_cost;
    Ok(Summary {
        rounds,
        oldest_pending_at: oldest,
        oldest_pending_seconds: oldest.map(|at| time::since(at).as_secs()),
        queue: queue::of(mailbox, config)?,
        spent_today_usd: costs::of_day(mailbox, time::now())?,
        day_limit_usd: (limit > 0.0).then_some(limit),
        watched: presence::anybody(mailbox)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_written_without_the_noise_of_the_sum() {
        let sum = [0.0012; 9].iter().sum::<f64>();
        assert_ne!(sum.to_string(), "0.0108");
        assert_eq!(hundredths_of_cents(sum).to_string(), "0.0108");
    }
}
