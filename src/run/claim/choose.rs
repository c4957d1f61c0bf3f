//! Which round of a workflow can be claimed now, and why not.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::Config;
use crate::disk::Lock;
use crate::error::Result;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::listing::list;
use crate::mailbox::transitions::answered_by_hand::{self, Adopted};
use crate::mailbox::transitions::{refuse, settle};
use crate::mailbox::trust::Policy;
use crate::mailbox::trust::policy::Untrusted;
use crate::mailbox::{Folder, Mailbox, Question};
use crate::run::attempt::record::{self, Begin, Claimant, Run};
use crate::run::claim::plan;
use crate::run::claim::stages::{Chosen, Claim, OnRecord, Taken, lock_is_held};

/// What came of an attempt to claim a workflow's answer.
#[derive(Debug)]
pub enum ClaimAttempt<Stage> {
    /// The round is claimed by this process.
    Claimed(Box<Claim<Stage>>),
    /// Nothing can be claimed now; nothing was changed.
    Refused(Refusal),
}

/// Why nothing can be claimed now.
#[derive(Debug)]
pub enum Refusal {
    /// The workflow has no answered round that is unclaimed.
    NothingAnswered,
    /// The answer's file cannot be read and is young: its writer may not have finished. Look again after this time.
    MayBeUnfinished(Duration),
    /// This earlier round of the workflow is in `running/`; rounds go in order.
    EarlierRound(RoundId),
    /// The session to fork still runs, for this round of the parent workflow. Its transcript is not complete.
    AskerRuns(RoundId),
    /// The asker of this round waits for the answer with `ask-post --wait`.
    AwaitedInline(RoundId),
    /// The answer does not count: it was refused, and its question waits again.
    NotTrusted(Untrusted),
    /// The session that asked takes the answer of this round itself, whenever it runs. Only a person's own command launches an agent with it.
    AwaitedBySession(RoundId),
}

impl<Stage> ClaimAttempt<Stage> {
    fn and_then<Next>(self, step: impl FnOnce(Claim<Stage>) -> Result<Claim<Next>>) -> Result<ClaimAttempt<Next>> {
        Ok(match self {
            Self::Claimed(claim) => ClaimAttempt::Claimed(Box::new(step(*claim)?)),
            Self::Refused(refusal) => ClaimAttempt::Refused(refusal),
        })
    }
}

/// Who claims a round, and for what.
#[derive(Debug, Clone, Copy)]
pub enum By<'a> {
    /// A supervisor, which launches an agent as this configuration says.
    Supervisor(&'a Config),
    /// A watcher, for a supervisor: nobody has asked for this launch.
    Watcher(&'a Config),
    /// `ask-post --wait`, which takes the answer itself, if it counts by this policy.
    Inline(&'a Policy),
    /// `relaunch prompt`, which hands the answer to a main agent, if it counts by this policy.
    Prompt(&'a Policy),
}

impl By<'_> {
    /// Whether the answer of this document counts for this claimant.
    fn judge(self, question: &Question) -> Result<(), Untrusted> {
        match self {
            Self::Supervisor(config) | Self::Watcher(config) => config.answers.policy().judge(question),
            Self::Inline(policy) | Self::Prompt(policy) => policy.judge(question),
        }
    }
}

/// Claims the answered round of `workflow`, with its first attempt on record.
pub fn claim(mailbox: &Mailbox, workflow: &WorkflowId, by: By<'_>) -> Result<ClaimAttempt<OnRecord>> {
    choose(mailbox, workflow, by)?.and_then(|chosen| chosen.take(mailbox))?.and_then(|taken| taken.put_on_record(mailbox))
}

/// [`claim`] for a watcher, which starts a supervisor, up to the stage [`Taken`]. It may be started now: it waits for the round's lock and then reads the record.
pub fn take(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<ClaimAttempt<Taken>> {
    choose(mailbox, workflow, By::Watcher(config))?.and_then(|chosen| chosen.take(mailbox))
}

/// [`take`] for a supervisor in this process. It launches its agent first and writes the attempt's record while the agent starts:
/// see [`crate::run::supervise::ownership::Attempt`].
pub fn take_to_launch(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<ClaimAttempt<Taken>> {
    choose(mailbox, workflow, By::Supervisor(config))?.and_then(|chosen| chosen.take_to_launch(mailbox))
}

fn choose(mailbox: &Mailbox, workflow: &WorkflowId, by: By<'_>) -> Result<ClaimAttempt<Chosen>> {
    let refused = |refusal| Ok(ClaimAttempt::Refused(refusal));
    let lock = mailbox.lock(workflow)?;
    settle::settle(mailbox, &lock)?;
    let (document, round) = match answered_by_hand::adopt(mailbox, &lock)? {
        Adopted::Ready(document, round) => (*document, round),
        Adopted::InGrace(wait) => return refused(Refusal::MayBeUnfinished(wait)),
        Adopted::Nothing | Adopted::Undone | Adopted::Quarantined => return refused(Refusal::NothingAnswered),
    };
    // If the pending copy of this round stayed behind, it would look like the next round.
    settle::settle(mailbox, &lock)?;
    if let Err(why) = by.judge(&document.typed) {
        refuse::refuse(mailbox, &lock, document, &round, &why)?;
        return refused(Refusal::NotTrusted(why));
    }
    if !matches!(by, By::Inline(_)) && Lock::is_held(&waiter_path(mailbox, workflow))? {
        return refused(Refusal::AwaitedInline(round));
    }
    if matches!(by, By::Watcher(_)) && document.typed.asked.to_session {
        return refused(Refusal::AwaitedBySession(round));
    }
    // An asker that waits inline launches nothing, and may itself be the run of the earlier round.
    if !matches!(by, By::Inline(_))
        && let Some(earlier) = list::round_names(mailbox, Folder::Running).find(|r| r.workflow == round.workflow)
    {
        return refused(Refusal::EarlierRound(earlier));
    }
    let run = match by {
        By::Supervisor(config) | By::Watcher(config) => plan::first(mailbox, config, &document.typed, &round)?,
        By::Inline(_) => plan::unplanned(&round, Claimant::Inline),
        By::Prompt(_) => plan::unplanned(&round, Claimant::Prompt),
    };
    if matches!(by, By::Supervisor(_) | By::Watcher(_))
        && let Some(live) = live_run_of_asker(mailbox, &run)?
    {
        return refused(Refusal::AskerRuns(live));
    }
    if Lock::is_held(&record::lock_path(mailbox, &round))? {
        return Err(lock_is_held(&round));
    }
    Ok(ClaimAttempt::Claimed(Box::new(Claim::new(document, run, lock))))
}

/// The lock that `ask-post --wait` holds from before its post until it has the answer. There is one for each workflow: before the
/// post the round has no id, and after the post the answer may come before any lock is taken.
#[must_use]
pub fn waiter_path(mailbox: &Mailbox, workflow: &WorkflowId) -> PathBuf {
    mailbox.runs_of_workflow(workflow).join("waiter")
}

/// The live run whose session is to be forked. It asked on behalf of another workflow and went on.
fn live_run_of_asker(mailbox: &Mailbox, run: &Run) -> Result<Option<RoundId>> {
    let Begin::Fork { from, of: Some(parent) } = &run.begin else { return Ok(None) };
    for round in list::round_names(mailbox, Folder::Running).filter(|r| r.workflow == *parent) {
        let has_session = record::latest(mailbox, &round)?.is_some_and(|r| r.session_id == *from);
        if has_session && Lock::is_held(&record::lock_path(mailbox, &round))? {
            return Ok(Some(round));
        }
    }
    Ok(None)
}
