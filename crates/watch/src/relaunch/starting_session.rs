//! The live session of a user whose shell runs a command of `relaunch`. If the command ends without the result of its workflow, the result
//! wakes the session.

use askbox_cli::program;
use askbox_mailbox::{Mailbox, Result, SessionId, WorkflowId, wake};
use askbox_run::chain::outcome::TreeState;
use askbox_run::outcome;

/// A live session that waits for a workflow through this command. When this is dropped, the result wakes the session.
pub(super) struct StartingSession<'a> {
    mailbox: &'a Mailbox,
    workflow: WorkflowId,
    session: Option<SessionId>,
}

impl<'a> StartingSession<'a> {
    /// The session that starts the workflow with this command.
    pub(super) fn of_start(mailbox: &'a Mailbox, workflow: &WorkflowId) -> Self {
        let session = program::live_session(mailbox);
        if let Some(session) = &session {
            taken(mailbox, workflow, session);
        }
        Self { mailbox, workflow: workflow.clone(), session }
    }

    /// The session that looks for a result with this command, if the result would wake it.
    pub(super) fn of_look(mailbox: &'a Mailbox, workflow: &WorkflowId) -> Self {
        let session = program::live_session(mailbox).filter(|session| taken(mailbox, workflow, session));
        Self { mailbox, workflow: workflow.clone(), session }
    }

    /// The command has printed the result, so it wakes nobody.
    pub(super) fn was_told(mut self) {
        self.session = None;
    }

    /// The command has printed all that happened until now. If that was the end, it wakes nobody.
    pub(super) fn was_told_so_far(self) {
        if matches!(outcome::tree_state(self.mailbox, &self.workflow), Ok(TreeState::Ended(_))) {
            self.was_told();
        }
    }

    fn is_woken_by_the_end(&self, session: SessionId) -> Result<()> {
        wake::expect(self.mailbox, &self.workflow, session)?;
        // The end may have come before the line above, which it did not see.
        if matches!(outcome::tree_state(self.mailbox, &self.workflow)?, TreeState::Ended(_)) {
            wake::starter(self.mailbox, &self.workflow);
        }
        Ok(())
    }
}

impl Drop for StartingSession<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            // Without it, the session hears of the result with its next prompt.
            let _ = self.is_woken_by_the_end(session).inspect_err(program::complain);
        }
    }
}

/// Lets the result not wake the session while this command waits for it. Returns true if it would have.
fn taken(mailbox: &Mailbox, workflow: &WorkflowId, session: &SessionId) -> bool {
    wake::expect_no_more(mailbox, workflow, session).inspect_err(program::complain).unwrap_or(false)
}
