//! Marks of calls that are made at most once in a round. A process of a run sets the mark before the call, so whoever finds a mark knows
//! that the call may have been made.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::attempt::record::{self, RunState};
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::documents::fields::asked_in::AskedIn;
use askbox_mailbox::{AttemptId, Error, Folder, Lock, Mailbox, Placed, Result, RoundId, Time, caller, disk, document, text, time};

/// How the names of the marks in `runs/W/Q` begin.
pub const PREFIX: &str = "once.";
/// The longest name of a call, in bytes.
pub const MAX_CALL: usize = 1024;
/// The largest mark, in bytes.
const MAX_MARK: u64 = 16 << 10;
/// How many calls are named in words, and the most characters of each.
const NAMED: usize = 5;
const NAME: usize = 80;

/// The beginning of the words about calls that may have been made.
const MAY_HAVE_BEEN: &str = "may have been made before (askbox once): ";

/// The content of a mark.
#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    call: String,
    /// The attempt that set it.
    run: AttemptId,
    at: Time,
    /// The person who knows that the call was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_by_word_of: Option<String>,
}

/// Marks a call in the round of this live run, durably. Returns `None` if this process has set the mark, and the attempt that has set it
/// before otherwise.
///
/// # Errors
/// [`Error::Usage`] if `caller` is not the live attempt of its round, or if the call has no name.
pub fn mark(mailbox: &Mailbox, caller: Option<AskedIn>, call: &str) -> Result<Option<AttemptId>> {
    let run = live(mailbox, caller)?;
    if call.trim().is_empty() || call.len() > MAX_CALL {
        let problem = if call.trim().is_empty() {
            "the name of the call is blank".into()
        } else {
            format!("the name of the call has {} bytes", call.len())
        };
        return Err(Error::usage(problem, format!("name it with 1 to {MAX_CALL} bytes, as with the id of the tool's call")));
    }
    let path = path(mailbox, &run.round, call);
    let mark = Mark { call: call.into(), run: run.clone(), at: time::now(), made_by_word_of: None };
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
    if caller::session(mailbox, &caller)?.is_none() {
        return Err(usage(format!("$ASKBOX_NONCE does not prove that this is a process of {}", caller.run)));
    }
    let AttemptId { round, attempt } = &caller.run;
    let newest = record::latest(mailbox, round)?;
    let is_at_work = newest.is_some_and(|newest| newest.attempt == *attempt && newest.state == RunState::Running);
    let is_claimed = disk::exists(mailbox.round(Folder::Running, round)) && Lock::is_held(&record::lock_path(mailbox, round))?;
    if !is_at_work || !is_claimed { Err(usage(format!("{} is over", caller.run))) } else { Ok(caller.run) }
}

fn path(mailbox: &Mailbox, round: &RoundId, call: &str) -> PathBuf {
    mailbox.runs_of(round).join(format!("{PREFIX}{}", Uuid::new_v5(round.question.uuid(), call.as_bytes())))
}

fn read(path: &std::path::Path) -> Option<Mark> {
    disk::read(path, MAX_MARK).ok().and_then(|bytes| document::json(&bytes))
}

/// A mark with its file. `None` if it cannot be read.
type Found = (PathBuf, Option<Mark>);

fn found(mailbox: &Mailbox, round: &RoundId) -> Vec<Found> {
    let entries = disk::entries(&mailbox.runs_of(round)).into_iter().flatten().flatten();
    let is_mark = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.starts_with(PREFIX));
    let mut marks: Vec<Found> = entries.filter(|entry| is_mark(&entry.name)).map(|entry| (entry.path.clone(), read(&entry.path))).collect();
    marks.sort_by_key(|(path, mark)| (mark.as_ref().map_or(Time::MAX_UTC, |mark| mark.at), path.clone()));
    marks
}

/// The call of a mark. A mark that cannot be read is named by its file.
fn call_of((path, mark): &Found) -> String {
    let file = || path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    mark.as_ref().map_or_else(file, |mark| mark.call.clone())
}

