//! The costs of runs: the bookings of a day, and the sums of rounds and workflows.
//!
//! Each turn is booked with the figures of that turn alone. The agent's own totals would not do: they grow over resumes, are inherited
//! by forks, and leave killed runs out (measured on Claude Code 2.1.330). A booking is one line in `costs/YYYY-MM-DD.jsonl` (UTC).
//! `run.json` has the sum of its attempt, and the sums of the round and the workflow are made from these. Bookings are not synced:
//! `events.jsonl` has the same figures, and recovery uses it to book what a crash left out.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::PathBuf;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::attempt::record::{self, Run};
use askbox_agent::EventKind;
use askbox_agent::events::{self, Tokens};
use askbox_mailbox::derived::{self, Beginning, Derived};
use askbox_mailbox::disk::{self, LinesFromEnd};
use askbox_mailbox::{AttemptId, Error, IoContext, Mailbox, QuestionId, Result, RoundId, Time, WorkflowId, document};

/// The booking of one turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
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

impl Booking {
    /// US dollars of this turn, if the booking names a figure that can be a cost.
    fn cost(&self) -> Option<f64> {
        self.cost_usd.filter(|usd| is_cost(*usd))
    }

    fn attempt(&self) -> AttemptId {
        AttemptId { round: RoundId { workflow: self.workflow_id.clone(), question: self.question_id }, attempt: self.attempt }
    }
}

/// The most turns of an attempt that are booked one by one. An attempt has few turns; if it has more than this, its agent has gone wrong.
const SINGLE_TURNS: u32 = 1000;

/// Books the turns of one attempt as they end.
pub struct Book {
    mailbox: Mailbox,
    blank: Booking,
    turns: u32,
    /// US dollars so far; `None` if the agent reported none.
    pub total: Option<f64>,
    /// The turns after [`SINGLE_TURNS`], added up in one booking that [`Book::close`] writes.
    rest: Option<Booking>,
    /// The bookings that could not be written, for example because the disk is full. [`Book::close`] tries again.
    unbooked: Vec<Booking>,
    /// The file may end in the middle of a line.
    is_torn: bool,
}

impl Book {
    /// The book of an attempt, empty.
    pub fn of_run(mailbox: &Mailbox, run: &Run) -> Self {
        let blank = Booking {
            at: run.claimed_at,
            workflow_id: run.workflow_id.clone(),
            question_id: run.question_id,
            attempt: run.attempt,
            ..Booking::default()
        };
        Self { mailbox: mailbox.clone(), blank, turns: 0, total: None, rest: None, unbooked: Vec::new(), is_torn: false }
    }

    /// Books an event of the attempt if it is the result of a turn.
    pub fn take(&mut self, at: Time, kind: &EventKind) -> Result<()> {
        self.count(at, kind).map_or(Ok(()), |booking| self.write(&booking).inspect_err(|_| self.unbooked.push(booking)))
    }

    fn count(&mut self, at: Time, kind: &EventKind) -> Option<Booking> {
        let EventKind::Result { cost_usd, tokens, turns, .. } = kind else { return None };
        let cost_usd = cost_usd.filter(|usd| is_cost(*usd));
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

    /// Books the turns that were not booked one by one, and those that could not be booked. What fails may be tried again.
    pub fn close(&mut self) -> Result<()> {
        self.unbooked.extend(self.rest.take());
        while let Some(booking) = self.unbooked.pop() {
            self.write(&booking).inspect_err(|_| self.unbooked.push(booking))?;
        }
        Ok(())
    }

    fn write(&mut self, booking: &Booking) -> Result<()> {
        let mut line = serde_json::to_vec(booking).map_err(|e| Error::failed(format!("a booking is no JSON: {e}"), "report this"))?;
        if self.is_torn {
            line.insert(0, b'\n');
        }
        line.push(b'\n');
        let path = day_file(&self.mailbox, booking.at);
        let appended = match disk::append(&path, &line) {
            Err(e) if e.is_missing_file() => disk::create_folder(&folder(&self.mailbox)).and_then(|()| disk::append(&path, &line)),
            other => other,
        };
        self.is_torn = appended.is_err();
        appended.map(drop)
    }

    /// Writes a booking that may have been written before.
    fn write_unless_booked(&mut self, turn: &Booking) -> Result<()> {
        let (attempt, mut is_booked) = (turn.attempt(), false);
        newest_bookings(&self.mailbox, turn.at, |booking| {
            is_booked = booking.turn == turn.turn && booking.attempt() == attempt;
            !is_booked
        })?;
        if is_booked { Ok(()) } else { self.write(turn) }
    }
}

/// True for a figure that can be a cost. A negative or infinite one must not change a sum.
pub(super) fn is_cost(usd: f64) -> bool {
    usd.is_finite() && usd >= 0.0
}

/// The sum of two costs that may be unknown.
fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    other.map(|other| one.unwrap_or(0.0) + other).or(one)
}

