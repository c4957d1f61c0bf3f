//! What runs cost.
//!
//! Booked turn by turn, from the figures of that turn alone: the agent's totals grow over resumes and are inherited by forks, and
//! a killed run never enters them (measured on Claude Code 2.1.330). One line a turn in `costs/YYYY-MM-DD.jsonl` (UTC) for
//! the day; `run.json` keeps the sum of its attempt, for the round and the workflow. Neither is synced by itself: `events.jsonl`
//! has the same figures, and recovery books what a crash left out.
//!
//! What may be spent: see [`crate::run::money::budget`].

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::agent::events::{Event, EventKind, Tokens};
use crate::error::{Error, IoContext, Result};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::documents::workflow;
use crate::mailbox::{Mailbox, WorkflowLock, list};
use crate::run::attempt::record::{self, Run};
use crate::time::Time;
use crate::{disk, document};

/// One turn, as it was booked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Booking {
    /// When the turn ended.
    pub at: Time,
    /// Whose.
    pub workflow_id: WorkflowId,
    /// In which round.
    pub question_id: QuestionId,
    /// In which attempt.
    pub attempt: u32,
    /// Which turn of the attempt, from 1.
    pub turn: u32,
    /// US dollars of this turn alone; missing where the agent did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// API round trips.
    #[serde(default)]
    pub turns: u64,
    /// Tokens of this turn alone.
    #[serde(default)]
    pub tokens: Tokens,
}

/// Books the turns of one attempt as they end.
#[derive(Debug)]
pub struct Book {
    mailbox: Mailbox,
    blank: Booking,
    turns: u32,
    total: Option<f64>,
}

impl Book {
    /// For an attempt.
    #[must_use]
    pub fn of(mailbox: &Mailbox, run: &Run) -> Self {
        let blank = Booking {
            at: run.claimed_at,
            workflow_id: run.workflow_id.clone(),
            question_id: run.question_id,
            attempt: run.attempt,
            turn: 0,
            cost_usd: None,
            turns: 0,
            tokens: Tokens::default(),
        };
        Self { mailbox: mailbox.clone(), blank, turns: 0, total: None }
    }

    /// Takes an event of the attempt; only results are booked.
    pub fn take(&mut self, at: Time, kind: &EventKind) -> Result<()> {
        match self.count(at, kind) {
            Some(booking) => self.write(&booking),
            None => Ok(()),
        }
    }

    fn count(&mut self, at: Time, kind: &EventKind) -> Option<Booking> {
        let EventKind::Result { cost_usd, tokens, turns, .. } = kind else { return None };
        // Nonsense must not lower a total.
        let cost_usd = cost_usd.filter(|c| c.is_finite() && *c >= 0.0);
        self.turns += 1;
        self.total = cost_usd.map(|c| self.total.unwrap_or(0.0) + c).or(self.total);
        Some(Booking { at, turn: self.turns, cost_usd, turns: *turns, tokens: *tokens, ..self.blank.clone() })
    }

    fn write(&self, booking: &Booking) -> Result<()> {
        let mut line = serde_json::to_vec(booking).map_err(|e| Error::failed(format!("a booking is no JSON: {e}"), "report this"))?;
        line.push(b'\n');
        let path = day_file(&self.mailbox, booking.at);
        match disk::append(&path, &line) {
            Err(e) if e.is_missing_file() => {
                disk::create_folder(&folder(&self.mailbox))?;
                disk::append(&path, &line).map(drop)
            }
            other => other.map(drop),
        }
    }

    /// US dollars so far; `None` where the agent told nothing.
    #[must_use]
    pub fn total(&self) -> Option<f64> {
        self.total
    }
}

/// `costs/`.
#[must_use]
pub fn folder(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("costs")
}

fn day_file(mailbox: &Mailbox, at: Time) -> PathBuf {
    folder(mailbox).join(format!("{}.jsonl", at.date_naive()))
}

fn booked(mailbox: &Mailbox, day: Time) -> Result<Vec<Booking>> {
    let path = day_file(mailbox, day);
    let file = match std::fs::File::open(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => BufReader::new(other.io("open", &path)?),
    };
    let mut bookings = Vec::new();
    for line in file.split(b'\n') {
        // A line that a power cut tore is booked again by recovery, or is lost; it must not hold up every launch.
        bookings.extend(document::json::<Booking>(&line.io("read", &path)?));
    }
    Ok(bookings)
}

