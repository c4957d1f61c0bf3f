//! Finds the next step for a round in `running/`, and does what can be done at once.

use crate::config::Config;
use crate::disk::{self, Lock, Placed};
use crate::error::{Error, Result};
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::documents::fields::closing::{Closed, Closing};
use crate::mailbox::listing::list;
use crate::mailbox::transitions::close;
use crate::mailbox::{Folder, Mailbox, QuestionDocument, quarantine, read_question};
use crate::run::attempt::earlier::EarlierAttempts;
use crate::run::attempt::ending::{self, Ending};
use crate::run::attempt::record::{self, Claimant, Run, State};
use crate::run::claim::plan;
use crate::run::money::costs;
use crate::run::recovery::{next_attempt, receipt};
use crate::run::supervise::stop::stop_request;
use crate::time::{self, Time};

const SUPERVISOR_DIED: &str = "its supervisor died";

/// The next step for a claimed round.
#[derive(Debug)]
pub enum Recovered {
    /// None: its run is live.
    Live,
    /// Its next attempt may not start before this time.
    Later(Time),
    /// This attempt was put on record just now: launch it.
    Launch(Box<Run>),
    /// This attempt was on record already, and nothing supervises it. Its claimant is about to launch it, or has died.
    Claimed(Box<Run>),
    /// Processes of an earlier attempt live: [`recover`] ends them.
    Orphans,
    /// None: the round has left `running/`.
    Over,
}

/// What to do about processes of an earlier attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Orphans {
    /// End them. Takes up to half a minute if they are stuck.
    End,
    /// Change nothing and return [`Recovered::Orphans`].
    Report,
}

impl Orphans {
    /// Whether the round is free of processes. With [`Orphans::End`] it always is afterwards.
    fn are_gone(self, run: &Run) -> Result<bool> {
        if self == Self::Report && next_attempt::has_processes(run) {
            return Ok(false);
        }
        next_attempt::end_processes(run)?;
        Ok(true)
    }
}

/// Finds the next step for a round in `running/`. Ends processes of an earlier attempt, and puts the next attempt on record if it is
/// due.
pub fn recover(mailbox: &Mailbox, config: &Config, round: &RoundId) -> Result<Recovered> {
    recover_as_of(mailbox, config, round, time::now(), Orphans::End)
}

/// [`recover`] without waiting: if processes of an earlier attempt live, it changes nothing and returns [`Recovered::Orphans`].
pub fn recover_at_once(mailbox: &Mailbox, config: &Config, round: &RoundId) -> Result<Recovered> {
    recover_as_of(mailbox, config, round, time::now(), Orphans::Report)
}

