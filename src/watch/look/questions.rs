//! A file in `pending/`, written by askbox or by another program: a question, an incomplete file, or an invalid one.

use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use crate::disk;
use crate::error::Error;
use crate::mailbox::Folder;
use crate::mailbox::transitions::intake::{self, Found};
use crate::watch::watcher::{KnownQuestion, Watcher, pause_after};
use crate::{log, text};

impl Watcher<'_> {
    /// Reads a file in `pending/`. With `note`, a new question is noted in the log, and people are told of it.
    pub(in crate::watch) fn read_question(&mut self, name: &OsStr, note: bool) {
        if !name.as_encoded_bytes().ends_with(b".json") {
            return;
        }
        let path = self.mailbox.folder(Folder::Pending).join(name);
        // Taken before the file is read: a write in between changes the stamp, and the file is read again.
        let stamp = stamp(&path);
        match intake::take_in(&self.mailbox, name) {
            Ok(Found::Question(document, round)) => {
                self.note_expiry(&document, &round);
                let known = KnownQuestion { round: hash(&round), stamp };
                let is_new = self.known.insert(hash(name), known).is_none_or(|k| k.round != known.round);
                if is_new && note {
                    if document.typed.question_id.is_none()
                        && let Err(e) = intake::record_posted(&self.mailbox, &document.typed, &round)
                    {
                        log::error(&e);
                    }
                    let title = text::excerpt(&document.typed.title(), 80);
                    tracing::info!(event = "asked", workflow = %round.workflow, "{title}");
                    self.news.look(&round.workflow);
                    self.last_seen.has_read(&path);
                }
            }
            Ok(Found::Nothing) => {
                self.known.remove(&hash(name));
            }
            Ok(Found::InGrace(wait)) => self.look_later(path, wait + Duration::from_millis(50)),
            // `quarantine` has logged it.
            Ok(Found::Quarantined) => {}
            Err(e) if e.is_held() => self.look_later(path, pause_after(&e)),
            Err(e @ Error::Newer { .. }) => {
                let known = KnownQuestion { round: hash(e.to_string()), stamp };
                if self.known.insert(hash(name), known).is_none_or(|k| k.round != known.round) {
                    log::error(&e);
                }
            }
            Err(e) => log::error(&e),
        }
    }

    /// Writes down that every question was noted, if that is so: during the sweep, older questions may still be unread.
    pub(in crate::watch) fn mark_noted(&mut self) {
        if self.scope.is_service() && self.sweep.is_empty() {
            self.last_seen.mark();
        }
    }
}

pub(super) fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The hash of a file's inode, size and modification time.
pub(super) fn stamp(path: &Path) -> u64 {
    hash(disk::metadata(path).ok().map(|m| (m.ino(), m.len(), m.mtime(), m.mtime_nsec())))
}
