//! What one target is told of one round: the file `news/TARGET/WORKFLOW.QUESTION_ID.json`.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::config::Event;
use crate::document::Stored;
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::text;
use crate::time::{self, Time};

/// How many entries one record keeps. Of a question with more reminders, the oldest are forgotten.
const MOST_ENTRIES: usize = 64;
/// The pause after the first failure; each further one doubles it.
const FIRST_PAUSE: TimeDelta = TimeDelta::seconds(10);
const LONGEST_PAUSE: TimeDelta = TimeDelta::hours(1);
/// How long it is tried to tell an event.
const TRIED_FOR: TimeDelta = TimeDelta::days(2);

/// How far one event has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::news) enum State {
    /// It is to be told.
    Wanted,
    /// It is being told. Found after a crash, it is told again with the same id.
    Sending,
    /// The target was told.
    Sent,
    /// It is not told: the question waits no longer, or the target could not be told for two days.
    Dropped,
}

/// One event.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::news) struct Entry {
    pub event: Event,
    /// Which of several: the number of the attempt, of the reminder, or of the times that the answer was taken back.
    #[serde(default)]
    pub count: u32,
    pub state: State,
    /// When it happened.
    pub since: Time,
    /// When it may be told.
    pub due: Time,
    /// Whether it is told in quiet hours too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub urgent: bool,
    #[serde(default)]
    pub failures: u32,
    /// Why it was not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// All that one target is told of one round.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::news) struct Record {
    #[serde(default)]
    pub schema_version: u32,
    pub workflow_id: WorkflowId,
    pub question_id: QuestionId,
    #[serde(default)]
    pub events: Vec<Entry>,
}

impl Stored for Record {
    const LARGEST: u64 = 256 << 10;
}

impl Record {
    pub(in crate::news) fn new(round: &RoundId) -> Self {
        let (workflow_id, question_id) = (round.workflow.clone(), round.question);
        Self { schema_version: crate::document::SCHEMA_VERSION, workflow_id, question_id, events: Vec::new() }
    }

    pub(in crate::news) fn round(&self) -> RoundId {
        RoundId { workflow: self.workflow_id.clone(), question: self.question_id }
    }

    /// The id under which a target gets an event. It stays the same when it is told again, so that the target can see that.
    pub(in crate::news) fn id(&self, target: &str, entry: &Entry) -> Uuid {
        let name = format!("{target} {} {}", entry.event.word(), entry.count);
        Uuid::new_v5(self.question_id.uuid(), name.as_bytes())
    }

    /// The id of everything that this target is told of the round. What is told later replaces what was told before, where the target can.
    pub(in crate::news) fn card(&self, target: &str) -> Uuid {
        Uuid::new_v5(self.question_id.uuid(), target.as_bytes())
    }

    /// Notes that an event is to be told. Returns whether it is new.
    pub(in crate::news) fn want(&mut self, event: Event, count: u32, due: Time, urgent: bool) -> bool {
        if self.events.iter().any(|e| (e.event, e.count) == (event, count)) {
            return false;
        }
        if self.events.len() >= MOST_ENTRIES
            && let Some(oldest) = self.events.iter().position(|e| e.event == Event::Reminder && !e.is_open())
        {
            self.events.remove(oldest);
        }
        let (state, since) = (State::Wanted, time::now());
        self.events.push(Entry { event, count, state, since, due, urgent, failures: 0, problem: None });
        true
    }

    /// Drops what is told only as long as the question waits, if it was not told. Returns whether anything was.
    pub(in crate::news) fn drop_questions(&mut self) -> bool {
        let mut open: Vec<_> = self.events.iter_mut().filter(|e| e.event.asks() && e.state == State::Wanted).collect();
        open.iter_mut().for_each(|entry| entry.state = State::Dropped);
        !open.is_empty()
    }

    /// Whether the target has seen, or may have seen, that the question waits.
    pub(in crate::news) fn has_asked(&self) -> bool {
        self.events.iter().any(|e| e.event.asks() && matches!(e.state, State::Sending | State::Sent))
    }

    /// Whether anything is still to be told.
    pub(in crate::news) fn is_open(&self) -> bool {
        self.events.iter().any(Entry::is_open)
    }
}

impl Entry {
    pub(in crate::news) fn is_open(&self) -> bool {
        matches!(self.state, State::Wanted | State::Sending)
    }

    /// Notes that the target could not be told. It is tried again later, for two days.
    pub(in crate::news) fn failed(&mut self, problem: &str, now: Time) {
        self.failures += 1;
        self.problem = Some(text::excerpt(problem, 300));
        let pause = FIRST_PAUSE * i32::try_from(1_u32 << (self.failures - 1).min(10)).unwrap_or(i32::MAX);
        self.due = now + pause.min(LONGEST_PAUSE);
        self.state = if now - self.since > TRIED_FOR { State::Dropped } else { State::Wanted };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record::new(&RoundId { workflow: "docs".parse().unwrap(), question: QuestionId::generate() })
    }

    #[test]
    fn an_event_is_wanted_once_and_keeps_its_id() {
        let mut record = record();
        assert!(record.want(Event::Asked, 0, time::now(), false));
        let id = record.id("phone", &record.events[0]);
        record.events[0].state = State::Sent;
        assert!(!record.want(Event::Asked, 0, time::now(), false));
        assert_eq!(record.id("phone", &record.events[0]), id);
        assert_ne!(record.id("desk", &record.events[0]), id);
        assert!(record.want(Event::Failed, 1, time::now(), false) && record.want(Event::Failed, 2, time::now(), false));
    }

    #[test]
    fn a_target_that_fails_is_tried_later_and_later_and_given_up_after_two_days() {
        let mut record = record();
        record.want(Event::Asked, 0, time::now(), false);
        let (entry, start) = (&mut record.events[0], time::now());
        for (failure, seconds) in [(1, 10), (2, 20), (3, 40)] {
            entry.failed("no route", start);
            assert_eq!((entry.failures, entry.due), (failure, start + TimeDelta::seconds(seconds)));
        }
        for _ in 0..40 {
            entry.failed("no route", start);
        }
        assert_eq!((entry.due, entry.state), (start + LONGEST_PAUSE, State::Wanted));
        entry.failed("no route", start + TimeDelta::hours(49));
        assert_eq!(entry.state, State::Dropped);
    }

    #[test]
    fn many_reminders_do_not_make_a_record_grow_without_bound() {
        let mut record = record();
        for n in 0..1000 {
            record.want(Event::Reminder, n, time::now(), false);
            record.events.last_mut().unwrap().state = State::Sent;
        }
        assert_eq!(record.events.len(), MOST_ENTRIES);
    }
}
