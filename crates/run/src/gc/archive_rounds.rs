//! Archives old rounds: writes them into the archives of their months, and then removes them like pruned ones.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::archive::{self, Located, Month, Source, Writer};
use crate::gc::collect::{AT_ONCE, OldRound, by_workflow, next};
use crate::gc::pass::{Archived, Fate, Gc, Tally, changed};
use crate::gc::round_files::RoundFiles;
use askbox_mailbox::audit::Entry;
use askbox_mailbox::time::Span;
use askbox_mailbox::{Error, Folder, IoContext, Result, RoundId, Time, audit, disk, read_question};

/// A round that may be archived.
struct Chosen {
    changed: Time,
    /// True if it is the last round of a workflow that goes as a whole.
    is_last: bool,
    /// True if other rounds of its workflow stay.
    goes_on: bool,
    round: RoundId,
}

/// Rounds of one month that go into one member.
#[derive(Default)]
struct Batch {
    rounds: Vec<NewRound>,
    /// Rounds that the archive holds already, and their files: an earlier gc was killed before it removed them.
    known: Vec<(Chosen, RoundFiles)>,
    bytes: u64,
}

/// A round that the archive does not hold, or not as it is now.
struct NewRound {
    chosen: Chosen,
    files: RoundFiles,
    closed: Option<Time>,
    /// True if the archive holds an earlier state of it.
    again: bool,
}

impl Batch {
    fn is_full(&self) -> bool {
        Writer::is_enough(self.rounds.len(), self.bytes) || self.known.len() >= AT_ONCE
    }
}

