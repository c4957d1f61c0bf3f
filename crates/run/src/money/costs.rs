//! The costs of runs: the bookings of a day, and the sums of rounds and workflows.
//!
//! Each turn is booked with the figures of that turn alone. The agent's own totals would not do: they grow over resumes, are inherited
//! by forks, and leave killed runs out (measured on Claude Code 2.1.330). A booking is one line in `costs/YYYY-MM-DD.jsonl` (UTC).
//! `run.json` has the sum of its attempt, and the sums of the round and the workflow are made from these. Bookings are not synced:
//! `events.jsonl` has the same figures, and recovery uses it to book what a crash left out.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::attempt::record::{self, Run};
use askbox_agent::events::{Event, EventKind, Tokens};
use askbox_mailbox::disk;
use askbox_mailbox::document;
use askbox_mailbox::error::{Error, IoContext, Result};
use askbox_mailbox::id::{QuestionId, RoundId, WorkflowId};
use askbox_mailbox::listing::list;
use askbox_mailbox::time::Time;
use askbox_mailbox::{Mailbox, WorkflowLock, workflows};

/// The booking of one turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Booking {
    /// When the turn ended.
    pub at: Time,
    /// The workflow.
    pub workflow_id: WorkflowId,
    /// The round.
    pub question_id: QuestionId,
    /// The attempt.
    pub attempt: u32,
    /// The number of the turn in its attempt, from 1.
    pub turn: u32,
    /// US dollars of this turn alone; missing if the agent did not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// API round trips of this turn.
    #[serde(default)]
    pub turns: u64,
    /// Tokens of this turn alone.
    #[serde(default)]
    pub tokens: Tokens,
}

/// The most turns of an attempt that are booked one by one. An attempt has few turns; if it has more than this, its agent has gone wrong.
const SINGLE_TURNS: u32 = 1000;

/// Books the turns of one attempt as they end.
#[derive(Debug)]
pub struct Book {
    mailbox: Mailbox,
    blank: Booking,
    turns: u32,
    total: Option<f64>,
    /// The turns after [`SINGLE_TURNS`], added up in one booking that [`Book::close`] writes.
    rest: Option<Booking>,
}

impl Book {
    /// The book of an attempt, empty.
    #[must_use]
    pub fn of_run(mailbox: &Mailbox, run: &Run) -> Self {
        let blank = Booking {
            at: run.progress.claimed_at,
            workflow_id: run.workflow_id.clone(),
            question_id: run.question_id,
            attempt: run.attempt,
            turn: 0,
            cost_usd: None,
            turns: 0,
            tokens: Tokens::default(),
        };
        Self { mailbox: mailbox.clone(), blank, turns: 0, total: None, rest: None }
    }

    /// Books an event of the attempt if it is the result of a turn.
    pub fn take(&mut self, at: Time, kind: &EventKind) -> Result<()> {
        match self.count(at, kind) {
            Some(booking) => self.write(&booking),
            None => Ok(()),
        }
    }

    fn count(&mut self, at: Time, kind: &EventKind) -> Option<Booking> {
        let EventKind::Result { cost_usd, tokens, turns, .. } = kind else { return None };
        // A negative or infinite figure must not change the sum.
        let cost_usd = cost_usd.filter(|c| c.is_finite() && *c >= 0.0);
        self.turns = self.turns.saturating_add(1);
        self.total = sum(self.total, cost_usd);
        let booking = Booking { at, turn: self.turns, cost_usd, turns: *turns, tokens: *tokens, ..self.blank.clone() };
        if self.turns <= SINGLE_TURNS {
            return Some(booking);
        }
        match &mut self.rest {
            Some(rest) => {
                rest.cost_usd = sum(rest.cost_usd, booking.cost_usd);
                rest.turns = rest.turns.saturating_add(booking.turns);
                rest.tokens += booking.tokens;
            }
            none => *none = Some(booking),
        }
        None
    }

