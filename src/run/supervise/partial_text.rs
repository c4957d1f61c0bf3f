//! `partial.jsonl` of one attempt: the text that the model generates just now, piece by piece. It begins anew with each text and is
//! removed at the end of the attempt, so it needs no more room than one text, however much an agent writes.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::agent::events::{EventKind, write_line};
use crate::disk;
use crate::mailbox::Mailbox;
use crate::run::attempt::record::Run;
use crate::time::Time;
use crate::untrusted::Untrusted;

/// The largest size of the file, in bytes. Further pieces of that text are left out.
const LARGEST: u64 = 4 << 20;

/// Where the file of an attempt lies.
#[must_use]
pub fn path(folder: &Path) -> PathBuf {
    folder.join("partial.jsonl")
}

/// Writes the file. An error costs its readers some words and nothing else: the whole text follows as an event.
#[derive(Debug)]
pub(crate) struct PartialText {
    path: PathBuf,
    /// Opened by the first piece.
    file: Option<File>,
    size: u64,
    /// The bytes of the text so far.
    offset: u64,
    line: Vec<u8>,
}

impl PartialText {
    /// Of an attempt. Nothing is opened or created before the first piece.
    pub(crate) fn of(mailbox: &Mailbox, run: &Run) -> Self {
        Self { path: path(&run.folder(mailbox)), file: None, size: 0, offset: 0, line: Vec::new() }
    }

    /// Adds a piece, behind the event `seq`. Returns it as an event.
    pub(crate) fn add(&mut self, seq: u64, at: Time, text: Untrusted) -> EventKind {
        let length = text.raw().len() as u64;
        let piece = EventKind::Partial { offset: self.offset, text };
        self.offset += length;
        self.line.clear();
        if write_line(&mut self.line, seq, at, &piece).is_ok() && self.size + self.line.len() as u64 <= LARGEST {
            if self.file.is_none() {
                self.file = open(&self.path);
            }
            let written = self.file.as_mut().is_some_and(|file| file.write_all(&self.line).is_ok());
            // After an error nothing more of this text is written.
            self.size = if written { self.size + self.line.len() as u64 } else { LARGEST };
        }
        piece
    }

    /// The text is complete or void: the next piece begins another one.
    pub(crate) fn clear(&mut self) {
        if self.offset > 0
            && let Some(file) = &self.file
        {
            self.size = if disk::empty(file).is_ok() { 0 } else { LARGEST };
        }
        self.offset = 0;
    }
}

fn open(path: &Path) -> Option<File> {
    let file = disk::open_append(path).ok()?;
    // An earlier supervisor of the attempt may have left it.
    disk::empty(&file).ok().map(|()| file)
}

impl Drop for PartialText {
    fn drop(&mut self) {
        if self.file.is_some() {
            let _ = disk::untouch(&self.path);
        }
    }
}
