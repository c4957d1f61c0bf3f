//! The records of one target. Each change is on disk before the next step is taken, and a restart reads them again.
//!
//! The records are not synced: a crash of the program loses nothing; after a power cut a target may be told an event a second time,
//! with the id of the first.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::disk;
use crate::document::{self, Stored};
use crate::error::{Error, IoContext, Result};
use crate::id::{RoundId, WorkflowId};
use crate::log;
use crate::mailbox::Mailbox;
use crate::news::events::record::Record;
use crate::time::Time;

/// The folder of the news in the mailbox.
pub(in crate::news) const FOLDER: &str = "news";

#[derive(Debug)]
pub(in crate::news) struct Ledger {
    folder: PathBuf,
    records: BTreeMap<RoundId, Record>,
}

impl Ledger {
    /// Reads the records of a target. One that cannot be read is made anew: its target is told again.
    pub(in crate::news) fn open(mailbox: &Mailbox, target: &str) -> Result<Self> {
        let folder = mailbox.root().join(FOLDER).join(target);
        disk::create_folder(&folder)?;
        Self::of(folder)
    }

    /// The records of a target, for a look: what cannot be read is left out, and nothing is changed.
    pub(in crate::news) fn read(mailbox: &Mailbox, target: &str) -> Self {
        let folder = mailbox.root().join(FOLDER).join(target);
        let is_there = disk::exists(&folder);
        Some(folder.clone())
            .filter(|_| is_there)
            .and_then(|folder| Self::of(folder).ok())
            .unwrap_or(Self { folder, records: BTreeMap::new() })
    }

    fn of(folder: PathBuf) -> Result<Self> {
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

    pub(in crate::news) fn rounds(&self) -> impl Iterator<Item = &RoundId> {
        self.records.keys()
    }

    pub(in crate::news) fn rounds_of(&self, workflow: &WorkflowId) -> impl Iterator<Item = &RoundId> {
        self.records.keys().filter(move |round| round.workflow == *workflow)
    }

    pub(in crate::news) fn get(&self, round: &RoundId) -> Option<&Record> {
        self.records.get(round)
    }

    /// Changes the record of a round, and writes it if `change` says that it has changed. A record that says nothing is not kept.
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

    /// Whether the target shows a question that still waits.
    pub(in crate::news) fn has_card(&self) -> bool {
        self.records.values().any(|record| record.has_asked() && !record.events.iter().any(|entry| !entry.event.asks()))
    }

    /// What is to be told, the oldest first, and when.
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
