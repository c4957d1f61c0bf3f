//! The session of the run: whether it has begun, is noted in the workflow's record, and has its message.

use crate::agent::claude;
use crate::agent::stream::ReceiptState;
use crate::mailbox::workflows;
use crate::run::process::session_start::SessionStart;
use crate::run::prompt::templates;
use crate::run::supervise::attend::live::Live;
use crate::untrusted::Untrusted;

/// The session of the run.
#[derive(Debug)]
pub(super) struct Session {
    /// The message with the answer, until the agent has said that it knows its role.
    held_message: Option<String>,
    /// Whether the chosen session has begun.
    began: bool,
    /// Whether the model was or will be shown the message with the answer.
    message_seen: bool,
    /// The permission mode of a session that began and is not yet noted in the workflow's record.
    unrecorded: Option<Untrusted>,
}

impl Session {
    pub(super) fn new(held_message: Option<String>) -> Self {
        Self { held_message, began: false, message_seen: false, unrecorded: None }
    }

    pub(super) fn has_begun(&self) -> bool {
        self.began
    }

    /// A session has begun. Returns whether it is the chosen one.
    pub(super) fn begin(&mut self, live: &mut Live<'_, '_>, id: &Untrusted, permission_mode: Untrusted, first: bool) -> bool {
        if *id != live.run.plan.session_id.to_string() {
            live.log.note(format!("the agent reports session {}, not the chosen one", id.excerpt(80)));
            return false;
        }
        self.began = true;
        if first {
            self.unrecorded = Some(permission_mode);
        }
        true
    }

    /// A turn of a session ended. The agent may not have said that the session began.
    pub(super) fn had_a_turn(&mut self, live: &Live<'_, '_>, id: &Untrusted) {
        self.began |= *id == live.run.plan.session_id.to_string();
    }

    /// Notes the session in the workflow's record once it has produced something: later rounds resume it. A session that produced
    /// nothing is not noted, so the workflow keeps the session that it was forked from.
    pub(super) fn record(&mut self, live: &mut Live<'_, '_>) {
        let Some(permission_mode) = self.unrecorded.take() else { return };
        let update = || {
            let lock = live.mailbox.lock(&live.run.workflow_id)?;
            workflows::update(live.mailbox, &lock, |w| {
                w.session_id = Some(live.run.plan.session_id);
                w.permission_mode = Some(permission_mode.raw().to_owned());
                w.agent = Some(live.run.plan.runner.clone());
            })
        };
        if let Err(e) = update() {
            live.log.note(format!("the workflow's record could not be written: {e}"));
        }
    }

    /// The message with the answer, if it is still to be sent.
    pub(super) fn take_held_message(&mut self) -> Option<String> {
        self.held_message.take()
    }

    /// `Completed` without `Queued` or `Started` before it means that the session got this message in an earlier attempt and
    /// dropped the repetition. The model must be told to continue.
    pub(super) fn receipt(&mut self, live: &mut Live<'_, '_>, state: ReceiptState) {
        match state {
            ReceiptState::Queued | ReceiptState::Started => self.message_seen = true,
            ReceiptState::Completed if !self.message_seen && live.agent.start == SessionStart::Continue => {
                self.message_seen = true;
                live.log.note("the session had the answer already; asking it to continue");
                live.agent.say(&claude::user_message(&live.run.continue_id().to_string(), templates::CONTINUE));
            }
            ReceiptState::Completed | ReceiptState::Cancelled => {}
        }
    }
}
