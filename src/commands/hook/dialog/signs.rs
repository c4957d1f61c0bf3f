//! The signs that a dialog is over. Claude Code ends the hook with SIGTERM if the user refuses or leaves, and tells it of no other end
//! (measured with 2.1.330 and 2.1.331). The transcript, the session's own file and the closed output tell the rest.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::commands::hook::dialog::guard::Guard;
use crate::commands::hook::event::PermissionRequest;
use askbox_agent::dialog::{self, Call, Status};
use askbox_agent::subagents;
use askbox_cli::{hangup, program};
use askbox_mailbox::Time;

/// How long the session's file must say that no dialog waits. Between two dialogs it may say so for a moment.
const STEADY: Duration = Duration::from_millis(300);

pub(super) const REFUSED: &str = "it was refused or left at its terminal";
const ANSWERED: &str = "it was answered at its terminal";
pub(super) const ENDED: &str = "its session has ended";

/// Looks for the signs of one dialog.
pub(super) struct Signs {
    pub(super) call: Call,
    guard: Guard,
    config_dir: Option<PathBuf>,
    /// The process of the session.
    pub(super) process: String,
    is_of_subagent: bool,
    told: Told,
}

/// The signs of the session's file about the dialog.
struct Told {
    /// When the hook began.
    begun: Time,
    has_waited: bool,
    no_longer_since: Option<Instant>,
}

impl Told {
    fn nothing(begun: Time) -> Self {
        Self { begun, has_waited: false, no_longer_since: None }
    }

    /// True if the file says for long enough that the dialog waits no longer.
    ///
    /// On a busy machine, the file may still tell of the dialog before. The end of that dialog was before this hook began. A dialog may
    /// open before its own hook begins, so `waiting` counts whatever its time is.
    fn is_over(&mut self, status: Option<Status>, now: Instant) -> bool {
        match status {
            Some(Status::Waiting) => (self.has_waited, self.no_longer_since) = (true, None),
            // So what waited was the dialog before.
            Some(Status::Other { since: Some(since) }) if since <= self.begun => (self.has_waited, self.no_longer_since) = (false, None),
            Some(Status::Other { .. }) if self.has_waited => {
                let since = *self.no_longer_since.get_or_insert(now);
                return now.duration_since(since) >= STEADY;
            }
            _ => {}
        }
        false
    }
}

impl Signs {
    /// The signs of the dialog of this event, whose hook began at `begun`.
    pub(super) fn new(event: &PermissionRequest, guard: Guard, begun: Time) -> Self {
        let transcript = match &event.agent_id {
            Some(agent) => subagents::transcript(&event.transcript_path, agent).unwrap_or_default(),
            None => event.transcript_path.clone(),
        };
        Self {
            call: Call::just_made(transcript, &event.tool_name, &event.tool_input),
            guard,
            config_dir: config_dir(&event.transcript_path).map(Path::to_path_buf),
            process: program::env("CLAUDE_PID").unwrap_or_default(),
            is_of_subagent: event.agent_id.is_some(),
            told: Told::nothing(begun),
        }
    }

    /// The id of the call, once the transcript tells it.
    pub(super) fn call_id(&self) -> Option<&str> {
        self.call.id.as_deref()
    }

    /// The folders whose changes may be a sign.
    pub(super) fn folders(&self, event: &PermissionRequest) -> Vec<PathBuf> {
        let sessions = self.config_dir.as_ref().map(|dir| dir.join("sessions"));
        let transcript = match &event.agent_id {
            Some(agent) => subagents::transcript(&event.transcript_path, agent),
            None => Some(event.transcript_path.clone()),
        };
        sessions.into_iter().chain(transcript.and_then(|path| path.parent().map(Path::to_path_buf))).collect()
    }

    fn status(&self) -> Option<Status> {
        self.config_dir.as_deref().and_then(|dir| dialog::status(dir, &self.process))
    }

    /// True if the session says that a dialog is open.
    pub(super) fn has_open_dialog(&self) -> bool {
        self.status() == Some(Status::Waiting)
    }

    /// Says how the dialog has ended; `None` if it may still be open.
    pub(super) fn end(&mut self) -> Option<&'static str> {
        if hangup::is_gone() {
            return Some(ENDED);
        }
        if self.guard.is_told_to_end() {
            return Some(REFUSED);
        }
        self.call.look();
        if self.call.has_result || self.call.taken.is_some() {
            return Some(ANSWERED);
        }
        // Another dialog may wait beside a subagent's own.
        let status = if self.is_of_subagent { None } else { self.status() };
        self.told.is_over(status, Instant::now()).then_some(ANSWERED)
    }
}

/// The folder of Claude Code's configuration: a transcript lies at `projects/PROJECT/SESSION.jsonl` in it.
pub(super) fn config_dir(transcript: &Path) -> Option<&Path> {
    transcript.ancestors().nth(3).filter(|_| transcript.is_absolute())
}

/// True if a person attends the session. In another one, no decision mostly means that the call is refused.
pub(super) fn is_attended() -> bool {
    program::env("CLAUDE_CODE_SESSION_ATTENDED").as_deref() == Some("1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_dialog_before_is_no_sign() {
        let at = |millis| Time::from_timestamp_millis(millis);
        let other = |since| Some(Status::Other { since });
        let (waiting, begun) = (Some(Status::Waiting), Instant::now());
        let mut told = Told::nothing(at(1000).unwrap());
        let mut is_over = |status, steps: u32| told.is_over(status, begun + STEADY * steps);
        // The file is late by one dialog.
        assert!(!is_over(waiting, 0) && !is_over(other(at(900)), 1) && !is_over(other(at(900)), 2));
        assert!(!is_over(other(at(1100)), 3) && !is_over(other(at(1100)), 4), "this dialog has not waited yet");
        assert!(!is_over(waiting, 5) && !is_over(other(at(1200)), 6) && is_over(other(at(1200)), 7));
    }

    #[test]
    fn a_status_without_a_time_counts_once_it_is_steady() {
        let (waiting, other, begun) = (Some(Status::Waiting), Some(Status::Other { since: None }), Instant::now());
        let mut told = Told::nothing(askbox_mailbox::time::now());
        assert!(!told.is_over(other, begun) && !told.is_over(other, begun + STEADY), "nothing has waited");
        assert!(!told.is_over(waiting, begun) && !told.is_over(other, begun) && !told.is_over(other, begun + STEADY / 2));
        assert!(!told.is_over(waiting, begun + STEADY) && !told.is_over(other, begun + STEADY));
        assert!(!told.is_over(None, begun + STEADY) && told.is_over(other, begun + STEADY * 2));
    }
}
