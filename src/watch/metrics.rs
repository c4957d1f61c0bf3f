//! The figures for Prometheus's textfile collector: `metrics.file`, replaced whenever they change. No fsync: they are told again.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::error::{Error, IoContext, Result};
use crate::mailbox::Mailbox;
use crate::run::claim::record::{Run, State};
use crate::watch::summary::{self, Summary};

/// The shortest time between two looks.
const PACE: Duration = Duration::from_secs(1);
/// A look may take so much of the time, as one part in so many.
const SHARE: u32 = 20;

#[derive(Debug)]
pub(super) struct Metrics {
    file: Option<PathBuf>,
    /// Runs that ended since the watcher started, by how.
    ended: BTreeMap<&'static str, u64>,
    written: String,
    /// When to look, where something may have changed.
    due: Option<Instant>,
    next: Instant,
    complained: bool,
}

impl Metrics {
    pub(super) fn new(config: &Config) -> Self {
        let file = Some(config.metrics.file.clone()).filter(|f| f.components().next().is_some());
        let ended = ["delivered", "failed", "throttled", "parked", "interrupted"].map(|how| (how, 0)).into();
        Self { file, ended, written: String::new(), due: Some(Instant::now()), next: Instant::now(), complained: false }
    }

    pub(super) fn count(&mut self, run: &Run) {
        let how = match run.state {
            State::Delivered => "delivered",
            State::Failed if run.is_throttled() => "throttled",
            State::Failed => "failed",
            State::Parked => "parked",
            State::Interrupted => "interrupted",
            State::Claimed | State::Running => return,
        };
        *self.ended.entry(how).or_default() += 1;
    }

    /// Something may have changed.
    pub(super) fn stir(&mut self) {
        self.due = self.due.or(Some(self.next));
    }

    /// When to look, where a file is wanted.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.due.filter(|_| self.file.is_some())
    }

    /// Writes the file if it is time to and something has changed.
    pub(super) fn write(&mut self, mailbox: &Mailbox, config: &Config) {
        let Some(file) = self.file.clone().filter(|_| self.due.is_some_and(|at| at <= Instant::now())) else { return };
        let began = Instant::now();
        self.due = None;
        let done = summary::of(mailbox, config).and_then(|summary| {
            let text = text(&summary, &self.ended);
            if text != self.written {
                replace(&file, &text)?;
                self.written = text;
            }
            Ok(())
        });
        match done {
            Ok(()) => self.complained = false,
            Err(e) => {
                // Once, not at every change.
                if !std::mem::replace(&mut self.complained, true) {
                    crate::log::error(&e);
                }
                self.written.clear();
            }
        }
        self.next = Instant::now() + PACE.max(began.elapsed() * SHARE);
    }
}

/// The figures in Prometheus's text format.
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
    let paused = if summary.queue.state == "open" { 0.0 } else { 1.0 };
    metric("queue_paused", "gauge", "1 while the breaker or the day's limit holds launches back.", &one(paused));
    metric("spent_today_usd", "gauge", "US dollars that runs cost this day (UTC).", &one(summary.spent_today_usd));
    metric("day_limit_usd", "gauge", "limits.day_cost; 0 is no limit.", &one(summary.day_limit_usd.unwrap_or(0.0)));
    out
}

/// Replaces the file at once, readable by everyone: a reader never sees half of it.
#[allow(clippy::disallowed_methods, reason = "the metrics file lies outside of any mailbox, and everybody may read it")]
fn replace(file: &Path, text: &str) -> Result<()> {
    let folder = file.parent().ok_or_else(|| Error::invalid("metrics.file", "is no file", "name a file"))?;
    let everyone = std::fs::Permissions::from_mode(0o644);
    let mut temporary =
        tempfile::Builder::new().prefix(".askbox").permissions(everyone).tempfile_in(folder).io("write metrics in", folder)?;
    temporary.write_all(text.as_bytes()).io("write", file)?;
    temporary.persist(file).map_err(|e| e.error).io("replace", file).map(drop)
}

impl super::Watch<'_> {
    /// The figures and the service manager's status line, as far as they changed.
    pub(super) fn tell_how_it_stands(&mut self) {
        self.metrics.stir();
        self.metrics.write(&self.mailbox, &self.config);
        let waiting = self.ready.len() + self.queue.len();
        let mut status = format!("{} running, {waiting} waiting to be launched", self.live.len());
        if let Some(until) = self.gate.until() {
            status.push_str(&format!("; the queue is paused until {}", crate::time::rfc3339(until)));
        }
        if status != self.status {
            // Without a service manager this goes nowhere.
            let _ = sd_notify::notify(&[sd_notify::NotifyState::Status(&status)]);
            self.status = status;
        }
    }
}
