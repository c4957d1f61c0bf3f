//! What the watcher does about one path, depending on the folder that it lies in.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::disk;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::Folder;
use crate::mailbox::due::timers::{Due, Timer};
use crate::watch::watcher::Watcher;

impl Watcher<'_> {
    /// Looks at one path of the mailbox.
    pub(in crate::watch) fn look_at(&mut self, path: &Path) {
        let Some(whole_name) = path.file_name().filter(|n| !n.as_encoded_bytes().starts_with(b".")) else { return };
        let name = whole_name.to_str().unwrap_or_default();
        let folder = Folder::ALL.into_iter().find(|f| path.parent() == Some(&self.mailbox.folder(*f)));
        if !self.scope.is_service() && !folder.and_then(|folder| workflow_of(folder, name)).is_some_and(|w| self.serves(&w)) {
            return;
        }
        if let Some(workflow) = folder.and_then(|folder| workflow_of(folder, name)) {
            self.news.look(&workflow);
        }
        match folder {
            Some(Folder::Pending) => {
                self.changed.extend(WorkflowId::from_file_name(name));
                self.read_question(whole_name, true);
            }
            Some(Folder::Answered) => {
                if let Some(workflow) = WorkflowId::from_file_name(name) {
                    self.enqueue(&workflow);
                }
            }
            Some(Folder::Running) => {
                if let Some(round) = RoundId::from_file_name(name).filter(|r| !self.live.contains(r)) {
                    self.recover(&round);
                    self.changed.insert(round.workflow);
                }
            }
            // The round may have been dropped: its parent is told.
            Some(Folder::Parked) => self.changed.extend(RoundId::from_file_name(name).map(|r| r.workflow)),
            // The parent's last await may be gone.
            Some(Folder::Awaits) => self.changed.extend(name.parse().ok()),
            Some(Folder::Timers) => {
                if let Some(timer) = Timer::from_file_name(name).filter(|_| disk::exists(path)) {
                    self.timers.insert(timer);
                }
            }
            _ => {}
        }
    }

    /// Looks at the paths whose time for another look has come.
    pub(in crate::watch) fn look_again(&mut self) {
        let now = Instant::now();
        let due: Vec<PathBuf> = self.look_again_at.iter().filter(|(_, at)| **at <= now).map(|(p, _)| p.clone()).collect();
        for path in &due {
            self.look_again_at.remove(path);
            match path.file_name().and_then(OsStr::to_str).filter(|name| name.starts_with('.')) {
                Some(hidden) => self.complete_interrupted_post(hidden),
                None => self.look_at(path),
            }
        }
    }
}

/// The workflow that a name in a folder belongs to, if a watcher of one tree needs the name.
fn workflow_of(folder: Folder, name: &str) -> Option<WorkflowId> {
    match folder {
        Folder::Pending | Folder::Answered => WorkflowId::from_file_name(name),
        Folder::Running | Folder::Parked => RoundId::from_file_name(name).map(|round| round.workflow),
        Folder::Awaits => name.parse().ok(),
        Folder::Timers => Timer::from_file_name(name).filter(|timer| timer.due != Due::Remind).map(|timer| timer.round.workflow),
        _ => None,
    }
}
