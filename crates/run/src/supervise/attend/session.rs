//! The session of the run: whether it has begun, is noted in the workflow's record, and has its message.

use crate::process::launch::SessionStart;
use crate::prompt::templates;
use crate::supervise::attend::live_run::LiveRun;
use askbox_agent::claude;
use askbox_agent::stream::ReceiptState;
use askbox_mailbox::untrusted::Untrusted;
use askbox_mailbox::workflows;

/// The session of the run.
#[derive(Debug)]
pub(super) struct Session {
    /// The message with the answer. It is kept until the agent has said that it knows its role.
    pub(super) held_message: Option<String>,
    /// True if the chosen session has begun.
    pub(super) began: bool,
    /// True if the model was or will be shown the message with the answer.
    message_seen: bool,
    /// The permission mode of a session that began and is not yet noted in the workflow's record.
    unrecorded: Option<Untrusted>,
}

impl Session {
    pub(super) fn new(held_message: Option<String>) -> Self {
        Self { held_message, began: false, message_seen: false, unrecorded: None }
    }

    /// A plain program has begun once it was started. It has no session to note.
    pub(super) fn of_a_program() -> Self {
        Self { began: true, ..Self::new(None) }
    }

    /// Notes that a session has begun. Returns whether it is the chosen one.
    pub(super) fn begin(&mut self, live: &mut LiveRun<'_, '_>, id: &Untrusted, permission_mode: Untrusted, first: bool) -> bool {
        if *id != live.run.session_id.to_string() {
            live.log.note(format!("the agent reports session {}, not the chosen one", id.excerpt(80)));
            return false;
        }
        self.began = true;
        if first {
            self.unrecorded = Some(permission_mode);
        }
        true
    }

    /// Notes that a turn of a session ended. So the session has begun, even if the agent did not report that.
    pub(super) fn had_a_turn(&mut self, live: &LiveRun<'_, '_>, id: &Untrusted) {
        self.began |= *id == live.run.session_id.to_string();
    }

    /// Notes the session in the workflow's record once it has produced something, because later rounds resume it. A session that
    /// produced nothing is not noted, so the workflow keeps the session that this one was forked from.
    pub(super) fn record(&mut self, live: &mut LiveRun<'_, '_>) {
        let Some(permission_mode) = self.unrecorded.take() else { return };
        let update = || {
            let lock = live.mailbox.lock(&live.run.workflow_id)?;
            workflows::update(live.mailbox, &lock, |w| {
                w.session_id = Some(live.run.session_id);
                w.permission_mode = Some(permission_mode.raw().to_owned());
                w.agent = Some(live.run.runner.clone());
            })
        };
        if let Err(e) = update() {
            live.log.note(format!("the workflow's record could not be written: {e}"));
        }
    }

    /// Takes a receipt of the message. `Completed` without `Queued` or `Started` before it means that the session got this message in
    /// an earlier attempt and dropped the repetition. The model must then be told to continue.
    pub(super) fn receipt(&mut self, live: &mut LiveRun<'_, '_>, state: ReceiptState) {
        match state {
            ReceiptState::Queued | ReceiptState::Started => self.message_seen = true,
            ReceiptState::Completed if !self.message_seen && matches!(live.agent.start, SessionStart::Continue { .. }) => {
                self.message_seen = true;
                live.log.note("the session has its message from an earlier attempt: it is told to continue");
                live.agent.say(&claude::user_message(&live.run.continue_id().to_string(), templates::CONTINUE));
            }
            ReceiptState::Completed | ReceiptState::Cancelled => {}
        }
    }
}
