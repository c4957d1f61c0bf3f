//! The next prompts of people for sessions of an agent program, and their stops: files `prompts/UUID.STATE.json`. `kept` waits until the session is idle,
//! `sent` was handed to a sender, `back` was taken back.
//!
//! The name is the state. Renaming `kept` to `sent` comes before the words leave, and refuses to replace, so words are sent at most once,
//! whoever is killed. A sender that was killed behind the rename leaves the words in `sent`.

use std::path::PathBuf;
use std::time::SystemTime;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::audit;
use crate::disk::{self, Placed};
use crate::document::{self, SCHEMA_VERSION};
use crate::error::{Error, Result};
use crate::layout::Mailbox;
use crate::time::{self, Time};
use crate::wake;
use crate::who::caller::Caller;

/// The longest words, in bytes.
pub const LONGEST: usize = 20_000;
/// The largest file, in bytes.
const LARGEST: u64 = 256 << 10;
/// The most prompts that are kept, and the most that were sent or taken back.
const MOST: usize = 200;
/// How long after a refused call another one of its turn may come.
const TOGETHER: TimeDelta = TimeDelta::minutes(1);
/// How long a prompt is kept that is not waiting any more.
const LASTS: TimeDelta = TimeDelta::days(1);

/// The state of a prompt in the mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Place {
    /// It waits, and can be taken back.
    Kept,
    /// It was sent, or its sender was killed in front of that.
    Sent,
    /// It was taken back.
    Back,
}

impl Place {
    const ALL: [Self; 3] = [Self::Kept, Self::Sent, Self::Back];
}

/// How far a prompt has come in its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reached {
    /// Nothing is known.
    #[default]
    Nothing,
    /// The session has not got it. Nobody sends it again.
    NotArrived,
    /// The session has refused it.
    Refused,
    /// It waits for a person at the session's terminal.
    Held,
    /// The session has it.
    Given,
    /// The model reads it.
    TakenUp,
    /// The model has ended its turn since.
    Answered,
}

/// The agent of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agent {
    /// Claude Code.
    #[default]
    Claude,
    /// Codex.
    Codex,
    /// opencode.
    Opencode,
}

impl Agent {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Opencode => "opencode",
        }
    }
}

/// A prompt, or a stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// The version of the form.
    #[serde(default)]
    pub schema_version: u32,
    /// The agent of the session.
    #[serde(default)]
    pub agent: Agent,
    /// The id of the session.
    pub session: String,
    /// The name of the session when the person gave it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// True for a stop. It has no words, and does not wait until the session is idle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stops: bool,
    /// The turn that a stop is for, if its agent names turns.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub turn: String,
    /// The words of the person.
    pub words: String,
    /// The name of the person's device.
    pub by: String,
    /// When the person gave it.
    pub at: Time,
    /// When its sender began to send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Time>,
    /// How far it has come.
    #[serde(default)]
    pub reached: Reached,
    /// Why it has come no further.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Prompt {
    /// A prompt that is given now.
    pub fn new(agent: Agent, session: &str, words: String, by: &str) -> Self {
        let (session, by) = (session.to_owned(), by.to_owned());
        Self {
            schema_version: SCHEMA_VERSION,
            agent,
            session,
            title: String::new(),
            stops: false,
            turn: String::new(),
            words,
            by,
            at: time::now(),
            sent_at: None,
            reached: Reached::Nothing,
            why: String::new(),
        }
    }

    /// True if it has come as far as it will, or nowhere without its person. A stop is told by its session's page alone.
    fn is_news(&self) -> bool {
        let is_one = matches!(self.reached, Reached::Answered | Reached::Refused | Reached::Held | Reached::NotArrived);
        is_one && !self.stops
    }
}

/// A prompt with its id and its state.
pub type Found = (Uuid, Place, Prompt);

/// The folder of these files. It may be missing.
pub fn folder(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("prompts")
}

fn path(mailbox: &Mailbox, id: Uuid, place: Place) -> PathBuf {
    let state: &str = place.into();
    folder(mailbox).join(format!("{id}.{state}.json"))
}