/// [`recover`] for the claimed round of a workflow, without waiting for the end of its back-off. `None` if no round is claimed.
pub fn recover_now(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<Option<Recovered>> {
    let claimed = list::round_names(mailbox, Folder::Running).find(|r| r.workflow == *workflow);
    claimed.map(|round| recover_as_of(mailbox, config, &round, Time::MAX_UTC, Orphans::End)).transpose()
}

fn recover_as_of(mailbox: &Mailbox, config: &Config, round: &RoundId, now: Time, orphans: Orphans) -> Result<Recovered> {
    if !disk::exists(mailbox.round(Folder::Running, round)) {
        return Ok(Recovered::Over);
    }
    // A claimant holds the workflow's lock until it holds the round's.
    let claiming = mailbox.lock(&round.workflow)?;
    disk::touch_folder(&mailbox.runs_of(round))?;
    let Some(_held) = Lock::try_acquire(&record::lock_path(mailbox, round))? else { return Ok(Recovered::Live) };
    drop(claiming);
    let Some(document) = open_document(mailbox, round)? else { return Ok(Recovered::Over) };
    let last = record::latest(mailbox, round)?;
    if document.typed.asked.to_session
        && last.as_ref().is_none_or(|last| last.claimant == Claimant::Inline && last.state == State::Claimed)
        && give_back(mailbox, config, &document, round, orphans)?
    {
        return Ok(Recovered::Over);
    }
    let Some(last) = last else {
        return first_attempt(mailbox, config, &document, round, orphans);
    };
    match last.state {
        State::Claimed if last.claimant == Claimant::Supervisor => Ok(Recovered::Claimed(Box::new(last))),
        // The asker that waited inline, or `relaunch prompt`, died before it had delivered the answer. An asker may belong to the
        // run of an earlier round, which has to end first.
        State::Claimed if another_is_live(mailbox, round)? => Ok(Recovered::Later(time::now() + chrono::TimeDelta::seconds(1))),
        State::Claimed => launch_next(mailbox, config, &document, &last),
        State::Failed => match last.waits_until(config.relaunch.longest_pause(), now) {
            Some(at) => Ok(Recovered::Later(at)),
            _ if orphans.are_gone(&last)? => launch_next(mailbox, config, &document, &last),
            _ => Ok(Recovered::Orphans),
        },
        State::Running if orphans.are_gone(&last)? => supervisor_died(mailbox, config, &document, last),
        State::Running => Ok(Recovered::Orphans),
        // Only the round's move to `closed/` is missing.
        State::Delivered | State::Asking => {
            let lock = mailbox.lock(&round.workflow)?;
            close::claimed(mailbox, &lock, Folder::Running, round.question, Closing::now(Closed::Delivered, "askbox", None))?;
            Ok(Recovered::Over)
        }
        // Only the round's move to `parked/` is missing.
        State::Parked | State::Interrupted => {
            let _lock = mailbox.lock(&round.workflow)?;
            ending::park(mailbox, &last)?;
            Ok(Recovered::Over)
        }
    }
}

/// The claimant of an answer that its session takes itself has died before it handed the answer over: the answer returns to `answered/`, where
/// the session looks for it. Not if processes of it live, or if a later answer lies there.
fn give_back(mailbox: &Mailbox, config: &Config, document: &QuestionDocument, round: &RoundId, orphans: Orphans) -> Result<bool> {
    if !orphans.are_gone(&plan::first(mailbox, config, &document.typed, round)?)? {
        return Ok(false);
    }
    let _lock = mailbox.lock(&round.workflow)?;
    let answered = mailbox.document(Folder::Answered, &round.workflow);
    if disk::rename(&mailbox.round(Folder::Running, round), &answered)? == Placed::NameExists {
        return Ok(false);
    }
    if let Some(run) = record::latest(mailbox, round)? {
        record::forget(mailbox, &run)?;
    }
    Ok(true)
}

/// The round's document. `None` if the round is over: then what was missing for that is done.
fn open_document(mailbox: &Mailbox, round: &RoundId) -> Result<Option<QuestionDocument>> {
    let path = mailbox.round(Folder::Running, round);
    let document = match read_question::of_round(&path, round) {
        Ok(document) => document,
        Err(e) if e.is_missing_file() => return Ok(None),
        Err(e @ Error::Invalid { .. }) => {
            quarantine::quarantine(mailbox, &path, round.file_name(), &e.to_string())?;
            return Ok(None);
        }
        Err(e) => return Err(e),
    };
    if close::is_closed(mailbox, round, &document) {
        disk::untouch(&path)?;
        return Ok(None);
    }
    if document.typed.closed.is_some() {
        let _lock = mailbox.lock(&round.workflow)?;
        close::move_to_closed(mailbox, Folder::Running, round)?;
        return Ok(None);
    }
    Ok(Some(document))
}

/// The claimant died before the first attempt was on record. It may have started an agent, which has received no input.
fn first_attempt(mailbox: &Mailbox, config: &Config, document: &QuestionDocument, round: &RoundId, orphans: Orphans) -> Result<Recovered> {
    let run = plan::first(mailbox, config, &document.typed, round)?;
    if !orphans.are_gone(&run)? {
        return Ok(Recovered::Orphans);
    }
    record::create(mailbox, &run)?;
    Ok(Recovered::Launch(Box::new(run)))
}

fn supervisor_died(mailbox: &Mailbox, config: &Config, document: &QuestionDocument, last: Run) -> Result<Recovered> {
    let last = Run { cost_usd: costs::catch_up(mailbox, &last)?, ..last };
    let ending = if let Some(delivered) = receipt::find(mailbox, &last) {
        delivered
    } else if let Some(stop) = stop_request::read(&last.folder(mailbox))? {
        // It died while it was stopping.
        Ending::Interrupted { why: stop.request(config.limits.grace.0).why, class: None }
    } else {
        audit::record(mailbox, Entry::of("recovered", &last.round()).by("askbox").why(SUPERVISOR_DIED));
        if EarlierAttempts::before(mailbox, &last)?.counted + 1 < config.relaunch.attempts {
            let lost = Run { state: State::Failed, ended_at: Some(time::now()), why: Some(SUPERVISOR_DIED.into()), ..last };
            record::write(mailbox, &lost)?;
            return launch_next(mailbox, config, document, &lost);
        }
        Ending::Failed { why: SUPERVISOR_DIED.into() }
    };
    ending::finish(mailbox, config, last, &ending)?;
    Ok(Recovered::Over)
}

fn launch_next(mailbox: &Mailbox, config: &Config, document: &QuestionDocument, last: &Run) -> Result<Recovered> {
    next_attempt::create(mailbox, config, &document.typed, last).map(|run| Recovered::Launch(Box::new(run)))
}

fn another_is_live(mailbox: &Mailbox, round: &RoundId) -> Result<bool> {
    let others = list::round_names(mailbox, Folder::Running).filter(|r| r.workflow == round.workflow && r != round);
    for other in others {
        if Lock::is_held(&record::lock_path(mailbox, &other))? {
            return Ok(true);
        }
    }
    Ok(false)
}
