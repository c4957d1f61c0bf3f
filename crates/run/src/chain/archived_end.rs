//! How a workflow ended whose rounds are all archived.

use std::path::PathBuf;

use crate::chain::outcome;
use crate::delivery::Delivery;
use crate::view::archived::{AT_ONCE, Archived};
use askbox_agent::{Event, EventKind};
use askbox_mailbox::documents::awaited::End;
use askbox_mailbox::{Closed, Closing, Ended, Mailbox, Result, Time, WorkflowId};

/// The end of a workflow, and the archive that it was read from.
pub struct ArchivedEnd {
    /// The end, with the whole final text.
    pub ended: Ended,
    /// The archive.
    pub archive: PathBuf,
}

/// A round that may be the last one.
struct Candidate {
    begun: Time,
    closing: Closing,
    delivery: Option<Delivery>,
    round: Archived,
}

/// Reads the end of a workflow from the archive. `None` if no round of it is archived.
///
/// # Errors
/// [`askbox_mailbox::error::Error::Failed`] if the archive is damaged there.
pub fn of(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<ArchivedEnd>> {
    let newest = Archived::newest(mailbox, workflow)?.take(AT_ONCE);
    let candidates: Vec<Candidate> = newest.filter_map(|round| round.and_then(candidate).transpose()).collect::<Result<_>>()?;
    // An agent that waits for an answer waits within its run, and the run is what ends.
    let is_within = |candidate: &Candidate| matches!(candidate.delivery, Some(Delivery::Waiter | Delivery::Session));
    let Some(last) = candidates.into_iter().max_by_key(|candidate| (!is_within(candidate), candidate.begun)) else { return Ok(None) };
    let (end, mut text) = outcome::end_of(last.closing.state, last.delivery, last.closing.why.unwrap_or_default());
    if end == End::Delivered {
        text = final_text(&last.round)?;
    }
    let ended = outcome::ended(workflow, end, text);
    Ok(Some(ArchivedEnd { ended, archive: last.round.archive }))
}

fn candidate(round: Archived) -> Result<Option<Candidate>> {
    let document = round.document?;
    let question = &document.typed;
    let Some(closing) = question.closed.clone() else { return Ok(None) };
    let newest = round.attempts.last().filter(|_| closing.state == Closed::Delivered);
    let delivery = newest.map(|newest| Delivery::of_claimed(question, newest));
    let begun = question.asked_at().unwrap_or(closing.at);
    Ok(Some(Candidate { begun, closing, delivery, round: Archived { document: Ok(document), ..round } }))
}

/// The agent's final text, from the events, because the record of an attempt has only its beginning.
fn final_text(run: &Archived) -> Result<String> {
    let Some(newest) = run.attempts.last() else { return Ok(String::new()) };
    let mut last = None;
    run.each_line(newest.attempt, "events.jsonl", |line| {
        if let Ok(Event { kind: EventKind::Result { is_error: false, text, .. }, .. }) = serde_json::from_str(line) {
            last = Some(text.raw().to_owned());
        }
        Ok(())
    })?;
    Ok(last.or_else(|| newest.result.clone()).unwrap_or_default())
}