/// Keeps a prompt until its session is idle. The same id again changes nothing.
///
/// # Errors
/// [`Error::Conflict`] if this caller may not send prompts, or if too many are there. [`Error::Io`] if the system refuses.
pub fn keep(mailbox: &Mailbox, caller: &Caller, id: Uuid, prompt: &Prompt) -> Result<()> {
    caller.may_prompt()?;
    disk::create_folder(&folder(mailbox))?;
    let all = all(mailbox);
    if all.iter().any(|(other, ..)| *other == id) {
        return Ok(());
    }
    let (kept, over): (Vec<_>, Vec<_>) = all.iter().partition(|(_, place, _)| *place == Place::Kept);
    if kept.len() >= MOST {
        return Err(Error::conflict("too many prompts are kept", "take some of them back"));
    }
    // The earliest come first.
    over.iter().take(over.len().saturating_sub(MOST - 1)).for_each(|(id, place, _)| remove(mailbox, *id, *place));
    let _placed = disk::create(&path(mailbox, id, Place::Kept), &document::to_json(prompt)?)?;
    if prompt.stops { disk::touch(&stopping(mailbox)) } else { Ok(()) }
}

/// The file that is there while a stop may wait: the hooks of sessions look for it alone.
fn stopping(mailbox: &Mailbox) -> PathBuf {
    folder(mailbox).join("stopping")
}

/// True if a prompt is kept. Only names are read.
pub fn are_kept(mailbox: &Mailbox) -> bool {
    let mut entries = disk::entries(&folder(mailbox)).into_iter().flatten().flatten();
    entries.any(|entry| entry.name.to_str().is_some_and(|name| name.ends_with(".kept.json")))
}

/// All prompts, the earliest first. Those that are over for a day are removed. A file that cannot be read is left out.
pub fn all(mailbox: &Mailbox) -> Vec<Found> {
    let entries = disk::entries(&folder(mailbox)).into_iter().flatten().flatten().filter(disk::Entry::is_file).take(2 * MOST);
    let read = |name: &str| {
        let (id, state) = name.strip_suffix(".json")?.split_once('.')?;
        let place = Place::ALL.into_iter().find(|place| <&str>::from(*place) == state)?;
        let id = id.parse().ok()?;
        Some((id, place, document::json::<Prompt>(&disk::read(&path(mailbox, id, place), LARGEST).ok()?)?))
    };
    let mut all: Vec<Found> = entries.filter_map(|entry| read(entry.name.to_str()?)).collect();
    all.sort_by_key(|(id, _, prompt)| (prompt.at, *id));
    let now = time::now();
    all.retain(|(id, place, prompt)| {
        let is_over = *place != Place::Kept && now.signed_duration_since(prompt.sent_at.unwrap_or(prompt.at)) > LASTS;
        if is_over {
            remove(mailbox, *id, *place);
        }
        !is_over
    });
    all
}

fn remove(mailbox: &Mailbox, id: Uuid, place: Place) {
    let _ = disk::remove(&path(mailbox, id, place));
    let _ = disk::untouch(&seen(mailbox, id));
}

/// The sent prompts whose person should hear how far they have come, and has not seen it.
pub fn news(mailbox: &Mailbox) -> impl Iterator<Item = (Uuid, Prompt)> {
    let all = all(mailbox).into_iter().filter(|(_, place, prompt)| *place == Place::Sent && prompt.is_news());
    all.filter(|(id, _, prompt)| !is_seen(mailbox, *id, prompt)).map(|(id, _, prompt)| (id, prompt))
}

/// Notes that a person has seen how far a prompt has come.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn see(mailbox: &Mailbox, id: Uuid, prompt: &Prompt) -> Result<()> {
    if !prompt.is_news() || is_seen(mailbox, id, prompt) {
        return Ok(());
    }
    disk::create_folder_in(&wake::folder(mailbox))?;
    disk::replace_unsynced(&seen(mailbox, id), &document::to_json(&prompt.reached)?, SystemTime::now())
}

fn is_seen(mailbox: &Mailbox, id: Uuid, prompt: &Prompt) -> bool {
    disk::read(&seen(mailbox, id), 64).is_ok_and(|seen| document::to_json(&prompt.reached).is_ok_and(|reached| seen == reached))
}

/// The file that says how far a prompt had come when a person last saw it. It lies beside the prompts, because its sender writes those.
fn seen(mailbox: &Mailbox, id: Uuid) -> PathBuf {
    wake::folder(mailbox).join(format!("{id}.prompt"))
}

/// Takes a kept prompt for sending. Returns false if it is not kept any more: somebody else sends it, or it was taken back.
///
/// # Errors
/// [`Error::Io`] if the system refuses. Nothing may be sent then.
pub fn take(mailbox: &Mailbox, id: Uuid) -> Result<bool> {
    moved(mailbox, id, Place::Sent)
}

