//! The events of one round for one target: the file `news/TARGET/WORKFLOW.QUESTION_ID.json`.
//!
//! The records of one target. Each change is on disk before the next step is taken, and a restart reads them again.
//!
//! The records are not synced. If the program crashes, nothing is lost. After a power cut a target may get an event a second time, with
//! the id of the first.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use askbox_config::Event;
use askbox_mailbox::{Error, IoContext, Mailbox, QuestionId, Result, RoundId, Stored, Time, WorkflowId, disk, document, text, time};
use askbox_run::log;

/// The most entries of one record. If a question has more reminders, the oldest are forgotten.
const MOST_ENTRIES: usize = 64;
/// The pause after the first failure; each further one doubles it.
const FIRST_PAUSE: TimeDelta = TimeDelta::seconds(10);
const LONGEST_PAUSE: TimeDelta = TimeDelta::hours(1);
/// How long to keep trying to send an event.
const TRIED_FOR: TimeDelta = TimeDelta::days(2);

/// How far one event has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::news) enum EntryState {
    /// It is to be sent.
    Wanted,
    /// It is being sent. If it is found in this state after a crash, it is sent again with the same id.
    Sending,
    /// The target has received it.
    Sent,
    /// It is not sent, because the question no longer waits or the target could not be reached for two days.
    Dropped,
}

/// One event.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::news) struct Entry {
    pub event: Event,
    /// Its number among several: the number of the attempt, of the reminder, or of the times that the answer was taken back.
    #[serde(default)]
    pub count: u32,
    pub state: EntryState,
    /// When it happened.
    pub since: Time,
    /// When it may be sent.
    pub due: Time,
    /// True if it is sent in quiet hours too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub urgent: bool,
    #[serde(default)]
    pub failures: u32,
    /// The reason why it was not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// All events of one round for one target.
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
        Self { schema_version: askbox_mailbox::document::SCHEMA_VERSION, workflow_id, question_id, events: Vec::new() }
    }

    pub(in crate::news) fn round(&self) -> RoundId {
        RoundId { workflow: self.workflow_id.clone(), question: self.question_id }
    }

    /// The id that a target gets an event with. A repetition has the same id, so that the target can recognize it.
    pub(in crate::news) fn id(&self, target: &str, entry: &Entry) -> Uuid {
        let name = format!("{target} {} {}", entry.event.word(), entry.count);
        Uuid::new_v5(self.question_id.uuid(), name.as_bytes())
    }

    /// The id of all messages to this target about the round. A later message replaces an earlier one, if the target can do that.
    pub(in crate::news) fn card(&self, target: &str) -> Uuid {
        Uuid::new_v5(self.question_id.uuid(), target.as_bytes())
    }

    /// Notes that an event is to be sent. Returns whether it is new.
    pub(in crate::news) fn want(&mut self, event: Event, count: u32, due: Time, urgent: bool) -> bool {
        if self.events.iter().any(|e| (e.event, e.count) == (event, count)) {
            return false;
        }
        if self.events.len() >= MOST_ENTRIES
            && let Some(oldest) = self.events.iter().position(|e| e.event == Event::Reminder && !e.is_open())
        {
            self.events.remove(oldest);
        }
        let (state, since) = (EntryState::Wanted, time::now());
        self.events.push(Entry { event, count, state, since, due, urgent, failures: 0, problem: None });
        true
    }

    /// Drops the events that are not sent yet and make sense only as long as the question waits. Returns whether there were any.
    pub(in crate::news) fn drop_questions(&mut self) -> bool {
        let mut open: Vec<_> = self.events.iter_mut().filter(|e| e.event.asks() && e.state == EntryState::Wanted).collect();
        open.iter_mut().for_each(|entry| entry.state = EntryState::Dropped);
        !open.is_empty()
    }

    /// True if the target has seen, or may have seen, that the question waits.
    pub(in crate::news) fn has_asked(&self) -> bool {
        self.events.iter().any(|e| e.event.asks() && matches!(e.state, EntryState::Sending | EntryState::Sent))
    }

    /// True if anything is still to be sent.
    pub(in crate::news) fn is_open(&self) -> bool {
        self.events.iter().any(Entry::is_open)
    }

    /// True if the round stands for a dialog at a terminal, or for a prompt.
    pub(in crate::news) fn is_of_session(&self) -> bool {
        !self.events.is_empty() && self.events.iter().all(|entry| entry.event.is_of_session())
    }
}

impl Entry {
    pub(in crate::news) fn is_open(&self) -> bool {
        matches!(self.state, EntryState::Wanted | EntryState::Sending)
    }

    /// Notes that the target could not be reached. It is tried again later, for two days.
    pub(in crate::news) fn failed(&mut self, problem: &str, now: Time) {
        self.failures += 1;
        self.problem = Some(text::excerpt(problem, 300));
        let pause = FIRST_PAUSE * i32::try_from(1_u32 << (self.failures - 1).min(10)).unwrap_or(i32::MAX);
        self.due = now + pause.min(LONGEST_PAUSE);
        self.state = if now - self.since > TRIED_FOR { EntryState::Dropped } else { EntryState::Wanted };
    }
}

