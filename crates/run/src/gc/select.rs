//! Selects the rounds of a workflow that may be removed.

use std::collections::BTreeSet;

use crate::attempt::record;
use crate::gc::open_workflows::is_open;
use crate::gc::pass::{Gc, named};
use askbox_mailbox::{Closed, Content, Folder, Lock, Question, QuestionId, Result, RoundId, Time, WorkflowLock, disk, list, read_question};

/// The rounds of a workflow to remove.
#[derive(Debug, Default)]
pub(super) struct Selection {
    /// The rounds.
    pub(super) rounds: Vec<QuestionId>,
    /// The newest round, if the whole workflow is removed. It is removed last.
    pub(super) last: Option<QuestionId>,
}

/// The facts about a closed round that decide whether it stays.
struct Over {
    question: QuestionId,
    begun: Time,
    at: Time,
    state: Closed,
    answered: Option<Time>,
    has_prompt: bool,
    /// True if its id was derived, so that the same content, asked again, would get the same id.
    may_recur: bool,
    is_old: bool,
}

impl Over {
    fn of_question(question: &Question, round: &RoundId, is_old: bool, before: Time) -> Option<Self> {
        let closed = question.closed.as_ref()?;
        let is_its_own = question.workflow_id == round.workflow && question.question_id == Some(round.question);
        is_its_own.then(|| Self {
            question: round.question,
            begun: question.asked_at().unwrap_or(closed.at),
            at: closed.at,
            state: closed.state,
            answered: question.answer.as_ref().and_then(|a| a.at),
            has_prompt: question.prompt.is_some(),
            may_recur: round.question.uuid().get_version_num() == 5
                && question.timestamp.is_none()
                && !matches!(question.content(), Content::Results(_)),
            is_old: is_old && closed.at <= before,
        })
    }
}

impl Gc<'_> {
    /// Selects the rounds to remove. `old` are the workflow's rounds whose files are old.
    pub(super) fn select(&self, lock: &WorkflowLock, old: &BTreeSet<QuestionId>) -> Result<Selection> {
        let (mailbox, workflow) = (self.mailbox, lock.workflow());
        let named = named(mailbox, workflow)?;
        let known: BTreeSet<QuestionId> = list::rounds_of(mailbox, workflow).map(|r| r.question).chain(old.iter().copied()).collect();
        let (mut over, mut others) = (Vec::new(), false);
        for question in known {
            let round = RoundId { workflow: workflow.clone(), question };
            let read = read_question::document(&mailbox.round(Folder::Closed, &round));
            match read.ok().and_then(|d| Over::of_question(&d.typed, &round, old.contains(&question), self.before)) {
                Some(round) => over.push(round),
                // The document is not closed, or cannot be read.
                None => others = true,
            }
        }
        over.sort_unstable_by_key(|o| (o.at, o.question));
        let is_whole = !others && over.iter().all(|o| o.is_old) && !self.is_needed(lock)?;
        if is_whole {
            let mut rounds: Vec<_> = over.iter().map(|o| o.question).collect();
            let last = rounds.pop();
            return Ok(Selection { rounds, last });
        }
        let needed = self.needed_of(lock, &over)?;
        let was_asked_in = |question| self.open.was_asked_in(&RoundId { workflow: workflow.clone(), question });
        let is_needed = |id| needed.contains(&id) || named.contains(&id) || was_asked_in(id);
        let goes = |o: &&Over| o.is_old && !o.may_recur && !is_needed(o.question);
        Ok(Selection { rounds: over.iter().filter(goes).map(|o| o.question).collect(), last: None })
    }

    /// True if the workflow is open, has a young checkpoint, or is needed by an open workflow.
    fn is_needed(&self, lock: &WorkflowLock) -> Result<bool> {
        let (mailbox, workflow) = (self.mailbox, lock.workflow());
        Ok(self.has_young_checkpoint(workflow) || self.open.concerns(mailbox, workflow)? || is_open(mailbox, workflow)?)
    }

    /// The rounds that must stay while their workflow goes on: the one closed last, the one answered last, the first one with a prompt,
    /// and those that tell its parent how it ended.
    fn needed_of(&self, lock: &WorkflowLock, over: &[Over]) -> Result<BTreeSet<QuestionId>> {
        let mut needed: BTreeSet<QuestionId> = over.iter().rev().take(1).map(|o| o.question).collect();
        needed.extend(over.iter().max_by_key(|o| (o.answered, o.at)).map(|o| o.question));
        needed.extend(over.iter().find(|o| o.has_prompt).map(|o| o.question));
        let mut by_begin: Vec<&Over> = over.iter().collect();
        by_begin.sort_unstable_by_key(|o| std::cmp::Reverse(o.begun));
        let mut end = None;
        for round in by_begin {
            if end.is_some_and(|end| round.begun < end) {
                break;
            }
            needed.insert(round.question);
            let id = RoundId { workflow: lock.workflow().clone(), question: round.question };
            let is_handed_over = round.state == Closed::Delivered && record::latest(self.mailbox, &id)?.is_some_and(|r| !r.is_launch());
            if !is_handed_over {
                end = Some(round.begun);
            }
        }
        Ok(needed)
    }

    /// Takes the run lock, if there is one. `None` if another process holds it.
    pub(super) fn hold(&self, round: &RoundId) -> Result<Option<Option<Lock>>> {
        let path = record::lock_path(self.mailbox, round);
        if !disk::exists(&path) { Ok(Some(None)) } else { Ok(Lock::try_acquire(&path)?.map(Some)) }
    }
}
