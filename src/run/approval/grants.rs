//! The tool calls that a person has allowed to a workflow: `grants` in the workflow's record.

use crate::error::Result;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::documents::fields::approval::CallHash;
use crate::mailbox::documents::workflow::Grant;
use crate::mailbox::trust::Policy;
use crate::mailbox::{Mailbox, round, workflows};
use crate::run::approval::ask::{self, Shown};
use crate::run::approval::call::Call;
use crate::run::approval::reply::{Reply, reply};
use crate::{text, time};

/// The most calls that are allowed to one workflow. A further one is allowed once, and asked about again.
pub const MOST: usize = 64;
/// The most characters that are kept of what the person was shown.
const SHOWN: usize = 200;

/// What was allowed to the workflow.
pub fn of(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Vec<Grant>> {
    Ok(workflows::read(mailbox, workflow)?.map(|document| document.typed.grants).unwrap_or_default())
}

/// Whether exactly this call was allowed to the workflow. Where not every answer counts, the record is not believed: the answer that allowed it
/// must still be there, and count.
pub fn covers(mailbox: &Mailbox, policy: &Policy, workflow: &WorkflowId, call: &Call<'_>) -> Result<bool> {
    let approval = call.approval();
    let granted = of(mailbox, workflow)?.into_iter().filter(|grant| grant.tool == approval.tool && grant.sha256 == approval.sha256);
    let counts = |grant: Grant| {
        let Some(question) = grant.question_id else { return false };
        let round = RoundId { workflow: workflow.clone(), question };
        round::claimed_or_closed(mailbox, &round).map(|document| document.typed).any(|question| {
            let allows = || matches!(reply(&question), Some(Reply::Workflow)) && ask::shows(&question, call);
            question.round().as_ref() == Some(&round) && policy.judge(&question).is_ok() && allows()
        })
    };
    Ok(granted.into_iter().any(|grant| policy.takes_everything() || counts(grant)))
}

/// Allows this call to the workflow of the round whose answer says so. Takes the workflow's lock.
pub(super) fn add(mailbox: &Mailbox, round: &RoundId, call: &Call<'_>, by: &str) -> Result<()> {
    let workflow = &round.workflow;
    let approval = call.approval();
    let shown = ask::question(workflow, call, Shown::First)?.question;
    // The first line only asks.
    let shown = shown.split_once('\n').map_or(shown.as_str(), |(_, call)| call.trim());
    let grant = Grant {
        tool: approval.tool,
        sha256: approval.sha256,
        shown: text::excerpt(shown, SHOWN),
        by: text::excerpt(by, SHOWN),
        at: time::to_the_millisecond(time::now()),
        question_id: Some(round.question),
    };
    let lock = mailbox.lock(workflow)?;
    workflows::update(mailbox, &lock, |record| {
        let is_known = record.grants.iter().any(|known| known.tool == grant.tool && known.sha256 == grant.sha256);
        if !is_known && record.grants.len() < MOST {
            record.grants.push(grant);
        }
    })
    .map(drop)
}

/// Takes back what was allowed to the workflow: the call with this hash, or all. Returns what was taken back.
pub fn revoke(mailbox: &Mailbox, workflow: &WorkflowId, only: Option<&CallHash>, by: &str) -> Result<Vec<Grant>> {
    let lock = mailbox.lock(workflow)?;
    if of(mailbox, workflow)?.is_empty() {
        return Ok(Vec::new());
    }
    let mut revoked = Vec::new();
    workflows::update(mailbox, &lock, |record| {
        let (taken, kept) = record.grants.drain(..).partition(|grant| only.is_none_or(|hash| grant.sha256 == *hash));
        (revoked, record.grants) = (taken, kept);
    })?;
    if !revoked.is_empty() {
        audit::record(mailbox, Entry { workflow_id: Some(workflow.clone()), ..Entry::about("revoked") }.by(by));
    }
    Ok(revoked)
}
