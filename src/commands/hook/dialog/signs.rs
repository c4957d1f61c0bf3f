//! The signs that a dialog is over. Claude Code ends the hook with SIGTERM if the user refuses or leaves, and tells it of no other end
//! (measured with 2.1.330 and 2.1.331). The transcript, the session's own file and the closed output tell the rest.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::commands::hook::dialog::guard::Guard;
use crate::commands::hook::event::PermissionRequest;
use askbox_agent::dialog::{self, Call, Status};
use askbox_agent::subagents;
use askbox_cli::{hangup, program};

/// How long the session's file must say that no dialog waits. Between two dialogs it may say so for a moment.
const STEADY: Duration = Duration::from_millis(300);

pub(super) const REFUSED: &str = "it was refused or left at its terminal";
const ANSWERED: &str = "it was answered at its terminal";
const ENDED: &str = "its session has ended";

/// Looks for the signs of one dialog.
pub(super) struct Signs {
    call: Call,
    guard: Guard,
    config_dir: Option<PathBuf>,
    /// The process of the session.
    process: String,
    is_of_subagent: bool,
    has_waited: bool,
    no_longer_since: Option<Instant>,
}

impl Signs {
    pub(super) fn new(event: &PermissionRequest, guard: Guard) -> Self {
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
            has_waited: false,
            no_longer_since: None,
        }
    }

    /// The id of the call, once the transcript tells it.
    pub(super) fn call_id(&self) -> Option<&str> {
        self.call.id()
    }

    /// Says why the call's id is not known.
    pub(super) fn why_unknown(&self) -> String {
        format!("a dialog's call is in no transcript: {}", self.call.what_was_read())
    }

    /// The process of the session, as the environment names it.
    pub(super) fn process(&self) -> &str {
        &self.process
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
        if self.call.has_result() || self.call.taken().is_some() {
            return Some(ANSWERED);
        }
        match self.status() {
            // Another dialog may wait beside a subagent's own.
            _ if self.is_of_subagent => {}
            Some(Status::Waiting) => (self.has_waited, self.no_longer_since) = (true, None),
            Some(Status::Other) if self.has_waited => {
                let since = *self.no_longer_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= STEADY {
                    return Some(ANSWERED);
                }
            }
            _ => {}
        }
        None
    }
}

/// The folder of Claude Code's configuration: a transcript lies at `projects/PROJECT/SESSION.jsonl` in it.
pub(super) fn config_dir(transcript: &Path) -> Option<&Path> {
    transcript.ancestors().nth(3).filter(|_| transcript.is_absolute())
}
