//! A look at one path. The folder of the path decides what the watcher does.

use std::ffi::OsStr;
use std::path::Path;

use crate::disk;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::Folder;
use crate::mailbox::due::timers::{Due, Timer};
use crate::watch::look::leftovers;
use crate::watch::watcher::Watcher;

impl Watcher<'_> {
    /// Looks at one path of the mailbox.
    pub(super) fn look_at(&mut self, path: &Path) {
        let Some(whole_name) = path.file_name().filter(|n| !n.as_encoded_bytes().starts_with(b".")) else { return };
        let name = whole_name.to_str().unwrap_or_default();
        let folder = Folder::ALL.into_iter().find(|f| path.parent() == Some(&self.served.mailbox.folder(*f)));
        if !self.served.by_service() && !folder.and_then(|folder| workflow_of(folder, name)).is_some_and(|w| self.served.serves(&w)) {
            return;
        }
        if let Some(workflow) = folder.and_then(|folder| workflow_of(folder, name)) {
            self.news.look(&workflow);
        }
        match folder {
            Some(Folder::Pending) => {
                WorkflowId::from_file_name(name).into_iter().for_each(|workflow| self.parents.note_changed(workflow));
                self.questions.read(&self.served, &mut self.dates, &self.news, whole_name, true);
            }
            Some(Folder::Answered) => {
                if let Some(workflow) = WorkflowId::from_file_name(name) {
                    self.launches.enqueue(&self.served, &workflow);
                }
            }
            Some(Folder::Running) => {
                if let Some(round) = RoundId::from_file_name(name).filter(|r| !self.launches.is_live(r)) {
                    self.launches.recover(&self.served, &mut self.dates, &round);
                    self.parents.note_changed(round.workflow);
                }
            }
            // The round may have been dropped: its parent is told.
            Some(Folder::Parked) => {
                RoundId::from_file_name(name).into_iter().for_each(|round| self.parents.note_changed(round.workflow));
            }
            // The parent's last await may be gone.
            Some(Folder::Awaits) => name.parse().into_iter().for_each(|parent| self.parents.note_changed(parent)),
            Some(Folder::Timers) => {
                if let Some(timer) = Timer::from_file_name(name).filter(|_| disk::exists(path)) {
                    self.dates.add(timer);
                }
            }
            _ => {}
        }
    }

    /// Looks at the paths whose time for another look has come.
    pub(super) fn look_again(&mut self) {
        for path in &self.dates.due_paths() {
            self.dates.forget_path(path);
            match path.file_name().and_then(OsStr::to_str).filter(|name| name.starts_with('.')) {
                Some(hidden) => leftovers::complete(&self.served, &mut self.dates, hidden),
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