impl Gc<'_> {
    /// Makes the indexes again that archives have lost. Returns their months. Nothing happens while another process archives.
    pub(super) fn make_lost_indexes(&mut self) -> Result<Vec<String>> {
        let Some(writer) = Writer::try_new(self.mailbox)? else { return Ok(Vec::new()) };
        let mut made = Vec::new();
        for (month, result) in writer.make_lost_indexes()? {
            match result {
                Ok(()) => made.push(month.to_string()),
                Err(e) => self.left(&format!("the archive of {month}"), &e),
            }
        }
        Ok(made)
    }

    /// Archives the rounds that ended longer ago than `age` and are not needed. Those that changed before `after` are passed over.
    pub(super) fn archive(&mut self, age: Duration, after: Option<Time>, by: &str) -> Result<Archived> {
        self.set_age(age);
        self.tally = Tally { bytes: Some(0), ..Tally::default() };
        let mut archived =
            Archived { after: Span(age), tally: Tally::default(), archive_bytes: (!self.dry_run).then_some(0), is_busy: false };
        let mailbox = self.mailbox;
        let writer = if self.dry_run { None } else { Writer::try_new(mailbox)? };
        if writer.is_none() && !self.dry_run {
            archived.is_busy = true;
            return Ok(archived);
        }
        if let Some(writer) = &writer {
            writer.cut_off_torn_ends();
        }
        let mut old = self.old_rounds(after);
        while let Some(rounds) = next(&mut old)? {
            let chosen = self.choose(rounds)?;
            let Some(writer) = &writer else {
                self.tell_only(&chosen)?;
                continue;
            };
            let bytes = self.archive_chosen(writer, chosen, by)?;
            archived.archive_bytes = archived.archive_bytes.map(|sum| sum + bytes);
        }
        archived.tally = std::mem::take(&mut self.tally);
        if let Some(writer) = &writer {
            let bytes = self.archive_logs(writer)?;
            archived.archive_bytes = archived.archive_bytes.map(|sum| sum + bytes);
        }
        Ok(archived)
    }

    /// Chooses the rounds that may go, the oldest first.
    fn choose(&mut self, old: Vec<OldRound>) -> Result<Vec<Chosen>> {
        let mut chosen = Vec::new();
        let mut waits_for_locks = true;
        for (workflow, rounds) in by_workflow(old) {
            let selection = match self.selected(&workflow, rounds, waits_for_locks) {
                Ok(selection) => selection,
                Err(e) => {
                    waits_for_locks &= !self.mailbox.is_locked(&workflow)?;
                    self.left(workflow.as_str(), &e);
                    continue;
                }
            };
            let goes_on = selection.last.is_none();
            for (question, is_last) in selection.rounds.iter().map(|q| (*q, false)).chain(selection.last.map(|q| (q, true))) {
                let round = RoundId { workflow: workflow.clone(), question };
                // If the file is gone, another process was quicker.
                if let Some(at) = changed(&self.mailbox.round(Folder::Closed, &round)) {
                    chosen.push(Chosen { changed: Time::from(at), is_last, goes_on, round });
                }
            }
        }
        // The last round of a workflow goes after the others, whatever the times of their files.
        chosen.sort_by(|one, other| (one.is_last, one.changed, &one.round).cmp(&(other.is_last, other.changed, &other.round)));
        Ok(chosen)
    }

    /// Tells which rounds would be archived.
    fn tell_only(&mut self, chosen: &[Chosen]) -> Result<()> {
        for Chosen { round, is_last, .. } in chosen {
            let checkpoint = self.mailbox.document(Folder::Checkpoints, &round.workflow);
            let has_checkpoint = *is_last && disk::exists(&checkpoint);
            self.tell_of(Fate::Archived, &self.mailbox.round(Folder::Closed, round));
            if has_checkpoint {
                self.tell_of(Fate::Archived, &checkpoint);
            }
            self.tally.rounds += 1;
            self.tally.workflows += u64::from(*is_last);
            self.tally.checkpoints += u64::from(has_checkpoint);
            *self.tally.bytes.get_or_insert_default() += RoundFiles::of(self.mailbox, round, *is_last)?.space();
        }
        Ok(())
    }

    /// Archives these rounds in batches. Returns the bytes that the archives grew by.
    fn archive_chosen(&mut self, writer: &Writer<'_>, chosen: Vec<Chosen>, by: &str) -> Result<u64> {
        let months: HashSet<Month> = chosen.iter().map(|c| Month::of(c.changed)).collect();
        let rounds: HashSet<RoundId> = chosen.iter().map(|c| c.round.clone()).collect();
        let located = archive::located(self.mailbox, &months, &rounds)?;
        let (mut batch, mut month, mut grown) = (Batch::default(), None, 0);
        for round in chosen {
            let of = Month::of(round.changed);
            if month.is_some_and(|month| month != of) || batch.is_full() {
                grown += self.archive_batch(writer, month, std::mem::take(&mut batch), by)?;
            }
            month = Some(of);
            let name = round.round.to_string();
            if let Err(e) = self.prepare(&mut batch, round, &located) {
                self.left(&name, &e);
            }
        }
        Ok(grown + self.archive_batch(writer, month, batch, by)?)
    }

    /// Archives and removes a batch. If the archive of the month cannot take it, its rounds stay.
    fn archive_batch(&mut self, writer: &Writer<'_>, month: Option<Month>, batch: Batch, by: &str) -> Result<u64> {
        let Some(month) = month else { return Ok(0) };
        match self.append_batch(writer, month, &batch, by) {
            Err(e @ Error::Failed { .. }) => {
                self.left(&format!("archive/{month}.jsonl.gz"), &e);
                Ok(0)
            }
            Err(e) => Err(e),
            Ok(bytes) => {
                self.remove_batch(batch);
                Ok(bytes)
            }
        }
    }

    /// Adds a round to the batch, unless its run is live or a file of it cannot be read.
    fn prepare(&self, batch: &mut Batch, chosen: Chosen, located: &HashMap<RoundId, Located>) -> Result<()> {
        let round = &chosen.round;
        if self.hold(round)?.is_none() {
            return Err(Error::conflict("its run is still live", "the next gc takes it"));
        }
        let files = RoundFiles::of(self.mailbox, round, chosen.is_last)?;
        // An error while a member is written takes the whole member along. So files that are refused are found before.
        files.files.iter().try_for_each(|file| disk::open_to_read(&file.path).map(drop))?;
        let document = read_question::of_round(&self.mailbox.round(Folder::Closed, round), round)?;
        let closed = document.typed.closed.as_ref().map(|closed| closed.at);
        match located.get(round) {
            Some(located) if self.is_archived(*located, round, &files).unwrap_or(false) => batch.known.push((chosen, files)),
            found => {
                batch.bytes += files.length();
                batch.rounds.push(NewRound { again: found.is_some(), chosen, files, closed });
            }
        }
        Ok(())
    }

    /// True if a member holds every file of the round as it is. An error means that the member is damaged. A power cut may have brought
    /// back a part of a removed round.
    fn is_archived(&self, located: Located, round: &RoundId, files: &RoundFiles) -> Result<bool> {
        let digests = archive::digests(self.mailbox, located, round)?;
        for file in &files.files {
            let Some(archived) = digests.get(&file.name) else { return Ok(false) };
            let mut hash = Sha256::new();
            let mut from = disk::open_to_read(&file.path)?;
            std::io::copy(&mut from, &mut Hashing(&mut hash)).io("read", &file.path)?;
            if <[u8; 32]>::from(hash.finalize()) != *archived {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Appends the rounds of a batch to the archive. Returns the bytes that it grew by.
    fn append_batch<'a>(&self, writer: &Writer<'_>, month: Month, batch: &'a Batch, by: &str) -> Result<u64> {
        if batch.rounds.is_empty() {
            return Ok(0);
        }
        let source = |new: &'a NewRound| Source {
            round: &new.chosen.round,
            changed: new.chosen.changed,
            closed: new.closed,
            again: new.again,
            files: new.files.files.iter().map(|file| (file.name.as_str(), file.path.clone())).collect(),
        };
        let sources: Vec<Source<'a>> = batch.rounds.iter().map(source).collect();
        let bytes = writer.append(month, &sources)?;
        let entries: Vec<Entry> = batch.rounds.iter().map(|new| Entry::about_round("archived", &new.chosen.round).by(by)).collect();
        audit::record_all(self.mailbox, &entries);
        Ok(bytes)
    }

    /// Removes the rounds of a batch from the mailbox.
    fn remove_batch(&mut self, batch: Batch) {
        let rounds = batch.rounds.into_iter().map(|new| (new.chosen, new.files)).chain(batch.known);
        let (mut removed, mut archived) = (Vec::new(), HashMap::new());
        for (chosen, files) in rounds {
            archived.insert(chosen.round.clone(), files);
            removed.push(chosen);
        }
        // A workflow's last round goes when it is the only one. The archive may have known the others before.
        removed.sort_by_key(|chosen| chosen.is_last);
        self.archived = Some(archived);
        for some in removed.chunk_by(|one, other| one.round.workflow == other.round.workflow && !one.is_last && !other.is_last) {
            if let Err(e) = self.remove_archived(some) {
                self.left(some[0].round.workflow.as_str(), &e);
            }
        }
        self.archived = None;
    }

    /// Removes archived rounds of one workflow, or its last round with all the rest of it.
    fn remove_archived(&mut self, some: &[Chosen]) -> Result<()> {
        let first = &some[0];
        if first.is_last {
            return self.remove_workflow(&first.round.workflow, first.round.question);
        }
        for some in some.chunks(AT_ONCE) {
            let lock = self.mailbox.lock(&first.round.workflow)?;
            let questions: Vec<_> = some.iter().map(|chosen| chosen.round.question).collect();
            self.remove_rounds(&lock, &questions, first.goes_on)?;
        }
        Ok(())
    }
}

/// A hash as the target of a copy.
struct Hashing<'a>(&'a mut Sha256);

impl std::io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
