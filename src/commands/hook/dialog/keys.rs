//! Finds out when a person last typed at the session's own terminal. Then news of the dialog can wait: the person sees the dialog.
//! And the form of a server opens there.
//!
//! The system changes the time of a terminal's last reading when its program takes a key, in steps of eight seconds. This time
//! stays as it is while a session waits at its prompt, shows a dialog or redraws the screen. The time of the last writing does not. (Measured
//! with 2.1.332.)

use std::fs::Metadata;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use askbox_mailbox::platform::processes;
use askbox_mailbox::who::presence;
use askbox_mailbox::{Mailbox, SessionId};

/// The steps of the time.
pub(super) const STEP: Duration = Duration::from_secs(8);
/// How often the terminal is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// Watches the terminal of one session for keys.
pub(super) struct Keys {
    terminal: Option<PathBuf>,
    last_key: Option<SystemTime>,
    next_look: Instant,
}

impl Keys {
    /// Watches the terminal of this process.
    pub(super) fn of_process(pid: &str) -> Self {
        let terminal = pid.parse().ok().and_then(processes::terminal);
        Self { terminal, last_key: None, next_look: Instant::now() }
    }

    /// The begin of the step in which the last key came. `None` if no terminal is known.
    pub(super) fn last(&self) -> Option<SystemTime> {
        self.terminal.as_ref().and_then(|terminal| terminal.metadata().as_ref().map(Metadata::accessed).ok()?.ok())
    }

    /// Writes down when the last key came, if that has changed.
    pub(super) fn look(&mut self, mailbox: &Mailbox, session: &SessionId) {
        if Instant::now() < self.next_look {
            return;
        }
        self.next_look = Instant::now() + EVERY;
        if let Some(at) = self.last().filter(|at| self.last_key != Some(*at)) {
            self.last_key = Some(at);
            // Without it, the news come a little earlier.
            let _ = presence::note_typing(mailbox, session, at);
        }
    }
}
