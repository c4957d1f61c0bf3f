//! The watcher's regular reports: the metrics file, and the status line that the service manager shows.

use sd_notify::NotifyState;

use crate::time;
use crate::watch::watcher::Watcher;

impl Watcher<'_> {
    /// Updates the metrics file and the status line, if they changed.
    pub(in crate::watch) fn report(&mut self) {
        if !self.scope.is_service() {
            return;
        }
        self.metrics.mark_changed();
        self.metrics.write_if_due(&self.mailbox, &self.config);
        let waiting = self.ready.len() + self.queue.len();
        let mut status = format!("{} running, {waiting} waiting to be launched", self.live.len());
        if let Some(until) = self.gate.until() {
            status.push_str(&format!("; the queue is paused until {}", time::rfc3339(until)));
        }
        if status != self.status_line {
            // Without a service manager this does nothing.
            let _ = sd_notify::notify(&[NotifyState::Status(&status)]);
            self.status_line = status;
        }
    }
}
