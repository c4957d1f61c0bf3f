//! A file in `pending/`, written by askbox or by another program: a question, an incomplete file, or an invalid one. Also posts that a
//! crash interrupted, and temporary files of killed programs.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use crate::dates::{Dates, pause_after};
use crate::news::courier::Courier;
use crate::report::last_seen::LastSeen;
use crate::scope::Served;
use askbox_mailbox::listing::closings;
use askbox_mailbox::overview::past_rounds;
use askbox_mailbox::transitions::intake::{self, Found};
use askbox_mailbox::transitions::settle;
use askbox_mailbox::{
    Due, Error, Folder, Mailbox, Question, QuestionDocument, RoundId, disk, lineage, list, recent_rounds, text, thread, time, timers,
};
use askbox_run::money::used;
use askbox_run::{archive, asking, log};

/// The number of questions that the start-up sweep reads between two looks at the channel.
const SWEEP_BATCH: usize = 32;

/// How often to look if the hook beside a dialog still waits. The question of a killed hook is withdrawn within a second.
const LOOK_FOR_HOOK_EVERY: Duration = Duration::from_millis(500);

/// A question file that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KnownQuestion {
    /// The hash of its round.
    round: u64,
    /// The hash of the file's inode, size and modification time.
    stamp: u64,
}

/// The questions in `pending/`, as far as a watcher has read them.
pub(crate) struct Questions {
    /// Names in `pending/` that the start-up sweep has not read yet.
    pub(crate) sweep: Vec<OsString>,
    /// Questions that were read, by the hash of their file name. Each question is noted once.
    known: HashMap<u64, KnownQuestion>,
    last_seen: LastSeen,
}

impl Questions {
    /// For a watcher that starts.
    pub(crate) fn new(mailbox: &Mailbox) -> Self {
        Self { sweep: Vec::new(), known: HashMap::new(), last_seen: LastSeen::of_mailbox(mailbox) }
    }

    /// Reads a file in `pending/`. With `note`, a new question is written to the log, and people are notified.
    pub(crate) fn read(&mut self, served: &Served, dates: &mut Dates, news: &Courier, name: &OsStr, note: bool) {
        if !name.as_encoded_bytes().ends_with(b".json") {
            return;
        }
        let path = served.mailbox.folder(Folder::Pending).join(name);
        // Taken before the file is read: a write after this changes the stamp, and the file is read again.
        let stamp = stamp(&path);
        match intake::take_in(&served.mailbox, name) {
            Ok(Found::Question(document, round)) => {
                note_expiry(served, dates, &document, &round);
                let known = KnownQuestion { round: hash(&round), stamp };
                let is_new = self.known.insert(hash(name), known).is_none_or(|k| k.round != known.round);
                if document.typed.live.is_some() {
                    end_dialog_without_hook(served, dates, &document.typed, &round, &path);
                }
                if is_new && note {
                    if document.typed.question_id.is_none()
                        && let Err(e) = intake::record_posted(&served.mailbox, &document.typed, &round)
                    {
                        log::error(&e);
                    }
                    let title = text::excerpt(&document.typed.title(), 80);
                    tracing::info!(event = "asked", workflow = %round.workflow, "{title}");
                    news.look(&round.workflow);
                    self.last_seen.has_read(&path);
                }
            }
            Ok(Found::Nothing) => {
                self.known.remove(&hash(name));
            }
            Ok(Found::InGrace(wait)) => dates.look_later(path, wait + Duration::from_millis(50)),
            // `quarantine` has logged it.
            Ok(Found::Quarantined) => {}
            Err(e) if e.is_held() => dates.look_later(path, pause_after(&e)),
            Err(e @ Error::Newer { .. }) => {
                let known = KnownQuestion { round: hash(e.to_string()), stamp };
                if self.known.insert(hash(name), known).is_none_or(|k| k.round != known.round) {
                    log::error(&e);
                }
            }
            Err(e) => log::error(&e),
        }
    }

    /// Reads the files whose names are not known. `names` are all names in `pending/`. With `thorough`, known files that have changed
    /// are read too.
    pub(crate) fn read_new(&mut self, served: &Served, dates: &mut Dates, news: &Courier, names: Vec<OsString>, thorough: bool) {
        let hashes: HashSet<u64> = names.iter().map(hash).collect();
        let folder = served.mailbox.folder(Folder::Pending);
        let is_new = |name: &OsString| self.known.get(&hash(name)).is_none_or(|known| thorough && known.stamp != stamp(&folder.join(name)));
        let new: Vec<OsString> = names.into_iter().filter(is_new).collect();
        self.known.retain(|n, _| hashes.contains(n));
        new.iter().for_each(|name| self.read(served, dates, news, name, true));
    }

