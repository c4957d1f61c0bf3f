//! Marks of calls that are made at most once in a round. A process of a run sets the mark before the call, so whoever finds a mark knows
//! that the call may have been made.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::attempt::record::{self, RunState};
use askbox_mailbox::disk::{self, Lock, Placed};
use askbox_mailbox::documents::fields::asked_in::AskedIn;
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::id::{AttemptId, RoundId};
use askbox_mailbox::time::{self, Time};
use askbox_mailbox::who::asked_within;
use askbox_mailbox::{Folder, Mailbox, document, text};

/// How the names of the marks in `runs/W/Q` begin.
pub const PREFIX: &str = "once.";
/// The longest name of a call, in bytes.
pub const MAX_CALL: usize = 1024;
/// The largest mark, in bytes.
const MAX_MARK: u64 = 16 << 10;
/// How many calls are named in words, and the most characters of each.
const NAMED: usize = 5;
const NAME: usize = 80;

/// The content of a mark.
#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    call: String,
    /// The attempt that set it.
    run: AttemptId,
    at: Time,
}

/// Marks a call in the round of this live run, durably. Returns `None` if this process has set the mark, and the attempt that has set it
/// before otherwise.
///
/// # Errors
/// [`Error::Usage`] if `caller` is not the live attempt of its round, or if the call has no name.
pub fn mark(mailbox: &Mailbox, caller: Option<AskedIn>, call: &str) -> Result<Option<AttemptId>> {
    let run = live(mailbox, caller)?;
    if call.trim().is_empty() || call.len() > MAX_CALL {
        let problem = format!("the name of the call has {} bytes", call.len());
        return Err(Error::usage(problem, format!("name it with 1 to {MAX_CALL} bytes, as with the id of the tool's call")));
    }
    let path = path(mailbox, &run.round, call);
    let mark = Mark { call: call.into(), run: run.clone(), at: time::now() };
    match disk::create(&path, &document::to_json(&mark)?)? {
        Placed::Done => Ok(None),
        // A mark that cannot be read is one all the same.
        Placed::NameExists => Ok(Some(read(&path).map_or(run, |mark| mark.run))),
    }
}

/// The attempt of this process. It must be the newest of a round in `running/`, at work, and under a supervisor.
fn live(mailbox: &Mailbox, caller: Option<AskedIn>) -> Result<AttemptId> {
    let usage = |problem: String| Error::usage(problem, "call it in a process that a run of askbox has started");
    let caller = caller.ok_or_else(|| usage("no run of askbox calls this, so there is no round to mark the call in".into()))?;
    if asked_within::session(mailbox, &caller)?.is_none() {
        return Err(usage(format!("$ASKBOX_NONCE does not prove that this is a process of {}", caller.run)));
    }
    let AttemptId { round, attempt } = &caller.run;
    let newest = record::latest(mailbox, round)?;
    let is_at_work = newest.is_some_and(|newest| newest.attempt == *attempt && newest.progress.state == RunState::Running);
    let is_claimed = disk::exists(mailbox.round(Folder::Running, round)) && Lock::is_held(&record::lock_path(mailbox, round))?;
    if !is_at_work || !is_claimed {
        return Err(usage(format!("{} is over", caller.run)));
    }
    Ok(caller.run)
}

fn path(mailbox: &Mailbox, round: &RoundId, call: &str) -> PathBuf {
    mailbox.runs_of(round).join(format!("{PREFIX}{}", Uuid::new_v5(round.question.uuid(), call.as_bytes())))
}

fn read(path: &std::path::Path) -> Option<Mark> {
    disk::read(path, MAX_MARK).ok().and_then(|bytes| document::json(&bytes))
}

/// The calls that were marked in a round, the oldest mark first. A mark that cannot be read is named by its file, and comes last.
#[must_use]
pub fn calls(mailbox: &Mailbox, round: &RoundId) -> Vec<String> {
    let entries = disk::entries(&mailbox.runs_of(round)).into_iter().flatten().flatten();
    let marks = entries.filter_map(|entry| {
        let name = entry.name.to_str().filter(|name| name.starts_with(PREFIX))?.to_owned();
        Some(read(&entry.path).map_or((Time::MAX_UTC, name), |mark| (mark.at, mark.call)))
    });
    let mut marks: Vec<_> = marks.collect();
    marks.sort();
    marks.into_iter().map(|(_, call)| call).collect()
}

/// Says which calls of a round may have been made. `None` if none is marked.
#[must_use]
pub fn in_words(mailbox: &Mailbox, round: &RoundId) -> Option<String> {
    let calls = calls(mailbox, round);
    let named: Vec<_> = calls.iter().take(NAMED).map(|call| format!("`{}`", text::excerpt(call, NAME))).collect();
    let more = calls.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    (!named.is_empty()).then(|| format!("may have been made before (askbox once): {}{more}", named.join(", ")))
}

/// The reason why an attempt ended, with the calls that may have been made.
#[must_use]
pub fn beside(mailbox: &Mailbox, round: &RoundId, why: Option<String>) -> Option<String> {
    let Some(words) = in_words(mailbox, round) else { return why };
    Some(why.map_or_else(|| words.clone(), |why| format!("{why}; {words}")))
}