/// `costs/`.
pub fn folder(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("costs")
}

fn day_file(mailbox: &Mailbox, at: Time) -> PathBuf {
    folder(mailbox).join(format!("{}.jsonl", at.date_naive()))
}

/// US dollars of all bookings of the day of `day` (UTC). Reads only what was booked since the last sum was kept.
pub fn of_day(mailbox: &Mailbox, day: Time) -> Result<f64> {
    let path = day_file(mailbox, day);
    let Some(mut file) = disk::if_there(disk::open_to_read(&path))? else { return Ok(0.0) };
    let meta = file.metadata().io("read", &path)?;
    let kept = derived::read_beginning::<DaySum>(&sum_file(mailbox, day), &meta).filter(|(_, sum)| is_cost(sum.usd));
    let (start, mut usd) = kept.map_or((0, 0.0), |(bytes, sum)| (bytes, sum.usd));
    let mut bytes = start;
    file.seek(SeekFrom::Start(bytes)).io("read", &path)?;
    let (mut lines, mut line) = (BufReader::new(file), Vec::new());
    loop {
        line.clear();
        lines.read_until(b'\n', &mut line).io("read", &path)?;
        if line.last() != Some(&b'\n') {
            break;
        }
        bytes += line.len() as u64;
        // A line that was torn by a power cut is skipped, so that it does not block every launch. Recovery may book it again.
        usd += document::json::<Booking>(&line).and_then(|booking| booking.cost()).unwrap_or(0.0);
    }
    if bytes >= start + WORTH_KEEPING {
        derived::write(&sum_file(mailbox, day), &Beginning::of(&meta, bytes), &DaySum { usd });
    }
    Ok(usd)
}

/// How many bytes are booked before the sum is written again.
const WORTH_KEEPING: u64 = 64 << 10;

/// The sum of the first bookings of a day: a [derived file](askbox_mailbox::derived) of the beginning of its bookings.
#[derive(Serialize, Deserialize)]
struct DaySum {
    usd: f64,
}

impl Derived for DaySum {
    type Source = Beginning;
    const LONGEST: u64 = 4 << 10;
}

fn sum_file(mailbox: &Mailbox, day: Time) -> PathBuf {
    folder(mailbox).join(format!("{}.sum.json", day.date_naive()))
}

/// US dollars that were booked for each of these attempts on the day of `day` (UTC). `since` is when the first of them was claimed:
/// earlier bookings are not read.
pub fn of_day_by_attempt(mailbox: &Mailbox, day: Time, attempts: &[AttemptId], since: Time) -> Result<HashMap<AttemptId, f64>> {
    let mut sums = HashMap::new();
    if attempts.is_empty() {
        return Ok(sums);
    }
    newest_bookings(mailbox, day, |booking| {
        // Two clocks may differ by a little.
        let goes_on = booking.at >= since - TimeDelta::minutes(1);
        let attempt = booking.attempt();
        if attempts.contains(&attempt) {
            *sums.entry(attempt).or_default() += booking.cost().unwrap_or(0.0);
        }
        goes_on
    })?;
    Ok(sums)
}

/// Calls `take` with the bookings of a day, the last one first, until it returns false.
fn newest_bookings(mailbox: &Mailbox, day: Time, mut take: impl FnMut(Booking) -> bool) -> Result<()> {
    let path = day_file(mailbox, day);
    let Some(file) = disk::if_there(disk::open_to_read(&path))? else { return Ok(()) };
    for line in LinesFromEnd::new(file).io("read", &path)? {
        if document::json::<Booking>(&line.io("read", &path)?).is_some_and(|booking| !take(booking)) {
            break;
        }
    }
    Ok(())
}

