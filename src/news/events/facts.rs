//! What the mailbox says about a round: news are made from that alone, so that a restart, a lost event or a second look change nothing.

use crate::config::Event;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::documents::fields::closing::Closed;
use crate::mailbox::due::timers;
use crate::mailbox::round::{self, Round};
use crate::mailbox::{Folder, Mailbox, Question};
use crate::run::attempt::record::{self, Run};
use crate::time::Time;

/// A round as it is now.
#[derive(Debug)]
pub(in crate::news) struct Facts {
    pub round: RoundId,
    pub folder: Folder,
    pub question: Question,
    /// When it was asked.
    pub asked: Time,
    /// The last attempt to deliver it.
    pub run: Option<Run>,
    /// Whether its time is over, and its default decides nothing.
    pub is_undecided: bool,
}

impl Facts {
    fn of(mailbox: &Mailbox, round: Round) -> Self {
        let run = record::latest(mailbox, &round.id).ok().flatten();
        let question = round.document.typed;
        let asked = timers::asked(mailbox, &question);
        let is_undecided = round.folder == Folder::Pending && timers::is_undecided(mailbox, &question, &round.id);
        Self { round: round.id, folder: round.folder, question, asked, run, is_undecided }
    }

    /// Whether a person is asked, or the round reports a failure: a wait for an event and a task ask nobody.
    pub(in crate::news) fn waits_for_a_person(&self) -> bool {
        self.folder == Folder::Pending && self.question.asked.until.is_none()
    }

    pub(in crate::news) fn is_over(&self) -> bool {
        self.folder == Folder::Closed
    }

    pub(in crate::news) fn closed(&self) -> Option<Closed> {
        self.question.closed.as_ref().map(|closing| closing.state)
    }

    /// Whether an answer is being taken back: for a moment its file has none.
    pub(in crate::news) fn is_being_taken_back(&self) -> bool {
        self.folder == Folder::Answered && self.question.answer.is_none()
    }

    /// Why it is asked again, or is overdue although it has a default.
    pub(in crate::news) fn why_it_waits(&self, event: Event) -> Option<String> {
        let refused = self.question.taken_back.as_ref().filter(|_| self.question.answer.is_none()).and_then(|back| back.refused.as_ref());
        match event {
            Event::Overdue if self.is_undecided => Some(timers::UNDECIDED.to_owned()),
            Event::Asked | Event::Approval => refused.map(|why| format!("an answer was refused: {why}")),
            _ => None,
        }
    }

    /// How often an answer was taken back.
    pub(in crate::news) fn times_taken_back(&self) -> u32 {
        self.question.taken_back.as_ref().map_or(0, |taken| 1 + u32::try_from(taken.before.len()).unwrap_or(u32::MAX))
    }
}

/// The rounds of a workflow that are not over, and those of `known` that are.
pub(in crate::news) fn of_workflow(mailbox: &Mailbox, workflow: &WorkflowId, known: &[RoundId]) -> Vec<Facts> {
    let rounds = round::of_workflow(mailbox, workflow).into_iter();
    let rounds = rounds.filter(|round| round.folder != Folder::Closed || known.contains(&round.id));
    rounds.map(|round| Facts::of(mailbox, round)).collect()
}
