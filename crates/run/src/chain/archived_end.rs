//! How a workflow ended whose rounds are all archived.

use std::path::PathBuf;

use crate::chain::outcome::LastRound;
use crate::view::archived::{AT_ONCE, Archived};
use askbox_agent::{Event, EventKind};
use askbox_mailbox::{Ended, Mailbox, Result, WorkflowId};

/// The end of a workflow, and the archive that it was read from.
pub struct ArchivedEnd {
    /// The end, with the whole final text.
    pub ended: Ended,
    /// The archive.
    pub archive: PathBuf,
}

/// Reads the end of a workflow from the archive. `None` if no round of it is archived.
///
/// # Errors
/// [`askbox_mailbox::error::Error::Failed`] if the archive is damaged there.
pub fn of(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<ArchivedEnd>> {
    let newest = Archived::newest(mailbox, workflow)?.take(AT_ONCE);
    let closed: Vec<(LastRound, Archived)> = newest.filter_map(|round| round.and_then(closed).transpose()).collect::<Result<_>>()?;
    let Some((last, round)) = closed.into_iter().max_by_key(|(last, _)| last.rank()) else { return Ok(None) };
    let ended = last.ended(workflow, || final_text(&round))?;
    Ok(Some(ArchivedEnd { ended, archive: round.archive }))
}

fn closed(round: Archived) -> Result<Option<(LastRound, Archived)>> {
    let document = round.document?;
    let last = LastRound::new(&document.typed, round.attempts.last());
    Ok(last.map(|last| (last, Archived { document: Ok(document), ..round })))
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
