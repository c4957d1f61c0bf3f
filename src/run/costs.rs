//! What runs cost, and the limits on it.
//!
//! Booked turn by turn, from the figures of that turn alone: the agent's totals grow over resumes and are inherited by forks, and
//! a killed run never enters them (measured on Claude Code 2.1.330). One line a turn in `costs/YYYY-MM-DD.jsonl` (UTC) for
//! the day; `run.json` keeps the sum of its attempt, for the round and the workflow. Neither is synced by itself: `events.jsonl`
//! has the same figures, and recovery books what a crash left out.
//!
//! A limit is checked before each launch, and what is left of it goes along as `--max-budget-usd`, which counts one process's
//! spending alone. Runs at the same time share what was left when each began: the limits of a day and of a tree may be passed
//! by what they spend at once.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ending::Ending;
use super::events::{Event, EventKind, Tokens};
use super::failure::Class;
use super::record::{self, Run};
use super::used::{self, Tree};
use crate::agent::claude::Invocation;
use crate::config::Config;
use crate::disk;
use crate::error::{Error, IoContext, Result};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::Mailbox;
use crate::time::{self, Time};

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
    folder(mailbox).join(format!("{}.jsonl", at.format("%Y-%m-%d")))
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
        bookings.extend(serde_json::from_slice::<Booking>(&line.io("read", &path)?).ok());
    }
    Ok(bookings)
}

/// US dollars of a day (UTC), everything together.
pub fn of_day(mailbox: &Mailbox, day: Time) -> Result<f64> {
    Ok(booked(mailbox, day)?.iter().filter_map(|b| b.cost_usd).sum())
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
    used::rounds(mailbox, workflow)?.iter().try_fold(0.0, |sum, round| Ok(sum + of_round(mailbox, round)?.unwrap_or(0.0)))
}

/// Books what a supervisor that died had recorded and not booked; returns what the attempt has cost.
pub fn catch_up(mailbox: &Mailbox, run: &Run) -> Result<Option<f64>> {
    let mut book = Book::of(mailbox, run);
    let Ok(events) = std::fs::File::open(run.folder(mailbox).join("events.jsonl")) else { return Ok(None) };
    let mut turns = Vec::new();
    for line in BufReader::new(events).split(b'\n').map_while(std::io::Result::ok) {
        if let Ok(event) = serde_json::from_slice::<Event>(&line) {
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

/// What a launch may use.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Allowance {
    /// The limit on money that leaves the least: its key, its value, and what is left of it.
    tightest: Option<(&'static str, f64, f64)>,
    /// The limit on the tree's time, and what is left of it.
    time: Option<(Duration, Duration)>,
}

/// The limits that hold for a whole tree.
const TREE_COST: &str = "limits.tree_cost";
const TREE_TIME: &str = "limits.tree_time";

impl Allowance {
    /// Of this attempt, right now. Reads nothing where no limit is set.
    pub fn of(mailbox: &Mailbox, config: &Config, run: &Run) -> Result<Self> {
        let limits = &config.limits;
        let mut left = Vec::new();
        let mut check = |key, limit: f64, spent: &dyn Fn() -> Result<f64>| {
            if limit > 0.0 {
                left.push((key, limit, limit - spent()?));
            }
            Ok::<(), Error>(())
        };
        check("limits.run_cost", limits.run_cost, &|| Ok(of_round(mailbox, &run.round())?.unwrap_or(0.0)))?;
        check("limits.workflow_cost", limits.workflow_cost, &|| of_workflow(mailbox, &run.workflow_id))?;
        check("limits.day_cost", limits.day_cost, &|| of_day(mailbox, time::now()))?;
        let tree = Self::of_tree(mailbox, config, &run.workflow_id)?;
        left.extend(tree.tightest);
        Ok(Self { tightest: left.into_iter().min_by(|a, b| a.2.total_cmp(&b.2)), ..tree })
    }

    /// What the tree that a workflow belongs to may still use. Reads nothing where no limit is set.
    pub fn of_tree(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<Self> {
        let (cost, time) = (config.limits.tree_cost, config.limits.tree_time.0);
        if cost <= 0.0 && time.is_zero() {
            return Ok(Self::default());
        }
        let tree = Tree::of(mailbox, workflow)?;
        let tightest = if cost > 0.0 { Some((TREE_COST, cost, cost - tree.cost(mailbox)?)) } else { None };
        let time = if time.is_zero() { None } else { Some((time, time.saturating_sub(tree.time(mailbox)?))) };
        Ok(Self { tightest, time })
    }

    /// Why nothing may be launched at all, and of what kind that is.
    #[must_use]
    pub fn refusal(&self) -> Option<(Class, String)> {
        if let Some((limit, _)) = self.time.filter(|(_, left)| left.is_zero()) {
            return Some((Class::Tree, format!("nothing is left of {TREE_TIME} = {} for its whole tree", time::human(limit))));
        }
        let (key, limit, _) = self.tightest.filter(|(.., left)| *left <= 0.0)?;
        Some(if key == TREE_COST {
            (Class::Tree, format!("nothing is left of {key} = {limit} USD for its whole tree"))
        } else {
            (Class::Budget, format!("nothing is left of {key} = {limit} USD"))
        })
    }

    /// How long the tree may still be at work.
    #[must_use]
    pub fn time(&self) -> Option<Duration> {
        self.time.map(|(_, left)| left)
    }

    /// Tells the agent its limits, where the operator's own arguments do not.
    #[must_use]
    pub fn limit(&self, call: Invocation, turns: u32) -> Invocation {
        let says = |call: &Invocation, option: &str| call.args.iter().any(|a| a.to_string_lossy().starts_with(option));
        let mut call = call;
        if let Some((.., left)) = self.tightest.filter(|_| !says(&call, "--max-budget-usd")) {
            call = call.extra_args([format!("--max-budget-usd={left:.6}")]);
        }
        if turns > 0 && !says(&call, "--max-turns") {
            call = call.extra_args([format!("--max-turns={turns}")]);
        }
        call
    }

    /// Says which limit it was where the agent ran into it.
    #[must_use]
    pub fn named(&self, ending: Ending) -> Ending {
        match (ending, self.tightest) {
            (Ending::Refused { class: Class::Budget, why }, Some((key, limit, left))) if left > 0.0 => {
                let class = if key == TREE_COST { Class::Tree } else { Class::Budget };
                Ending::Refused { class, why: format!("{why}: {key} = {limit} USD, of which {left:.4} were left") }
            }
            (other, _) => other,
        }
    }
}
