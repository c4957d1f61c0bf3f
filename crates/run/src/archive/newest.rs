//! The archived rounds, the newest first, in bounded memory. A month is opened when its turn comes.

use std::cell::RefCell;
use std::collections::HashSet;
use std::iter::Peekable;
use std::rc::Rc;

use askbox_mailbox::listing::newest_first::NewestFirst;
use askbox_mailbox::{Error, Mailbox, QuestionId, Result, RoundId, Time, WorkflowId};

use crate::archive::index::{self, Identity, Located};
use crate::archive::{Month, lost_index};

/// A round in the archive. Rounds are ordered by the fields in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArchivedRound {
    /// When the round changed last.
    pub changed: Time,
    question: QuestionId,
    workflow: WorkflowId,
    /// When the round ended.
    pub closed: Option<Time>,
    /// The member that holds the round.
    pub located: Located,
}

impl ArchivedRound {
    /// The round's id.
    pub fn id(&self) -> RoundId {
        RoundId { workflow: self.workflow.clone(), question: self.question }
    }
}

/// The rounds that were archived again. Their earlier states no longer count.
type Replaced = Rc<RefCell<HashSet<Identity>>>;
type OfMonth = Box<dyn Iterator<Item = Result<ArchivedRound>>>;

/// The archived rounds, the newest first. An error is told once, and the rounds behind it follow.
pub struct NewestArchived {
    mailbox: Mailbox,
    workflow: Option<WorkflowId>,
    since: Option<Time>,
    wanted: Option<usize>,
    /// The months to come, ascending.
    months: Vec<Month>,
    opened: Option<Peekable<OfMonth>>,
    replaced: Replaced,
}

impl NewestArchived {
    /// Finds the rounds of one workflow, or of all, that changed at or after `since`. `wanted` is about how many the caller will use.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder of the archives cannot be read.
    pub fn find(mailbox: &Mailbox, workflow: Option<&WorkflowId>, since: Option<Time>, wanted: Option<usize>) -> Result<Self> {
        let mut months = index::months(mailbox)?;
        months.retain(|month| since.is_none_or(|since| month.end() > since));
        let (mailbox, workflow) = (mailbox.clone(), workflow.cloned());
        Ok(Self { mailbox, workflow, since, wanted, months, opened: None, replaced: Replaced::default() })
    }

    /// The next round. `None` if there is none, or none that can be newer than `after`. In that case no month is opened.
    pub fn peek(&mut self, after: Option<Time>) -> Option<&Result<ArchivedRound>> {
        while self.opened.as_mut().is_none_or(|opened| opened.peek().is_none()) {
            let month = *self.months.last()?;
            if after.is_some_and(|after| month.end() <= after) {
                return None;
            }
            self.months.pop();
            self.opened = Some(self.open(month).peekable());
        }
        self.opened.as_mut()?.peek()
    }

    fn open(&self, month: Month) -> OfMonth {
        let (mailbox, workflow, since) = (self.mailbox.clone(), self.workflow.clone(), self.since);
        let (replaced, newer): (Replaced, HashSet<Identity>) = (self.replaced.clone(), self.replaced.borrow().clone());
        let problems: Rc<RefCell<Vec<Error>>> = Rc::default();
        let (told, mut is_first) = (problems.clone(), true);
        let found = NewestFirst::new(self.wanted, move |offer: &mut dyn FnMut(ArchivedRound)| {
            // A later look must come to the same result, so it begins with the same set.
            let mut now = newer.clone();
            if is_first && let Some(lost) = lost_index::error(&mailbox, month) {
                problems.borrow_mut().push(lost);
            }
            for member in index::members_from_end(&mailbox, month, workflow.as_ref())? {
                let member = match member {
                    Ok(member) => member,
                    Err(e) if is_first => {
                        problems.borrow_mut().push(e);
                        continue;
                    }
                    Err(_) => continue,
                };
                for round in member.rounds.into_iter().rev() {
                    let identity = round.identity();
                    if now.contains(&identity) {
                        continue;
                    }
                    if round.again {
                        now.insert(identity);
                    }
                    let is_wanted = workflow.as_ref().is_none_or(|workflow| *workflow == round.workflow_id);
                    if is_wanted && since.is_none_or(|since| round.changed >= since) {
                        offer(ArchivedRound {
                            changed: round.changed,
                            question: round.question_id,
                            workflow: round.workflow_id,
                            closed: round.closed,
                            located: Located { month, place: member.place },
                        });
                    }
                }
            }
            is_first = false;
            *replaced.borrow_mut() = now;
            Ok(())
        });
        Box::new(WithProblems { found: found.peekable(), told })
    }
}

impl Iterator for NewestArchived {
    type Item = Result<ArchivedRound>;

    fn next(&mut self) -> Option<Self::Item> {
        self.peek(None)?;
        self.opened.as_mut()?.next()
    }
}

impl std::fmt::Debug for NewestArchived {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewestArchived").field("months", &self.months).finish_non_exhaustive()
    }
}

/// Tells the problems of a month first, once it was read.
struct WithProblems<Rounds: Iterator<Item = Result<ArchivedRound>>> {
    found: Peekable<Rounds>,
    told: Rc<RefCell<Vec<Error>>>,
}

impl<Rounds: Iterator<Item = Result<ArchivedRound>>> Iterator for WithProblems<Rounds> {
    type Item = Result<ArchivedRound>;

    fn next(&mut self) -> Option<Self::Item> {
        self.found.peek();
        let problem = self.told.borrow_mut().pop();
        problem.map(Err).or_else(|| self.found.next())
    }
}

/// The newest archived round of a workflow, if there is one.
///
/// # Errors
/// The first error on the way to it.
pub fn newest_of(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<ArchivedRound>> {
    NewestArchived::find(mailbox, Some(workflow), None, Some(1))?.next().transpose()
}