/// Takes a kept prompt for sending, as [`take`] does. The prompt and the audit then have the time.
///
/// # Errors
/// [`Error::Io`] if the system refuses. Nothing may be sent then.
pub fn begin(mailbox: &Mailbox, id: Uuid, prompt: &mut Prompt) -> Result<bool> {
    if !take(mailbox, id)? {
        return Ok(false);
    }
    prompt.sent_at = Some(time::now());
    note(mailbox, id, prompt)?;
    let (event, what) = if prompt.stops { ("stop_sent", "stop") } else { ("prompt_sent", "prompt") };
    audit::record(mailbox, audit::Entry::about(event).by(&prompt.by).why(format!("{what} {id} for session {}", prompt.session)));
    Ok(true)
}

/// Takes a kept prompt back. Returns false if it was sent, or taken back before.
///
/// # Errors
/// [`Error::Conflict`] if this caller may not send prompts. [`Error::Io`] if the system refuses.
pub fn take_back(mailbox: &Mailbox, caller: &Caller, id: Uuid) -> Result<bool> {
    caller.may_prompt()?;
    moved(mailbox, id, Place::Back)
}

/// Ends a kept stop: its turn was stopped, or not for this reason. Returns false if somebody else ended it, or took it back.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn end_stop(mailbox: &Mailbox, id: Uuid, mut prompt: Prompt, not: Option<&str>) -> Result<bool> {
    if !take(mailbox, id)? {
        return Ok(false);
    }
    prompt.sent_at = Some(time::now());
    (prompt.reached, prompt.why) =
        (if not.is_some() { Reached::NotArrived } else { Reached::Answered }, not.unwrap_or_default().to_owned());
    note(mailbox, id, &prompt)?;
    let about = audit::Entry::about(if not.is_some() { "not_stopped" } else { "stopped" });
    audit::record(mailbox, about.by(&prompt.by).why(format!("stop {id} for session {}", prompt.session)));
    Ok(true)
}

/// Takes the stops of a session whose model makes a tool call in this turn. Returns true if the call is to be refused: it is the first one
/// behind a stop, or another one of that turn.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn stops_call(mailbox: &Mailbox, session: &str, turn: &str) -> Result<bool> {
    let is_new = |at: Time| time::now().signed_duration_since(at) < TOGETHER;
    let counts = |(_, place, prompt): &Found| {
        let has_stopped = *place == Place::Sent && prompt.reached == Reached::Answered && prompt.sent_at.is_some_and(is_new);
        prompt.stops && (*place == Place::Kept || has_stopped)
    };
    let counting = || all(mailbox).into_iter().filter(counts);
    if counting().next().is_none() {
        disk::untouch(&stopping(mailbox))?;
        // Another one may have come before the file went.
        if counting().next().is_some() {
            disk::touch(&stopping(mailbox))?;
        }
    }
    let mut is_stopped = false;
    for (id, place, mut prompt) in counting().filter(|(_, _, prompt)| prompt.session == session) {
        let is_of_turn = prompt.turn == turn || (place == Place::Kept && prompt.turn.is_empty());
        is_stopped |= is_of_turn;
        if place == Place::Kept {
            prompt.turn = turn.to_owned();
            end_stop(mailbox, id, prompt, (!is_of_turn).then_some(TOO_LATE))?;
        }
    }
    Ok(is_stopped)
}

/// Why a stop stopped nothing.
pub const TOO_LATE: &str = "the turn had ended by itself";

fn moved(mailbox: &Mailbox, id: Uuid, to: Place) -> Result<bool> {
    let kept = path(mailbox, id, Place::Kept);
    match disk::rename(&kept, &path(mailbox, id, to)) {
        Ok(Placed::Done) => Ok(true),
        // The form was sent again at the moment of the first rename.
        Ok(Placed::NameExists) => disk::remove(&kept).map(|()| false),
        Err(e) if e.is_missing_file() => Ok(false),
        Err(e) => Err(e),
    }
}

/// Notes that a prompt has come this far, if that is new.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn reach(mailbox: &Mailbox, id: Uuid, prompt: &mut Prompt, reached: Reached, why: &str) -> Result<()> {
    if (prompt.reached, prompt.why.as_str()) == (reached, why) {
        return Ok(());
    }
    (prompt.reached, prompt.why) = (reached, why.to_owned());
    note(mailbox, id, prompt)
}

