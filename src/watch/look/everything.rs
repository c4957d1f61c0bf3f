//! A look at every folder. It finds everything that file events would have told.

use std::collections::HashSet;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::mailbox::Folder;
use crate::mailbox::due::timers::{Due, Timer};
use crate::mailbox::family::lineage;
use crate::mailbox::listing::list;
use crate::mailbox::transitions::retire;
use crate::watch::look::questions::{hash, stamp};
use crate::watch::scope::Scope;
use crate::watch::watcher::{Watcher, pause_after};
use crate::{disk, log, thread};

/// Temporary files of killed writers are removed once they are this old.
const LEFT_OVER_AGE: Duration = Duration::from_secs(3600);
/// The number of questions that the start-up sweep reads between two looks at the channel.
const SWEEP_BATCH: usize = 32;

impl Watcher<'_> {
    /// Completes the posts in `pending/` that a crash interrupted.
    pub(in crate::watch) fn complete_interrupted_posts(&mut self) {
        for name in list::hidden_names(&self.mailbox, Folder::Pending).unwrap_or_default() {
            self.complete_interrupted_post(&name);
        }
    }

    /// Completes one of them; `name` is a hidden name in `pending/`.
    pub(in crate::watch) fn complete_interrupted_post(&mut self, name: &str) {
        match retire::roll_forward(&self.mailbox, name) {
            Err(e) if e.is_held() => self.look_later(self.mailbox.folder(Folder::Pending).join(name), pause_after(&e)),
            Err(e) => log::error(&e),
            Ok(()) => {}
        }
    }

    /// Makes the names of the children in a mailbox from before them, and removes temporary files of killed writers, in a thread of its
    /// own: this reads every folder.
    pub(in crate::watch) fn remove_left_over_files(&self) {
        let mailbox = self.mailbox.clone();
        let sweeps = thread::start(move || {
            if let Err(e) = lineage::make_names(&mailbox) {
                log::error(&e);
            }
            let depth = |folder| if folder == Folder::Runs { 3 } else { usize::from(folder == Folder::Awaits) };
            let mut removed = disk::sweep(mailbox.root(), 0, LEFT_OVER_AGE);
            for folder in Folder::ALL {
                removed.extend(disk::sweep(&mailbox.folder(folder), depth(folder), LEFT_OVER_AGE));
            }
            for path in removed {
                tracing::info!(event = "swept", "{}: left by a program that died", path.display());
            }
        });
        // The next watcher removes them then.
        if let Err(e) = sweeps {
            log::error(&e);
        }
    }

    /// Looks at every folder. `first`: the questions in `pending/` are read later, by [`Self::sweep_some`]. `thorough`: files whose
    /// names are known are checked for changes too. Whatever cannot be read is looked at again the next time.
    pub(in crate::watch) fn look_at_everything(&mut self, first: bool, thorough: bool) {
        self.next_look_around = Instant::now() + self.look_around_every;
        let looked = match self.scope.clone() {
            Scope::Mailbox => self.look_at_folders(first, thorough),
            Scope::Tree(root) => self.look_at_tree(&root),
        };
        if let Err(e) = looked {
            log::error(&e);
        }
    }

    fn look_at_folders(&mut self, first: bool, thorough: bool) -> Result<()> {
        // Timers come first: the steps below add to them.
        self.timers = list::names(&self.mailbox, Folder::Timers)?.iter().filter_map(|n| Timer::from_file_name(n)).collect();
        self.awaited_files.keep_only(&self.timers.iter().filter(|t| t.due == Due::Until).map(|t| &t.round).collect());
        for round in list::round_names(&self.mailbox, Folder::Running) {
            if !self.live.contains(&round) {
                self.recover(&round);
            }
        }
        self.gate.end_dead_probe();
        for workflow in list::workflows(&self.mailbox, Folder::Answered)? {
            self.enqueue(&workflow);
        }
        self.wake_all_parents()?;
        let pending = list::all_names(&self.mailbox, Folder::Pending)?;
        if first {
            self.sweep = pending;
        } else {
            let names: HashSet<u64> = pending.iter().map(hash).collect();
            let folder = self.mailbox.folder(Folder::Pending);
            let is_new = |name: &OsString| match self.known.get(&hash(name)) {
                Some(known) => thorough && known.stamp != stamp(&folder.join(name)),
                None => true,
            };
            let new: Vec<OsString> = pending.into_iter().filter(is_new).collect();
            self.known.retain(|n, _| names.contains(n));
            new.iter().for_each(|name| self.read_question(name, true));
        }
        Ok(())
    }

    /// Reads the next questions of the start-up sweep.
    pub(in crate::watch) fn sweep_some(&mut self) {
        for _ in 0..SWEEP_BATCH {
            let Some(name) = self.sweep.pop() else { return };
            let is_news = self.last_seen.is_news(&self.mailbox.folder(Folder::Pending).join(&name));
            self.read_question(&name, is_news);
        }
        if self.sweep.is_empty() {
            self.sweep = Vec::new();
        }
    }
}