/// The folder of the news in the mailbox.
pub(in crate::news) const NEWS_FOLDER: &str = "news";

pub(in crate::news) struct Ledger {
    folder: PathBuf,
    pub(in crate::news) records: BTreeMap<RoundId, Record>,
}

impl Ledger {
    /// Reads the records of a target. If a record cannot be read, it is made anew, and the target is notified again.
    pub(in crate::news) fn open(mailbox: &Mailbox, target: &str) -> Result<Self> {
        let folder = mailbox.root().join(NEWS_FOLDER).join(target);
        disk::create_folder(&folder)?;
        Self::read_all(folder)
    }

    /// The records of a target, for reading only. Records that cannot be read are left out, and nothing is changed.
    pub(in crate::news) fn read(mailbox: &Mailbox, target: &str) -> Self {
        let folder = mailbox.root().join(NEWS_FOLDER).join(target);
        let is_there = disk::exists(&folder);
        Some(folder.clone())
            .filter(|_| is_there)
            .and_then(|folder| Self::read_all(folder).ok())
            .unwrap_or(Self { folder, records: BTreeMap::new() })
    }

    fn read_all(folder: PathBuf) -> Result<Self> {
        let mut records = BTreeMap::new();
        for entry in disk::entries(&folder).io("read", &folder)? {
            let Some(round) = entry.io("read", &folder)?.name.to_str().and_then(RoundId::from_file_name) else { continue };
            match read(&folder.join(round.file_name())) {
                Ok(record) if record.round() == round => drop(records.insert(round, record)),
                Ok(_) => {}
                Err(e) => log::error(&e),
            }
        }
        Ok(Self { folder, records })
    }

    pub(in crate::news) fn rounds_of(&self, workflow: &WorkflowId) -> impl Iterator<Item = &RoundId> {
        self.records.keys().filter(move |round| round.workflow == *workflow)
    }

    /// Changes the record of a round, and writes it if `change` returns true. An empty record is not kept.
    pub(in crate::news) fn change(&mut self, round: &RoundId, change: impl FnOnce(&mut Record) -> bool) -> Result<()> {
        let mut record = self.records.get(round).cloned().unwrap_or_else(|| Record::new(round));
        if !change(&mut record) || record.events.is_empty() {
            return Ok(());
        }
        let bytes = serde_json::to_vec_pretty(&record).map_err(|e| Error::failed(e.to_string(), "report this as a bug"))?;
        disk::replace_unsynced(&self.folder.join(round.file_name()), &bytes, SystemTime::now())?;
        self.records.insert(round.clone(), record);
        Ok(())
    }

    /// Forgets a round that is over.
    pub(in crate::news) fn forget(&mut self, round: &RoundId) -> Result<()> {
        self.records.remove(round);
        disk::untouch(&self.folder.join(round.file_name()))
    }

    /// How many questions that still wait the target shows.
    pub(in crate::news) fn cards(&self) -> usize {
        self.records.values().filter(|record| record.has_asked() && record.events.iter().all(|entry| entry.event.asks())).count()
    }

    /// The events to send, the oldest first, and when.
    pub(in crate::news) fn open_entries(&self) -> Vec<(Time, RoundId, usize)> {
        let entries = |(round, record): (&RoundId, &Record)| -> Vec<_> {
            let open = record.events.iter().enumerate().filter(|(_, entry)| entry.is_open());
            open.map(|(n, entry)| (entry.due, round.clone(), n)).collect()
        };
        let mut open: Vec<_> = self.records.iter().flat_map(entries).collect();
        open.sort();
        open
    }
}

fn read(path: &std::path::Path) -> Result<Record> {
    let bytes = disk::read(path, Record::LARGEST)?;
    document::json(&bytes)
        .ok_or_else(|| Error::invalid("file", "is no record of news", "remove it: the target is told again").in_file(path))
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
        record.events[0].state = EntryState::Sent;
        assert!(!record.want(Event::Asked, 0, time::now(), false));
        assert_eq!(record.id("phone", &record.events[0]), id);
        assert_ne!(record.id("desk", &record.events[0]), id);
        assert!(record.want(Event::Failed, 1, time::now(), false) && record.want(Event::Failed, 2, time::now(), false));
    }

    #[test]
    fn a_failing_target_is_tried_ever_later_for_two_days() {
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
        assert_eq!((entry.due, entry.state), (start + LONGEST_PAUSE, EntryState::Wanted));
        entry.failed("no route", start + TimeDelta::hours(49));
        assert_eq!(entry.state, EntryState::Dropped);
    }

    #[test]
    fn many_reminders_do_not_make_a_record_grow_without_bound() {
        let mut record = record();
        for n in 0..1000 {
            record.want(Event::Reminder, n, time::now(), false);
            record.events.last_mut().unwrap().state = EntryState::Sent;
        }
        assert_eq!(record.events.len(), MOST_ENTRIES);
    }
}