    /// Books the turns that were not booked one by one.
    pub fn close(&mut self) -> Result<()> {
        self.rest.take().map_or(Ok(()), |rest| self.write(&rest))
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

    /// US dollars so far; `None` if the agent reported none.
    #[must_use]
    pub fn total(&self) -> Option<f64> {
        self.total
    }
}

/// The sum of two costs that may be unknown.
fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    other.map(|other| one.unwrap_or(0.0) + other).or(one)
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
    let file = match disk::open_to_read(&path) {
        Err(e) if e.is_missing_file() => return Ok(Vec::new()),
        other => BufReader::new(other?),
    };
    let mut bookings = Vec::new();
    for line in file.split(b'\n') {
        // A line that was torn by a power cut is skipped, so that it does not block every launch. Recovery may book it again.
        bookings.extend(document::json::<Booking>(&line.io("read", &path)?));
    }
    Ok(bookings)
}

/// US dollars of all bookings of the day of `day` (UTC).
pub fn of_day(mailbox: &Mailbox, day: Time) -> Result<f64> {
    // `sum()` of no numbers would be a negative zero.
    Ok(booked(mailbox, day)?.iter().filter_map(|b| b.cost_usd).fold(0.0, |all, usd| all + usd))
}

/// [`of_day`] by attempt.
pub fn of_day_by_attempt(mailbox: &Mailbox, day: Time) -> Result<HashMap<(RoundId, u32), f64>> {
    let mut sums = HashMap::new();
    for booking in booked(mailbox, day)? {
        let round = RoundId { workflow: booking.workflow_id, question: booking.question_id };
        *sums.entry((round, booking.attempt)).or_default() += booking.cost_usd.unwrap_or(0.0);
    }
    Ok(sums)
}

/// US dollars of the attempts of a round that have ended; `None` if the agent reported none.
pub fn of_round(mailbox: &Mailbox, round: &RoundId) -> Result<Option<f64>> {
    let mut sum = None;
    for attempt in record::attempts(mailbox, round)? {
        match record::read(mailbox, round, attempt) {
            Err(e) if e.is_missing_file() => {}
            other => sum = other?.progress.cost_usd.map(|c| sum.unwrap_or(0.0) + c).or(sum),
        }
    }
    Ok(sum)
}

/// US dollars of all rounds of a workflow, pruned ones included.
pub fn of_workflow(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<f64> {
    let (mut sum, counted) = workflows::read(mailbox, workflow)?.map_or((0.0, Vec::new()), |d| (d.typed.pruned_cost_usd, d.typed.pruned));
    for round in list::rounds_of(mailbox, workflow).filter(|r| !counted.contains(&r.question)) {
        sum += of_round(mailbox, &round)?.unwrap_or(0.0);
    }
    Ok(sum)
}

/// Adds the cost of rounds that are about to be pruned to the workflow's record, so that they still count against its limit. The record
/// keeps the ids of these rounds while they exist, so that a second call does not count them twice.
pub fn carry(mailbox: &Mailbox, lock: &WorkflowLock, rounds: &[RoundId]) -> Result<()> {
    let counted = workflows::read(mailbox, lock.workflow())?.map_or_else(Vec::new, |d| d.typed.pruned);
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
    let is_there =
        |question: &QuestionId| disk::exists(mailbox.runs_of(&RoundId { workflow: lock.workflow().clone(), question: *question }));
    workflows::update(mailbox, lock, |w| {
        w.pruned.retain(is_there);
        w.pruned.extend(ids);
        w.pruned_cost_usd += sum;
    })
    .map(drop)
}

/// Books the turns that a dead supervisor had recorded but not booked. Returns the US dollars of the attempt.
pub fn catch_up(mailbox: &Mailbox, run: &Run) -> Result<Option<f64>> {
    let mut book = Book::of_run(mailbox, run);
    let Ok(events) = disk::open_to_read(&run.folder(mailbox).join("events.jsonl")) else { return Ok(None) };
    let mut turns = Vec::new();
    for line in BufReader::new(events).split(b'\n').map_while(std::io::Result::ok) {
        if let Some(event) = document::json::<Event>(&line) {
            turns.extend(book.count(event.at, &event.kind));
        }
    }
    turns.extend(book.rest.take());
    let same =
        |a: &Booking, b: &Booking| (&a.workflow_id, a.question_id, a.attempt, a.turn) == (&b.workflow_id, b.question_id, b.attempt, b.turn);
    for turn in turns {
        if !booked(mailbox, turn.at)?.iter().any(|b| same(b, &turn)) {
            book.write(&turn)?;
        }
    }
    Ok(book.total())
}
