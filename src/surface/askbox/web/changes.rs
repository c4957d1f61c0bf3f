//! What changed in the mailbox, told to the pages that are open. A page is told the ids alone, and asks for itself again: events are hints.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc as to_page;

use crate::disk::file_events::{Hint, Hints};
use crate::error::Result;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::listing::list;
use crate::mailbox::{Folder, Mailbox};
use crate::run::attempt::record;
use crate::surface::askbox::web::gate::{Devices, Secret};
use crate::surface::askbox::web::index::Index;
use crate::thread;

/// How long changes are gathered before pages are told.
const GATHERED: Duration = Duration::from_millis(150);
/// After this time pages are told of all of them, and it is looked whether their devices are signed in, for file systems without events.
const AT_LEAST_EVERY: Duration = Duration::from_secs(15);
/// The most pages that are told, and the most changes that wait for one of them.
const MAX_PAGES: usize = 64;
const MAX_WAITING: usize = 16;
/// The most workflows of which pages are told by name.
const MAX_NAMED: usize = 50;
/// The most runs whose events are followed.
const MAX_RUNS: usize = 64;

const FOLDERS: [Folder; 5] = [Folder::Pending, Folder::Answered, Folder::Running, Folder::Parked, Folder::Closed];

/// What a page is told: the workflows, by spaces; `*` for any.
pub type Change = String;

/// The pages that are told.
#[derive(Debug, Clone, Default)]
pub struct Changes(Arc<Mutex<Vec<Page>>>);

#[derive(Debug)]
struct Page {
    to: to_page::Sender<Change>,
    cookie: Secret,
}

impl Changes {
    /// Follows the mailbox, from a thread of its own.
    ///
    /// # Errors
    /// If the system refuses the thread.
    pub fn follow(mailbox: Mailbox, devices: Devices, index: Arc<Index>) -> Result<Self> {
        let pages = Self::default();
        let told = pages.clone();
        let (sender, hints) = mpsc::sync_channel(256);
        thread::start(move || Follower { mailbox, devices, index, pages: told, runs: BTreeSet::new() }.follow(&sender, &hints))?;
        Ok(pages)
    }

    /// A page that is told from now on; `None` if too many are.
    #[must_use]
    pub fn page(&self, cookie: Secret) -> Option<to_page::Receiver<Change>> {
        let mut pages = self.pages();
        pages.retain(|page| !page.to.is_closed());
        if pages.len() >= MAX_PAGES {
            return None;
        }
        let (to, told) = to_page::channel(MAX_WAITING);
        pages.push(Page { to, cookie });
        Some(told)
    }

    /// Tells every page that anything may have changed.
    pub fn tell_all(&self) {
        self.tell(&"*".to_owned());
    }

    fn tell(&self, change: &Change) {
        self.pages().retain(|page| match page.to.try_send(change.clone()) {
            Ok(()) => true,
            // A page that does not listen begins anew: then it asks for everything.
            Err(_) => false,
        });
    }

    /// Ends the streams of devices that were signed out.
    fn end_those_signed_out(&self, devices: &Devices) {
        self.pages().retain(|page| matches!(devices.of_cookie(&page.cookie), Ok(Some(_))));
    }

    fn pages(&self) -> std::sync::MutexGuard<'_, Vec<Page>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Follower {
    mailbox: Mailbox,
    devices: Devices,
    index: Arc<Index>,
    pages: Changes,
    /// The folders of the runs whose events are followed.
    runs: BTreeSet<PathBuf>,
}

impl Follower {
    fn follow(&mut self, sender: &SyncSender<Hint>, hints: &Receiver<Hint>) {
        let sender = sender.clone();
        let (index, pending, lost) = (Arc::clone(&self.index), self.mailbox.folder(Folder::Pending), sender.clone());
        let source = Hints::new(move |hint| {
            match &hint {
                Hint::Anywhere => index.outdate(),
                Hint::At(path) if path.parent() == Some(&pending) => match path.file_name().and_then(|name| name.to_str()) {
                    Some(name) => WorkflowId::from_file_name(name).iter().for_each(|workflow| index.outdate_one(workflow)),
                    None => index.outdate(),
                },
                // The folder itself, or another one.
                Hint::At(path) if *path == pending => index.outdate(),
                Hint::At(_) => {}
            }
            if sender.try_send(hint).is_err() {
                // The receiver is behind: it will be told of everything.
                let _ = lost.try_send(Hint::Anywhere);
            }
        });
        let mut source = source.ok();
        if let Some(source) = &mut source {
            // Without events of a folder, its changes are seen after `AT_LEAST_EVERY`.
            FOLDERS.iter().for_each(|folder| drop(source.watch(&self.mailbox.folder(*folder))));
            // A device that is signed out hears nothing more.
            let _ = self.devices.folder().and_then(|folder| source.watch(folder));
        }
        let mut checked = Instant::now();
        loop {
            if let Some(source) = &mut source {
                self.follow_runs(source);
            }
            let change = match hints.recv_timeout(AT_LEAST_EVERY) {
                Ok(hint) => self.gather(hint, hints),
                Err(RecvTimeoutError::Timeout) => "*".to_owned(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if checked.elapsed() >= AT_LEAST_EVERY {
                self.index.outdate();
                // Looked at here, so that no page has to wait for it. What fails here fails there again, and is told there.
                let _ = self.index.rows(&self.mailbox);
                self.pages.end_those_signed_out(&self.devices);
                checked = Instant::now();
            }
            if !change.is_empty() {
                self.pages.tell(&change);
            }
        }
    }

    /// The workflows of this hint, and of those that come shortly after.
    fn gather(&self, first: Hint, hints: &Receiver<Hint>) -> Change {
        let (mut workflows, mut anywhere, end) = (BTreeSet::new(), false, Instant::now() + GATHERED);
        let mut next = Some(first);
        while let Some(hint) = next {
            match hint {
                Hint::Anywhere => anywhere = true,
                Hint::At(path) if self.devices.is_at(&path) => self.pages.end_those_signed_out(&self.devices),
                Hint::At(path) => workflows.extend(self.workflow(&path)),
            }
            next = hints.recv_timeout(end.saturating_duration_since(Instant::now())).ok();
        }
        if anywhere || workflows.len() > MAX_NAMED {
            return "*".to_owned();
        }
        workflows.iter().map(WorkflowId::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Whose file this is. Temporary files are nobody's.
    fn workflow(&self, path: &Path) -> Option<WorkflowId> {
        let name = path.file_name()?.to_str()?;
        let runs = self.mailbox.folder(Folder::Runs);
        if let Ok(below) = path.strip_prefix(&runs) {
            return below.iter().next()?.to_str()?.parse().ok();
        }
        RoundId::from_file_name(name).map(|round| round.workflow).or_else(|| WorkflowId::from_file_name(name))
    }

    /// Follows the events of the runs that are at work, and no others.
    fn follow_runs(&mut self, source: &mut Hints) {
        let newest = |round: &RoundId| record::attempts(&self.mailbox, round).ok().and_then(|all| all.into_iter().max());
        let running = list::round_names(&self.mailbox, Folder::Running).take(MAX_RUNS);
        let folders: BTreeSet<PathBuf> = running.filter_map(|round| Some(record::folder(&self.mailbox, &round, newest(&round)?))).collect();
        self.runs.difference(&folders).for_each(|over| source.unwatch(over));
        self.runs.retain(|folder| folders.contains(folder));
        for new in folders {
            if !self.runs.contains(&new) && source.watch(&new).is_ok() {
                self.runs.insert(new);
            }
        }
    }
}
