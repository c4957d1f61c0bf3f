//! Finds out whether a person sees a new question without being told: in an inbox, on a page, or at the terminal of a live session.

use askbox_mailbox::{Mailbox, WorkflowId, presence, read_question};

/// A look at who is present.
pub(super) struct Present<'a> {
    mailbox: &'a Mailbox,
    is_at_inbox: bool,
}

impl<'a> Present<'a> {
    /// Looks now.
    pub(super) fn look(mailbox: &'a Mailbox) -> Self {
        Self { mailbox, is_at_inbox: presence::any_person(mailbox) }
    }

    /// True if a person sees the waiting question of this workflow.
    pub(super) fn sees(&self, workflow: &WorkflowId) -> bool {
        self.is_at_inbox || self.types_beside(workflow)
    }

    /// True if a person types at the terminal that shows the same question as a dialog.
    fn types_beside(&self, workflow: &WorkflowId) -> bool {
        let Ok(question) = read_question::pending(self.mailbox, workflow) else { return false };
        let dialog = question.typed.live.as_ref().filter(|live| !live.in_background);
        dialog.is_some_and(|live| presence::is_at_terminal(self.mailbox, &live.session))
    }
}
