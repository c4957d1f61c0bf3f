//! Claimed rounds whose lock is free: a supervisor died, a machine was rebooted, a back-off is over. Before anything is
//! launched, nothing of the old attempt may live: a resume beside an orphan would corrupt the session.

use std::io::{BufRead, BufReader};

use crate::agent::events::{Event, EventKind};
use crate::config::Config;
use crate::disk::{self, Lock, Placed};
use crate::document;
use crate::error::{Error, Result};
use crate::id::{RoundId, SessionId, WorkflowId};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::documents::question::Closed;
use crate::mailbox::{Folder, Mailbox, close, intake, list};
use crate::run::claim::ending::{self, Ending};
use crate::run::claim::history::History;
use crate::run::claim::plan;
use crate::run::claim::record::{self, Claimant, Run, State};
use crate::run::money::costs;
use crate::run::process::{launch, processes};
use crate::run::supervise::stop;
use crate::time::{self, Time};

/// What is to be done for a claimed round.
#[derive(Debug)]
pub enum Recovered {
    /// Its run is live.
    Live,
    /// Its next attempt may not start before this time.
    Later(Time),
    /// This attempt, made just now, is to be supervised.
    Launch(Box<Run>),
    /// This attempt was claimed before, and nobody supervises it: its claimer is about to, or died.
    Claimed(Box<Run>),
    /// Something of an earlier attempt lives: [`recover`] waits for it and ends it.
    Orphans,
    /// It is over.
    Over,
}

/// What to do about processes of an earlier attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Orphans {
    /// Wait for them, then end them: up to half a minute where they are stuck.
    End,
    /// Leave everything as it is.
    Leave,
}

/// Looks at one round in `running/` and says what is to be done. Creates the next attempt where one is due. Ends what lives of
/// an earlier one.
pub fn recover(mailbox: &Mailbox, config: &Config, round: &RoundId) -> Result<Recovered> {
    look(mailbox, config, round, time::now(), Orphans::End)
}

/// [`recover`] for who cannot wait: where something of an earlier attempt lives, it changes nothing and says so.
pub fn recover_at_once(mailbox: &Mailbox, config: &Config, round: &RoundId) -> Result<Recovered> {
    look(mailbox, config, round, time::now(), Orphans::Leave)
}

