//! What the rounds of a workflow add up to, without reading the records of thousands of past ones.
//!
//! A [derived file](askbox_mailbox::derived) of the folder `runs/W` keeps the sum of the rounds that are not among the newest ones of the
//! workflow ([`recent_rounds`]). All of these are closed, so what they add does not change. The others are read each time.
//!
//! The file counts only if the folders that came into `runs/W` since are exactly the newest rounds that it does not know. btrfs and other
//! filesystems that do not count the folders of a folder have no such file.

use std::collections::HashSet;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use askbox_mailbox::derived::{self, Derived, FolderState};
use askbox_mailbox::{Mailbox, QuestionId, Result, RoundId, WorkflowId, list, recent_rounds};

/// A sum over rounds.
pub(super) trait Sum: Clone + Serialize + DeserializeOwned {
    /// The longest file, in bytes.
    const LONGEST: u64;

    /// Adds a round.
    fn add(&mut self, mailbox: &Mailbox, round: &RoundId) -> Result<()>;

    /// True if this sum was begun with `nothing`, so that it still counts.
    fn follows(&self, nothing: &Self) -> bool;
}

/// A sum as its file holds it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept<S> {
    /// The sum of all rounds but the `others`.
    #[serde(flatten)]
    sum: S,
    /// The newest rounds at that time.
    others: HashSet<QuestionId>,
}

impl<S: Sum> Derived for Kept<S> {
    type Source = FolderState;
    const LONGEST: u64 = S::LONGEST;
}

/// The sum of all rounds that have a folder in `runs/W`, begun with `nothing`. `path` is the file.
pub(super) fn sum<S: Sum>(mailbox: &Mailbox, workflow: &WorkflowId, path: &Path, nothing: &S) -> Result<S> {
    let runs = mailbox.runs_of_workflow(workflow);
    // The first question of a workflow without this folder waits.
    let Some(now) = FolderState::of(&runs) else { return Ok(nothing.clone()) };
    let recent = recent_rounds::recent(mailbox, workflow);
    let newest: HashSet<QuestionId> = recent.rounds.into_iter().map(|round| round.question).collect();
    let mut sum = nothing.clone();
    if !recent.are_all {
        let came_since = |others: &HashSet<QuestionId>| newest.difference(others).count() as u64;
        let counts =
            |(then, kept): &(FolderState, Kept<S>)| kept.sum.follows(nothing) && now.came_since(then) == Some(came_since(&kept.others));
        let kept = derived::read::<Kept<S>>(path).filter(counts).map(|(_, kept)| kept);
        let is_known = kept.as_ref().is_some_and(|kept| kept.others == newest);
        let left: Vec<QuestionId> = match kept {
            Some(kept) => {
                sum = kept.sum;
                kept.others.difference(&newest).copied().collect()
            }
            None => list::rounds_of(mailbox, workflow).map(|round| round.question).filter(|question| !newest.contains(question)).collect(),
        };
        add(&mut sum, mailbox, workflow, &left)?;
        // A folder that came during the look may be in both sums, or in none.
        if !is_known && now.folders().is_some() && FolderState::of(&runs) == Some(now) {
            derived::write(path, &now, &Kept { sum: sum.clone(), others: newest.clone() });
        }
    }
    add(&mut sum, mailbox, workflow, &newest)?;
    Ok(sum)
}

fn add<'a>(sum: &mut impl Sum, mailbox: &Mailbox, workflow: &WorkflowId, rounds: impl IntoIterator<Item = &'a QuestionId>) -> Result<()> {
    rounds.into_iter().try_for_each(|question| sum.add(mailbox, &RoundId { workflow: workflow.clone(), question: *question }))
}
