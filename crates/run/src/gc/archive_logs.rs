//! Archives old parts of the audit trail, and old bookings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chrono::NaiveDate;

use crate::archive;
use crate::gc::pass::Gc;
use crate::money::costs;
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::disk::{self, LinesFromEnd};
use askbox_mailbox::{IoContext, Lock, Placed, Result, Time, document};

/// A rotated part of the audit trail with this number or a greater one is archived however young it is: later rotations would remove it.
const CROWDED: u32 = 5;
/// The end of the name of bookings that are being archived. Nothing is appended to them.
const TAKEN: &str = ".taken";

impl Gc<'_> {
    /// Archives the rotated parts of the audit trail and the bookings that end before the limit. Returns the length of their archives in
    /// bytes.
    pub(super) fn archive_logs(&mut self) -> Result<u64> {
        // One process at a time archives logs. Nothing is rotated while this lock is held: a program that finds it held rotates later.
        let Some(_lock) = Lock::try_acquire(&self.mailbox.lock_file("audit"))? else { return Ok(0) };
        Ok(self.archive_audit()? + self.archive_bookings()?)
    }

    fn archive_audit(&mut self) -> Result<u64> {
        let mut grown = 0;
        for n in (1..=audit::KEEP).rev() {
            let path = self.mailbox.root().join(format!("audit.jsonl.{n}"));
            let Some(end) = end_of_audit(&path)? else { continue };
            if n >= CROWDED || end <= self.before {
                grown += self.take_in("audit", end, &path);
            }
        }
        Ok(grown)
    }

    fn archive_bookings(&mut self) -> Result<u64> {
        let folder = costs::folder(self.mailbox);
        let Some(entries) = disk::entries_if_there(&folder)? else { return Ok(0) };
        let mut days = BTreeSet::new();
        for entry in entries {
            let name = entry.io("read", &folder)?.name;
            days.extend(name.to_str().and_then(|name| day_of(name.strip_suffix(TAKEN).unwrap_or(name))));
        }
        let mut grown = 0;
        for day in days {
            let begin = day.and_time(chrono::NaiveTime::MIN).and_utc();
            if begin + chrono::TimeDelta::days(1) > self.before {
                break;
            }
            let path = folder.join(format!("{day}.jsonl"));
            let taken = folder.join(format!("{day}.jsonl{TAKEN}"));
            // A killed process may have left bookings that were taken, and new ones may have come.
            if disk::exists(&taken) {
                grown += self.take_in("costs", begin, &taken);
            }
            if disk::exists(&path) && disk::rename(&path, &taken)? == Placed::Done {
                grown += self.take_in("costs", begin, &taken);
            }
            disk::untouch(&folder.join(format!("{day}.sum.json")))?;
        }
        Ok(grown)
    }

    /// Takes a file in. If that fails, the file stays and the failure is reported.
    fn take_in(&mut self, name: &str, at: Time, path: &Path) -> u64 {
        archive::take_in(self.mailbox, name, at, path).unwrap_or_else(|e| {
            let name = path.file_name().map_or_else(PathBuf::new, PathBuf::from);
            self.left(&name.display().to_string(), &e);
            0
        })
    }
}

/// The time of the last line of a part of the audit trail. `None` if there is no such file, or if it cannot be read.
fn end_of_audit(path: &Path) -> Result<Option<Time>> {
    let Some(file) = disk::if_there(disk::open_to_read(path))? else { return Ok(None) };
    let modified = file.metadata().and_then(|meta| meta.modified()).io("read", path)?;
    let lines = LinesFromEnd::new(file).io("read", path)?.bounded(64 << 10);
    let last = lines.take(8).flatten().find_map(|line| document::json::<Entry>(&line));
    Ok(Some(last.map_or_else(|| Time::from(modified), |entry| entry.at)))
}

/// The day of a file `YYYY-MM-DD.jsonl`.
fn day_of(name: &str) -> Option<NaiveDate> {
    let day = name.strip_suffix(".jsonl")?;
    NaiveDate::parse_from_str(day, "%Y-%m-%d").ok().filter(|date| date.to_string() == day)
}
