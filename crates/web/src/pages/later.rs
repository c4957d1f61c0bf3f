//! The next question of a workflow, for the page of a question that was answered before.

use crate::other_machines::OtherMachines;
use askbox_mailbox::address::HostName;
use askbox_mailbox::{Folder, Mailbox, RoundId, round, text};

/// A later question of the same workflow.
#[derive(Debug)]
pub struct Later {
    /// The address of its page.
    pub path: String,
    /// The question in one line.
    pub title: String,
    /// True if it waits for an answer.
    pub waits: bool,
}

impl Later {
    /// The newest question of the round's workflow, if that is a later one.
    pub fn find(mailbox: &Mailbox, of: &RoundId) -> Option<Self> {
        let newest = round::latest(mailbox, &of.workflow).filter(|newest| newest.id != *of)?;
        let question = &newest.document.typed;
        question.content().asks_a_person().then(|| Self {
            path: format!("/q/{}/{}", of.workflow, newest.id.question),
            title: text::excerpt(&question.title(), 300),
            waits: newest.folder == Folder::Pending && question.until.is_none(),
        })
    }

    /// The question that the workflow asks on another machine now, if that is not this round's.
    pub fn on_another_machine(there: &OtherMachines, host: &HostName, of: &RoundId) -> Option<Self> {
        let question = there.question(host, of)?;
        let round = question.round().filter(|round| round != of)?;
        let title = question.document().ok().map(|document| text::excerpt(&document.typed.title(), 300))?;
        Some(Self { path: format!("/q/{host}:{}/{}", of.workflow, round.question), title, waits: true })
    }
}
