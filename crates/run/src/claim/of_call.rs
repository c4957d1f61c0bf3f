//! The question that a tool call of a session has asked. The session takes the answer itself, when it makes the call once more.

use crate::claim::{Claim, ClaimAttempt, OnRecord, for_asker, inline};
use askbox_mailbox::error::Result;
use askbox_mailbox::id::{RoundId, WorkflowId};
use askbox_mailbox::listing::list;
use askbox_mailbox::trust::Policy;
use askbox_mailbox::{Folder, Mailbox, Question, read_question, round};

/// The question of a call.
pub enum OfCall {
    /// It has no answer that can be taken now.
    Waits,
    /// It is answered, or its round is over without an answer. The claim is there if the answer was claimed now.
    Over(RoundId, Box<Question>, Option<Box<Claim<OnRecord>>>),
}

impl OfCall {
    fn claimed(claim: Box<Claim<OnRecord>>) -> Self {
        Self::Over(claim.round(), Box::new(claim.document.typed.clone()), Some(claim))
    }
}

/// Looks for the question of this call, and takes the answer. `None` if the call has asked nothing.
///
/// # Errors
/// Those of [`for_asker`] and [`inline::left_behind`].
pub fn find(mailbox: &Mailbox, policy: &Policy, workflow: &WorkflowId, call: &str) -> Result<Option<OfCall>> {
    let is_its = |question: &Question| question.asked.tool_call.as_ref().is_some_and(|asked| asked.id == call);
    if read_question::pending(mailbox, workflow).is_ok_and(|pending| is_its(&pending.typed)) {
        return Ok(Some(OfCall::Waits));
    }
    let answered = read_question::document(&mailbox.document(Folder::Answered, workflow));
    if let Ok(answered) = answered.map(|answered| answered.typed)
        && is_its(&answered)
    {
        return Ok(Some(match for_asker(mailbox, &round::round_of(mailbox, &answered)?, policy)? {
            ClaimAttempt::Claimed(claim) => OfCall::claimed(claim),
            // The answer does not count, or another process is faster: the next look will tell.
            ClaimAttempt::Refused(_) => OfCall::Waits,
        }));
    }
    let rounds = list::newest_rounds_of(mailbox, workflow);
    for round in rounds {
        for folder in [Folder::Running, Folder::Parked, Folder::Closed] {
            let document = read_question::of_round(&mailbox.round(folder, &round), &round);
            let Some(question) = document.ok().map(|document| document.typed).filter(is_its) else { continue };
            // An earlier process of this session may have died with the answer in its hands.
            if folder == Folder::Running && question.asked.to_session {
                let left = inline::left_behind(mailbox, &round)?;
                return Ok(Some(left.map_or(OfCall::Waits, |claim| OfCall::claimed(Box::new(claim)))));
            }
            return Ok(Some(OfCall::Over(round, Box::new(question), None)));
        }
    }
    Ok(None)
}