/// US dollars of a day (UTC), everything together.
pub fn of_day(mailbox: &Mailbox, day: Time) -> Result<f64> {
    // The sum of nothing would be a negative zero.
    Ok(booked(mailbox, day)?.iter().filter_map(|b| b.cost_usd).fold(0.0, |all, usd| all + usd))
}

/// The same by attempt.
pub fn of_day_by_attempt(mailbox: &Mailbox, day: Time) -> Result<HashMap<(RoundId, u32), f64>> {
    let mut sums = HashMap::new();
    for booking in booked(mailbox, day)? {
        let round = RoundId { workflow: booking.workflow_id, question: booking.question_id };
        *sums.entry((round, booking.attempt)).or_default() += booking.cost_usd.unwrap_or(0.0);
    }
    Ok(sums)
}

/// US dollars of a round's attempts that ended; `None` where none told.
pub fn of_round(mailbox: &Mailbox, round: &RoundId) -> Result<Option<f64>> {
    let mut sum = None;
    for attempt in record::attempts(mailbox, round)? {
        match record::read(mailbox, round, attempt) {
            Err(e) if e.is_missing_file() => {}
            other => sum = other?.cost_usd.map(|c| sum.unwrap_or(0.0) + c).or(sum),
        }
    }
    Ok(sum)
}

/// US dollars of a workflow, all its rounds.
pub fn of_workflow(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<f64> {
    let (mut sum, counted) = workflow::read(mailbox, workflow)?.map_or((0.0, Vec::new()), |d| (d.typed.pruned_cost_usd, d.typed.pruned));
    for round in list::rounds_of(mailbox, workflow).filter(|r| !counted.contains(&r.question)) {
        sum += of_round(mailbox, &round)?.unwrap_or(0.0);
    }
    Ok(sum)
}

/// Keeps what rounds have cost that are about to be pruned, so that the workflow's limit goes on counting them. Their ids are
/// kept as long as they are there: doing it again counts none of them twice.
pub fn carry(mailbox: &Mailbox, lock: &WorkflowLock, rounds: &[RoundId]) -> Result<()> {
    let counted = workflow::read(mailbox, lock.workflow())?.map_or_else(Vec::new, |d| d.typed.pruned);
    let (mut sum, mut ids) = (0.0, Vec::new());
    for round in rounds.iter().filter(|r| !counted.contains(&r.question)) {
        if let Some(cost) = of_round(mailbox, round)?.filter(|c| *c > 0.0) {
            sum += cost;
            ids.push(round.question);
        }
    }
    if ids.is_empty() {
        return Ok(());
    }
    let is_there = |question: &QuestionId| mailbox.runs_of(&RoundId { workflow: lock.workflow().clone(), question: *question }).exists();
    workflow::update(mailbox, lock, |w| {
        w.pruned.retain(is_there);
        w.pruned.extend(ids);
        w.pruned_cost_usd += sum;
    })
    .map(drop)
}

/// Books what a supervisor that died had recorded and not booked; returns what the attempt has cost.
pub fn catch_up(mailbox: &Mailbox, run: &Run) -> Result<Option<f64>> {
    let mut book = Book::of(mailbox, run);
    let Ok(events) = std::fs::File::open(run.folder(mailbox).join("events.jsonl")) else { return Ok(None) };
    let mut turns = Vec::new();
    for line in BufReader::new(events).split(b'\n').map_while(std::io::Result::ok) {
        if let Some(event) = document::json::<Event>(&line) {
            turns.extend(book.count(event.at, &event.kind));
        }
    }
    let same =
        |a: &Booking, b: &Booking| (&a.workflow_id, a.question_id, a.attempt, a.turn) == (&b.workflow_id, b.question_id, b.attempt, b.turn);
    for turn in turns {
        if !booked(mailbox, turn.at)?.iter().any(|b| same(b, &turn)) {
            book.write(&turn)?;
        }
    }
    Ok(book.total())
}