/// Notes how far a prompt has come that was sent.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn note(mailbox: &Mailbox, id: Uuid, prompt: &Prompt) -> Result<()> {
    disk::replace(&path(mailbox, id, Place::Sent), &document::to_json(prompt)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::fields::through::Through;
    use crate::who::caller::Below;

    #[test]
    fn a_prompt_is_taken_once_or_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        assert!(all(&mailbox).is_empty());
        let caller = |below| Caller::new("ann", "web", Through::Web, below).unwrap();
        let (person, run) = (caller(Below::NoAgent), caller(Below::Run));
        let [first, second] = [Uuid::new_v4(), Uuid::new_v4()];
        assert!(keep(&mailbox, &run, first, &Prompt::new(Agent::Codex, "s", "go on".into(), "ann")).is_err() && all(&mailbox).is_empty());
        for id in [first, second, first] {
            keep(&mailbox, &person, id, &Prompt::new(Agent::Codex, "s", "go on".into(), "ann")).unwrap();
        }
        assert!(take(&mailbox, first).unwrap() && !take(&mailbox, first).unwrap() && !take_back(&mailbox, &person, first).unwrap());
        assert!(take_back(&mailbox, &run, second).is_err());
        assert!(take_back(&mailbox, &person, second).unwrap() && !take(&mailbox, second).unwrap());
        // The form was sent again.
        keep(&mailbox, &person, first, &Prompt::new(Agent::Codex, "s", "go on".into(), "ann")).unwrap();
        let states = || all(&mailbox).into_iter().map(|(id, place, _)| (id, place)).collect::<Vec<_>>();
        assert_eq!(states(), [(first, Place::Sent), (second, Place::Back)]);
        let mut old = all(&mailbox).remove(0).2;
        old.sent_at = Some(time::now() - TimeDelta::hours(25));
        note(&mailbox, first, &old).unwrap();
        assert_eq!(states(), [(second, Place::Back)]);
    }

    #[test]
    fn prompts_of_a_long_day_leave_room_for_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let person = Caller::new("ann", "web", Through::Web, Below::NoAgent).unwrap();
        let keep = |id: Uuid| keep(&mailbox, &person, id, &Prompt::new(Agent::Codex, "s", "go on".into(), "ann"));
        let ids: Vec<_> = (0..MOST + 5).map(|_| Uuid::new_v4()).collect();
        for id in &ids {
            keep(*id).unwrap();
            assert!(take(&mailbox, *id).unwrap());
        }
        let left: Vec<_> = all(&mailbox).into_iter().map(|(id, ..)| id).collect();
        assert!(left.len() == MOST && left.contains(&ids[MOST + 4]), "{} are left", left.len());
        (0..MOST).for_each(|_| keep(Uuid::new_v4()).unwrap());
        assert!(keep(Uuid::new_v4()).is_err() && all(&mailbox).len() == 2 * MOST - 1);
    }

    #[test]
    fn a_stop_is_spent_by_the_calls_of_its_turn() {
        let home = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(home.path().join("m")).unwrap();
        let person = Caller::new("ann", "web", Through::Web, Below::NoAgent).unwrap();
        let stop = |turn: &str| {
            let id = Uuid::new_v4();
            let prompt = Prompt { stops: true, turn: turn.into(), ..Prompt::new(Agent::Claude, "s", String::new(), "ann") };
            keep(&mailbox, &person, id, &prompt).unwrap();
            id
        };
        let of = |id: Uuid| all(&mailbox).into_iter().find(|found| found.0 == id).unwrap();
        let stops = |session: &str, turn: &str| stops_call(&mailbox, session, turn).unwrap();
        assert!(!stops("s", "one"));
        for turn in ["one", ""] {
            let first = stop(turn);
            assert!(!stops("other", "one") && stopping(&mailbox).exists());
            // The model makes two calls at once.
            assert!(stops("s", "one") && stops("s", "one") && !stops("s", "two"));
            let (_, place, mut spent) = of(first);
            assert_eq!((place, spent.reached), (Place::Sent, Reached::Answered));
            spent.sent_at = Some(time::now() - TimeDelta::minutes(2));
            note(&mailbox, first, &spent).unwrap();
            assert!(!stops("s", "two") && !stopping(&mailbox).exists());
        }
        // The turn had ended by itself, and the person has given another prompt.
        let late = stop("one");
        assert!(!stops("s", "two"));
        assert_eq!((of(late).2.reached, of(late).2.why.as_str()), (Reached::NotArrived, TOO_LATE));
        let back = stop("one");
        assert!(take_back(&mailbox, &person, back).unwrap() && !stops("s", "one"));
    }
}