/// The calls that were marked in a round, the oldest mark first. A mark that cannot be read comes last.
pub fn calls(mailbox: &Mailbox, round: &RoundId) -> Vec<String> {
    found(mailbox, round).iter().map(call_of).collect()
}

/// The open marks. An attempt left each of them and ended without being delivered, and no person has said whether the call was made. `live` is
/// the attempt at work.
fn open(mailbox: &Mailbox, round: &RoundId, live: Option<u32>) -> Vec<Found> {
    let is_open = |(_, mark): &Found| {
        let Some(mark) = mark else { return live.is_none() };
        let is_delivered = || record::read(mailbox, round, mark.run.attempt).is_ok_and(|run| run.is_delivered());
        mark.made_by_word_of.is_none() && live != Some(mark.run.attempt) && !is_delivered()
    };
    found(mailbox, round).into_iter().filter(is_open).collect()
}

/// Says which calls of a round may have been made, without those whose end is known. `None` if there are none.
pub fn open_in_words(mailbox: &Mailbox, round: &RoundId, live: Option<u32>) -> Option<String> {
    words(&open(mailbox, round, live).iter().map(call_of).collect::<Vec<_>>())
}

/// A person's word about open marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// The call was made: no later attempt makes it.
    Made,
    /// The call was not made: a later attempt may make it.
    NotMade,
}

/// Closes the open marks of a round by a person's word. With `call`, closes only the mark of this call. Returns their calls.
///
/// # Errors
/// [`Error::Conflict`] if the round is live. [`Error::Io`] if the system refuses.
pub fn close(mailbox: &Mailbox, round: &RoundId, call: Option<&str>, word: Word, by: &str) -> Result<Vec<String>> {
    let all = open(mailbox, round, None).into_iter().filter(|mark| call.is_none_or(|call| call_of(mark) == call)).collect::<Vec<_>>();
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let Some(_held) = Lock::try_acquire(&record::lock_path(mailbox, round))? else {
        return Err(Error::conflict(format!("{round} has a live run"), "wait for its end, or stop it: relaunch stop"));
    };
    let mut closed = Vec::new();
    for mark in all {
        let call = call_of(&mark);
        let (path, mark) = mark;
        match word {
            Word::Made => {
                // Without the run that set it, the mark says too little.
                let run = AttemptId { round: round.clone(), attempt: 0 };
                let nameless = || Mark { call: call.clone(), run, at: time::now(), made_by_word_of: None };
                let mark = Mark { made_by_word_of: Some(by.to_owned()), ..mark.unwrap_or_else(nameless) };
                disk::replace(&path, &document::to_json(&mark)?)?;
            }
            Word::NotMade => disk::remove(&path)?,
        }
        // The audit holds no words of an agent.
        let said = if word == Word::Made { "a marked call was made" } else { "a marked call was not made" };
        audit::record(mailbox, Entry::about_round("once_known", round).by(by).why(said));
        closed.push(call);
    }
    Ok(closed)
}

/// Says which calls of a round may have been made. `None` if none is marked.
pub fn in_words(mailbox: &Mailbox, round: &RoundId) -> Option<String> {
    words(&calls(mailbox, round))
}

fn words(calls: &[String]) -> Option<String> {
    let named: Vec<_> = calls.iter().take(NAMED).map(|call| format!("`{}`", text::excerpt(call, NAME))).collect();
    let more = calls.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    (!named.is_empty()).then(|| format!("{MAY_HAVE_BEEN}{}{more}", named.join(", ")))
}

/// The reason of an attempt without the words of [`beside`]: by now, a person may have said how the calls ended.
pub fn without(why: &str) -> Option<String> {
    let own = why.find(MAY_HAVE_BEEN).map_or(why, |at| why[..at].trim_end_matches("; "));
    (!own.is_empty()).then(|| own.to_owned())
}

/// The reason why an attempt ended, with the calls that may have been made.
pub fn beside(mailbox: &Mailbox, round: &RoundId, why: Option<String>) -> Option<String> {
    let Some(words) = in_words(mailbox, round) else { return why };
    Some(why.map_or_else(|| words.clone(), |why| format!("{why}; {words}")))
}