    /// Reads the next questions of the start-up sweep.
    pub(crate) fn sweep_some(&mut self, served: &Served, dates: &mut Dates, news: &Courier) {
        for _ in 0..SWEEP_BATCH {
            let Some(name) = self.sweep.pop() else { return };
            let is_news = self.last_seen.is_news(&served.mailbox.folder(Folder::Pending).join(&name));
            self.read(served, dates, news, &name, is_news);
        }
        if self.sweep.is_empty() {
            self.sweep = Vec::new();
        }
    }

    /// True if the start-up sweep is over.
    pub(crate) fn are_swept(&self) -> bool {
        self.sweep.is_empty()
    }

    /// Records that every question was noted, once the sweep is over. During the sweep, older questions may still be unread.
    pub(crate) fn mark_noted(&mut self, served: &Served) {
        if served.scope.is_service() && self.are_swept() {
            self.last_seen.mark();
        }
    }
}

/// Takes a question's expiry from the question itself, if its timer file is there. A watcher of one tree needs this, because it does
/// not read the names in `timers/`: the dates of all workflows are there. A retry's date comes with its run, and reminders are the
/// service's task.
fn note_expiry(served: &Served, dates: &mut Dates, document: &QuestionDocument, round: &RoundId) {
    if served.scope.is_service() {
        return;
    }
    let question = &document.typed;
    for timer in timers::of_question(question, round, timers::asked(&served.mailbox, question), time::now()) {
        if timer.due == Due::Expire && disk::exists(served.mailbox.folder(Folder::Timers).join(timer.file_name())) {
            dates.add(timer);
        }
    }
}

/// Closes a question of a dialog whose hook was killed. No file changes if a hook dies, so the question is looked at again and again.
fn end_dialog_without_hook(served: &Served, dates: &mut Dates, question: &Question, round: &RoundId, path: &Path) {
    match asking::orphans::end_pending(&served.mailbox, question, round) {
        Ok(true) => {}
        Ok(false) => dates.look_later(path.to_path_buf(), LOOK_FOR_HOOK_EVERY),
        Err(e) => {
            log::error(&e);
            dates.look_later(path.to_path_buf(), pause_after(&e));
        }
    }
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The hash of a file's inode, size and modification time.
fn stamp(path: &Path) -> u64 {
    hash(disk::metadata(path).ok().map(|m| (m.ino(), m.len(), m.mtime(), m.mtime_nsec())))
}

/// Temporary files of killed writers are removed once they are this old.
const LEFT_OVER_AGE: Duration = Duration::from_secs(3600);

/// Completes one of these posts. `name` is a hidden name in `pending/`.
pub(crate) fn complete_post(served: &Served, dates: &mut Dates, name: &str) {
    match settle::roll_forward(&served.mailbox, name) {
        Err(e) if e.is_held() => dates.look_later(served.mailbox.folder(Folder::Pending).join(name), pause_after(&e)),
        Err(e) => log::error(&e),
        Ok(()) => {}
    }
}

/// Creates the names of the children in a mailbox that has none, makes missing lists of newest rounds, and removes temporary files of killed
/// writers. This happens in a thread of its own, because it reads every folder.
pub(crate) fn remove_left_over_files(mailbox: &Mailbox) {
    let mailbox = mailbox.clone();
    let sweeps = thread::start(move || {
        log::ok(lineage::make_names(&mailbox));
        make_lists(&mailbox);
        let depth = |folder| if folder == Folder::Runs { 3 } else { usize::from(folder == Folder::Awaits) };
        let mut removed = disk::sweep(mailbox.root(), 0, LEFT_OVER_AGE);
        removed.extend(disk::sweep(&archive::folder(&mailbox), 1, LEFT_OVER_AGE));
        for folder in Folder::all() {
            removed.extend(disk::sweep(&mailbox.folder(folder), depth(folder), LEFT_OVER_AGE));
        }
        for path in removed {
            tracing::info!(event = "swept", "{}: left by a program that died", path.display());
        }
    });
    // The next watcher then removes them.
    log::ok(sweeps);
}

/// Makes the [derived files](askbox_mailbox::derived) that are missing, so that no person waits for them: the lists of the newest rounds, and
/// what the past rounds of each long workflow cost.
fn make_lists(mailbox: &Mailbox) {
    let is_long = |closed| closed >= closings::MANY;
    if list::each_round(mailbox, Folder::Closed).is_ok_and(|names| is_long(names.take(closings::MANY).count())) {
        let _ = past_rounds::closed_last(mailbox, 1);
    }
    let folders = disk::entries(&mailbox.folder(Folder::Runs)).into_iter().flatten().flatten();
    for workflow in folders.filter_map(|entry| entry.name.to_str()?.parse().ok()) {
        if !recent_rounds::recent(mailbox, &workflow).are_all {
            let _ = used::cost(mailbox, &workflow);
        }
    }
}
