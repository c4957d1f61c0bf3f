//! What the mailbox says about a round: news are made from that alone, so that a restart, a lost event or a second look change nothing.

use crate::id::{RoundId, WorkflowId};
use crate::mailbox::documents::closing::Closed;
use crate::mailbox::round::{self, Round};
use crate::mailbox::{Folder, Mailbox, Question, timers};
use crate::run::attempt::record::{self, Run};
use crate::time::Time;

/// A round as it is now.
#[derive(Debug)]
pub(super) struct Facts {
    pub round: RoundId,
    pub folder: Folder,
    pub question: Question,
    /// When it was asked.
    pub asked: Time,
    /// The last attempt to deliver it.
    pub run: Option<Run>,
}

impl Facts {
    fn of(mailbox: &Mailbox, round: Round) -> Self {
        let run = record::latest(mailbox, &round.id).ok().flatten();
        let question = round.document.typed;
        let asked = timers::asked(mailbox, &question);
        Self { round: round.id, folder: round.folder, question, asked, run }
    }

    /// Whether a person is asked, or the round reports a failure: a wait for an event and a task ask nobody.
    pub(super) fn waits_for_a_person(&self) -> bool {
        self.folder == Folder::Pending && self.question.until.is_none()
    }

    pub(super) fn is_over(&self) -> bool {
        self.folder == Folder::Closed
    }

    pub(super) fn closed(&self) -> Option<Closed> {
        self.question.closed.as_ref().map(|closing| closing.state)
    }

    /// Whether an answer is being taken back: for a moment its file has none.
    pub(super) fn is_being_taken_back(&self) -> bool {
        self.folder == Folder::Answered && self.question.answer.is_none()
    }

    /// How often an answer was taken back.
    pub(super) fn times_taken_back(&self) -> u32 {
        self.question.taken_back.as_ref().map_or(0, |taken| 1 + u32::try_from(taken.before.len()).unwrap_or(u32::MAX))
    }
}

/// The rounds of a workflow that are not over, and those of `known` that are.
pub(super) fn of_workflow(mailbox: &Mailbox, workflow: &WorkflowId, known: &[RoundId]) -> Vec<Facts> {
    let rounds = round::of_workflow(mailbox, workflow).into_iter();
    let rounds = rounds.filter(|round| round.folder != Folder::Closed || known.contains(&round.id));
    rounds.map(|round| Facts::of(mailbox, round)).collect()
}