/// [`recover`] for the claimed round of a workflow, by hand: its back-off is over.
pub fn take_up(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<Option<Recovered>> {
    let claimed = list::round_names(mailbox, Folder::Running).find(|r| r.workflow == *workflow);
    claimed.map(|round| look(mailbox, config, &round, Time::MAX_UTC, Orphans::End)).transpose()
}

fn look(mailbox: &Mailbox, config: &Config, round: &RoundId, now: Time, orphans: Orphans) -> Result<Recovered> {
    if !mailbox.round(Folder::Running, round).exists() {
        return Ok(Recovered::Over);
    }
    // Whoever is claiming it holds this one until the other is his.
    let claiming = mailbox.lock(&round.workflow)?;
    disk::touch_folder(&mailbox.runs_of(round))?;
    let Some(_held) = Lock::try_acquire(&record::lock_path(mailbox, round))? else { return Ok(Recovered::Live) };
    drop(claiming);
    let path = mailbox.round(Folder::Running, round);
    let document = match intake::read_round_file(&path) {
        Ok(document) => document,
        Err(e) if e.is_missing_file() => return Ok(Recovered::Over),
        Err(e @ Error::Invalid { .. }) => {
            intake::quarantine(mailbox, &path, &round.file_name(), &e.to_string())?;
            return Ok(Recovered::Over);
        }
        Err(e) => return Err(e),
    };
    if close::is_closed(mailbox, round, &document) {
        disk::untouch(&path)?;
        return Ok(Recovered::Over);
    }
    if document.typed.closed.is_some() {
        let _lock = mailbox.lock(&round.workflow)?;
        close::finish(mailbox, Folder::Running, round)?;
        return Ok(Recovered::Over);
    }
    let Some(last) = record::latest(mailbox, round)? else {
        // Claimed, and then the claimer died before it wrote the attempt. It may have started an agent, and told it nothing.
        let run = plan::first(mailbox, config, &document.typed, round, Claimant::Supervisor)?;
        if orphans == Orphans::Leave && any_lives(&run) {
            return Ok(Recovered::Orphans);
        }
        make_sure_it_is_gone(&run)?;
        record::create(mailbox, &run)?;
        return Ok(Recovered::Launch(Box::new(run)));
    };
    match last.state {
        State::Claimed if last.claimant == Claimant::Supervisor => Ok(Recovered::Claimed(Box::new(last))),
        // The asker waited inline and died before it had the answer, or a main agent's claim broke off. An asker may have
        // been part of the run of an earlier round: that one ends first.
        State::Claimed => match another_is_live(mailbox, round)? {
            true => Ok(Recovered::Later(time::now() + chrono::TimeDelta::seconds(1))),
            false => next(mailbox, &last),
        },
        State::Failed => match last.retry_at {
            Some(at) if at > now => Ok(Recovered::Later(at)),
            _ if orphans == Orphans::Leave && any_lives(&last) => Ok(Recovered::Orphans),
            _ => {
                make_sure_it_is_gone(&last)?;
                next(mailbox, &last)
            }
        },
        State::Running if orphans == Orphans::Leave && any_lives(&last) => Ok(Recovered::Orphans),
        State::Running => {
            make_sure_it_is_gone(&last)?;
            let last = Run { cost_usd: costs::catch_up(mailbox, &last)?, ..last };
            if let Some(delivered) = delivered(mailbox, &last) {
                ending::finish(mailbox, config, last, &delivered)?;
                return Ok(Recovered::Over);
            }
            // It died while it was stopping, and nobody has taken that back.
            if let Some(stop) = stop::asked(&last.folder(mailbox))? {
                let why = stop.request(config.limits.grace.0).why;
                ending::finish(mailbox, config, last, &Ending::Interrupted { why, class: None })?;
                return Ok(Recovered::Over);
            }
            audit::record(mailbox, Entry::of("recovered", round).by("askbox").why("its supervisor died"));
            if History::before(mailbox, &last)?.counted + 1 >= config.relaunch.attempts {
                ending::finish(mailbox, config, last, &Ending::Failed { why: "its supervisor died".into() })?;
                return Ok(Recovered::Over);
            }
            let mut lost = last.clone();
            (lost.state, lost.ended_at, lost.why) = (State::Failed, Some(time::now()), Some("its supervisor died".into()));
            record::write(mailbox, &lost)?;
            next(mailbox, &lost)
        }
        // The last rename is missing.
        State::Delivered => {
            let lock = mailbox.lock(&round.workflow)?;
            close::from_claimed(mailbox, &lock, Folder::Running, round.question, Closed::Delivered, "askbox", None)?;
            Ok(Recovered::Over)
        }
        State::Parked | State::Interrupted => {
            let _lock = mailbox.lock(&round.workflow)?;
            ending::park(mailbox, round, last.why.as_deref().unwrap_or_default())?;
            Ok(Recovered::Over)
        }
    }
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

/// The receipt that a supervisor wrote down and did not live to act on: its session began and a final result came.
fn delivered(mailbox: &Mailbox, run: &Run) -> Option<Ending> {
    let events = BufReader::new(std::fs::File::open(run.folder(mailbox).join("events.jsonl")).ok()?);
    let mut began = false;
    // A turn that was stopped on request is no result.
    let stopped = stop::asked(&run.folder(mailbox)).is_ok_and(|s| s.is_some());
    for line in events.split(b'\n').map_while(std::io::Result::ok) {
        match document::json::<Event>(&line).map(|e| e.kind) {
            Some(EventKind::Started { session_id, .. }) => began |= session_id == run.session_id.to_string(),
            Some(EventKind::Result { is_error: false, text, terminal_reason: Some(reason), cost_usd, .. })
                if began && (reason == "completed" || (reason == "hook_stopped" && !stopped)) =>
            {
                return Some(Ending::Delivered { text, cost_usd });
            }
            _ => {}
        }
    }
    None
}

/// The next attempt: the same session, the same message, a new record. The caller holds the round's lock.
fn next(mailbox: &Mailbox, last: &Run) -> Result<Recovered> {
    let session_id = if launch::got_nowhere(last) { SessionId::generate() } else { last.session_id };
    let run = Run {
        attempt: last.attempt + 1,
        session_id,
        claimant: Claimant::Supervisor,
        state: State::Claimed,
        claimed_at: time::now(),
        started_at: None,
        ended_at: None,
        retry_at: None,
        why: None,
        failure: None,
        result: None,
        reserved_usd: None,
        cost_usd: None,
        ..last.clone()
    };
    record::create(mailbox, &run)?;
    Ok(Recovered::Launch(Box::new(run)))
}

fn any_lives(run: &Run) -> bool {
    let prefix = format!("{}/{}/", run.workflow_id, run.question_id);
    !processes::of_run(|token| token.starts_with(&prefix)).is_empty()
}

fn make_sure_it_is_gone(run: &Run) -> Result<()> {
    let prefix = format!("{}/{}/", run.workflow_id, run.question_id);
    if run.state == State::Running {
        processes::let_go(|token| token.starts_with(&prefix), processes::TERM_GRACE);
    }
    processes::end(|token| token.starts_with(&prefix), processes::TERM_GRACE).map(drop).map_err(|left| {
        Error::failed(
            format!("{left} processes of the earlier attempt of {} cannot be killed", run.round()),
            "end them by hand; nothing is relaunched before they are gone",
        )
    })
}

/// Brings a parked round back: `parked/` → `running/`, with a new attempt that may start at once.
pub fn retry(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Run> {
    let round = parked_round(mailbox, workflow)?;
    let _lock = mailbox.lock(workflow)?;
    if let Some(busy) = list::round_names(mailbox, Folder::Running).find(|r| r.workflow == *workflow) {
        return Err(Error::conflict(
            format!("another round of {workflow} is being delivered ({})", busy.question),
            "wait for it: relaunch status",
        ));
    }
    let Some(_held) = Lock::try_acquire(&record::lock_path(mailbox, &round))? else {
        return Err(Error::conflict(format!("{round} has a live run"), "look: relaunch status"));
    };
    let parked = mailbox.round(Folder::Parked, &round);
    if intake::read_round_file(&parked).is_ok_and(|document| close::is_closed(mailbox, &round, &document)) {
        disk::untouch(&parked)?;
        return Err(Error::conflict(format!("{round} was dropped before"), format!("see how: ask-answer show {workflow}")));
    }
    if disk::rename(&parked, &mailbox.round(Folder::Running, &round))? == Placed::NameExists {
        return Err(Error::conflict(format!("{round} is running already"), "look: relaunch status"));
    }
    audit::record(mailbox, Entry::of("retried", &round).by("operator"));
    let last = record::latest(mailbox, &round)?.ok_or_else(|| Error::not_found(format!("{round} has no attempt"), "answer it again"))?;
    make_sure_it_is_gone(&last)?;
    match next(mailbox, &last)? {
        Recovered::Launch(run) => Ok(*run),
        _ => Ok(last),
    }
}

/// Stops what is claimed and not live: a run in its back-off, or one that nobody supervises. `None` where there is none, or
/// where it has just become live.
pub fn stop_waiting(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId, why: &str) -> Result<Option<Run>> {
    let Some(round) = list::round_names(mailbox, Folder::Running).find(|r| r.workflow == *workflow) else { return Ok(None) };
    let Some(_held) = Lock::try_acquire(&record::lock_path(mailbox, &round))? else { return Ok(None) };
    match record::latest(mailbox, &round)? {
        Some(run) if matches!(run.state, State::Failed | State::Claimed | State::Running) && run.claimant == Claimant::Supervisor => {
            make_sure_it_is_gone(&run)?;
            ending::finish(mailbox, config, run, &Ending::Interrupted { why: why.into(), class: None }).map(Some)
        }
        _ => Ok(None),
    }
}

/// Gives a parked round up: it closes as dropped, everything is kept.
pub fn drop_parked(mailbox: &Mailbox, workflow: &WorkflowId, by: &str, why: Option<String>) -> Result<RoundId> {
    let round = parked_round(mailbox, workflow)?;
    let lock = mailbox.lock(workflow)?;
    close::from_claimed(mailbox, &lock, Folder::Parked, round.question, Closed::Dropped, by, why)?;
    Ok(round)
}

fn parked_round(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<RoundId> {
    let parked = list::round_names(mailbox, Folder::Parked).filter(|r| r.workflow == *workflow).min();
    parked.ok_or_else(|| Error::not_found(format!("no round of {workflow} is parked"), "see what is: relaunch status"))
}
