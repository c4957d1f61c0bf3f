//! The tool calls that a person has allowed to a workflow: `grants` in the workflow's record.

use crate::approval::ask::{self, Reply, Shown, reply};
use crate::approval::call::Call;
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::documents::fields::approval::CallHash;
use askbox_mailbox::documents::workflow::Grant;
use askbox_mailbox::error::Result;
use askbox_mailbox::id::{RoundId, WorkflowId};
use askbox_mailbox::text;
use askbox_mailbox::time;
use askbox_mailbox::trust::Policy;
use askbox_mailbox::{Mailbox, round, workflows};

/// The most calls that one workflow keeps as allowed. A further call is allowed once and asked about again.
pub const MOST: usize = 64;
/// The most characters that are kept of the text that the person was shown.
const SHOWN: usize = 200;

/// Returns the calls that were allowed to the workflow.
pub fn of_workflow(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Vec<Grant>> {
    Ok(workflows::read(mailbox, workflow)?.map(|document| document.typed.grants).unwrap_or_default())
}

/// True if exactly this call was allowed to the workflow. If the operator does not trust every answer, the record alone is not enough:
/// the answer that allowed the call must still be there, and count.
pub fn covers(mailbox: &Mailbox, policy: &Policy, workflow: &WorkflowId, call: &Call<'_>) -> Result<bool> {
    let approval = call.approval();
    let granted =
        of_workflow(mailbox, workflow)?.into_iter().filter(|grant| grant.tool == approval.tool && grant.sha256 == approval.sha256);
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

/// Puts this call into the record of the round's workflow, because the round's answer allows it for the whole workflow. Takes the
/// workflow's lock.
pub(super) fn add(mailbox: &Mailbox, round: &RoundId, call: &Call<'_>, by: &str) -> Result<()> {
    let workflow = &round.workflow;
    let approval = call.approval();
    let shown = ask::question(workflow, call, Shown::First)?.question;
    // Skip the first line: it only asks.
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

/// Takes back one allowed call of the workflow, the one with this hash, or all of them. Returns the calls that were taken back.
pub fn revoke(mailbox: &Mailbox, workflow: &WorkflowId, only: Option<&CallHash>, by: &str) -> Result<Vec<Grant>> {
    let lock = mailbox.lock(workflow)?;
    if of_workflow(mailbox, workflow)?.is_empty() {
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
