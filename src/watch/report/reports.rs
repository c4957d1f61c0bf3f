//! The watcher's regular reports: the metrics file, and the status line that the service manager shows.

use std::time::Instant;

use sd_notify::NotifyState;

use crate::config::Config;
use crate::run::attempt::record::Run;
use crate::time;
use crate::watch::launch::launches::Launches;
use crate::watch::report::metrics::Metrics;
use crate::watch::served::Served;

/// The reports of a watcher.
#[derive(Debug)]
pub(in crate::watch) struct Reports {
    metrics: Metrics,
    /// The service manager's status line.
    status_line: String,
}

impl Reports {
    pub(in crate::watch) fn new(config: &Config) -> Self {
        Self { metrics: Metrics::new(config), status_line: String::new() }
    }

    /// Counts a run that ended.
    pub(in crate::watch) fn count(&mut self, run: &Run) {
        self.metrics.count(run);
    }

    /// When to call [`Self::write`] at the latest.
    pub(in crate::watch) fn deadline(&self) -> Option<Instant> {
        self.metrics.deadline()
    }

    /// Updates the metrics file and the status line, if they changed.
    pub(in crate::watch) fn write(&mut self, served: &Served, launches: &Launches) {
        if !served.by_service() {
            return;
        }
        self.metrics.mark_changed();
        self.metrics.write_if_due(&served.mailbox, &served.config);
        let mut status = format!("{} running, {} waiting to be launched", launches.live(), launches.waiting());
        if let Some(until) = launches.paused_until() {
            status.push_str(&format!("; the queue is paused until {}", time::rfc3339(until)));
        }
        if status != self.status_line {
            // Without a service manager this does nothing.
            let _ = sd_notify::notify(&[NotifyState::Status(&status)]);
            self.status_line = status;
        }
    }
}