/// US dollars of the attempts of a round that have ended; `None` if the agent reported none.
pub fn of_round(mailbox: &Mailbox, round: &RoundId) -> Result<Option<f64>> {
    let mut sum = None;
    for run in record::read_those(mailbox, round, record::attempts(mailbox, round)?) {
        sum = run?.cost_usd.filter(|usd| is_cost(*usd)).map(|c| sum.unwrap_or(0.0) + c).or(sum);
    }
    Ok(sum)
}

/// US dollars of these attempts of a round.
pub fn of_attempts(attempts: &[Run]) -> Option<f64> {
    attempts.iter().fold(None, |total, attempt| sum(total, attempt.cost_usd))
}

/// Books the turns that a dead supervisor had recorded but not booked. Returns the US dollars of the attempt. A cost that cannot be booked
/// is told in the log, and does not keep the run from its end.
///
/// # Errors
/// [`Error::Io`] if the disk is full: room may come. [`Error::Invalid`] if the events are refused: see [`events::open`].
pub fn catch_up(mailbox: &Mailbox, run: &Run) -> Result<Option<f64>> {
    // The supervisor may have died in the middle of a line.
    let mut book = Book { is_torn: true, ..Book::of_run(mailbox, run) };
    let events = match events::read(&run.folder(mailbox).join("events.jsonl")) {
        Ok(events) => events,
        // More than the supervisor can have written: nobody knows the cost, and a person has to look.
        Err(e @ Error::Invalid { .. }) => return Err(e),
        Err(_) => return Ok(None),
    };
    let mut turns: Vec<_> = events.flat_map(|event| book.count(event.at, &event.kind)).collect();
    turns.extend(book.rest.take());
    for turn in turns {
        match book.write_unless_booked(&turn) {
            Err(e) if e.is_full_disk() => return Err(e),
            Err(e) => tracing::warn!(attempt = %run.token(), hint = %e.hint(), "the cost of a turn could not be booked: {e}"),
            Ok(()) => {}
        }
    }
    Ok(book.total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_agent::events::Event;
    use std::fs::File;
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    fn booking(at: Time, attempt: u32, turn: u32) -> Booking {
        let (workflow_id, question_id) = ("w".parse().unwrap(), "01900000-0000-7000-8000-000000000000".parse().unwrap());
        Booking { at, workflow_id, question_id, attempt, turn, cost_usd: Some(0.25), turns: 1, tokens: Tokens::default() }
    }

    /// A mailbox with so many bookings of this day, each for an attempt of its own, one a second.
    fn booked(count: u32) -> (tempfile::TempDir, Mailbox, Time) {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let day = Time::from_timestamp(1_767_225_600, 0).unwrap();
        append(&mailbox, day, 1..=count);
        (folder, mailbox, day)
    }

    fn append(mailbox: &Mailbox, day: Time, attempts: std::ops::RangeInclusive<u32>) {
        disk::create_folder(&folder(mailbox)).unwrap();
        let mut file = disk::open_append(&day_file(mailbox, day)).unwrap();
        for n in attempts {
            let line = serde_json::to_string(&booking(day + TimeDelta::seconds(i64::from(n)), n, 1)).unwrap();
            writeln!(file, "{line}").unwrap();
        }
    }

    fn overwrite_the_beginning(mailbox: &Mailbox, day: Time, bytes: usize) {
        let file = File::options().write(true).open(day_file(mailbox, day)).unwrap();
        file.write_all_at(&vec![b'#'; bytes], 0).unwrap();
    }

    #[test]
    fn a_day_is_summed_up_from_where_the_last_sum_ended() {
        let (_folder, mailbox, day) = booked(2_000);
        assert_eq!(of_day(&mailbox, day).unwrap(), 500.0);
        overwrite_the_beginning(&mailbox, day, 50_000);
        append(&mailbox, day, 2_001..=2_004);
        assert_eq!(of_day(&mailbox, day).unwrap(), 501.0, "what was summed up is not read again");
        // Another file of bookings, and a damaged sum.
        let path = day_file(&mailbox, day);
        let moved = path.with_extension("moved");
        std::fs::copy(&path, &moved).unwrap();
        std::fs::rename(&moved, &path).unwrap();
        let all = of_day(&mailbox, day).unwrap();
        assert!(all < 501.0, "all lines that are left: {all}");
        std::fs::write(sum_file(&mailbox, day), "{").unwrap();
        assert_eq!(of_day(&mailbox, day).unwrap(), all);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(of_day(&mailbox, day).unwrap(), 0.0);
    }

    #[test]
    fn what_live_attempts_spent_is_read_from_the_end() {
        let (_folder, mailbox, day) = booked(2_000);
        let at = |n: i64| day + TimeDelta::seconds(n);
        let id = |n: u32| booking(day, n, 1).attempt();
        overwrite_the_beginning(&mailbox, day, 50_000);
        append(&mailbox, day, 1_999..=1_999);
        let sums = of_day_by_attempt(&mailbox, day, &[id(1_999), id(2_000), id(3_000)], at(1_999)).unwrap();
        assert_eq!((sums.get(&id(1_999)), sums.get(&id(2_000)), sums.get(&id(3_000))), (Some(&0.5), Some(&0.25), None));
        assert!(of_day_by_attempt(&mailbox, at(86_400), &[id(1)], day).unwrap().is_empty(), "another day");
    }

    fn turn(cost_usd: f64) -> EventKind {
        let result = serde_json::json!({"type": "result", "is_error": false, "text": "", "cost_usd": cost_usd, "turns": 1});
        serde_json::from_value(result).unwrap()
    }

    #[test]
    fn a_turn_that_could_not_be_booked_is_booked_later() {
        let (_folder, mailbox, day) = booked(1);
        let path = day_file(&mailbox, day);
        let away = path.with_extension("away");
        let round = booking(day, 2, 1).attempt().round;
        let run = Run::first(&round, crate::delivery::Delivery::Launch.claimant());
        let mut book = Book::of_run(&mailbox, &run);
        std::fs::rename(&path, &away).unwrap();
        std::fs::create_dir(&path).unwrap();
        for usd in [1.0, 2.0] {
            assert!(book.take(day, &turn(usd)).is_err());
        }
        assert!(book.close().is_err() && book.close().is_err());
        std::fs::remove_dir(&path).unwrap();
        std::fs::rename(&away, &path).unwrap();
        // The write that failed may have written the beginning of a line.
        disk::open_append(&path).unwrap().write_all(b"{\"at\":\"20").unwrap();
        book.close().unwrap();
        book.close().unwrap();
        assert_eq!((of_day(&mailbox, day).unwrap(), book.total), (3.25, Some(3.0)));
        let sums = of_day_by_attempt(&mailbox, day, &[run.id()], day).unwrap();
        assert_eq!(sums.get(&run.id()), Some(&3.25), "with the one that was booked before");
    }

    #[test]
    fn recovery_goes_on_if_a_cost_cannot_be_booked() {
        let (_folder, mailbox, day) = booked(1);
        let round = booking(day, 2, 1).attempt().round;
        let run = Run::first(&round, crate::delivery::Delivery::Launch.claimant());
        std::fs::create_dir_all(run.folder(&mailbox)).unwrap();
        let event = serde_json::to_vec(&Event { seq: 1, at: day, kind: turn(1.5) }).unwrap();
        std::fs::write(run.folder(&mailbox).join("events.jsonl"), [event.as_slice(), b"\n"].concat()).unwrap();
        std::fs::remove_file(day_file(&mailbox, day)).unwrap();
        std::fs::create_dir(day_file(&mailbox, day)).unwrap();
        assert_eq!(catch_up(&mailbox, &run).unwrap(), Some(1.5));
    }

    #[test]
    fn a_negative_booking_makes_no_room() {
        let (_folder, mailbox, day) = booked(2);
        for usd in ["-1000.0", "-1e308", "-0.5"] {
            let line = serde_json::to_string(&booking(day, 1, 1)).unwrap().replace("0.25", usd);
            writeln!(disk::open_append(&day_file(&mailbox, day)).unwrap(), "{line}").unwrap();
        }
        assert_eq!(of_day(&mailbox, day).unwrap(), 0.5);
        let attempt = booking(day, 1, 1).attempt();
        assert_eq!(of_day_by_attempt(&mailbox, day, std::slice::from_ref(&attempt), day).unwrap().get(&attempt), Some(&0.25));
    }
}
