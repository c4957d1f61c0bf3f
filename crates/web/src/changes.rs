//! Tells open pages about changes of the mailbox. A page is told only ids, and then requests its content again, because
//! events are hints.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::mpsc as to_page;

use crate::gate::{Devices, Secret};
use crate::index::Index;
use crate::looked_at::{LookedAt, watch_only};
use askbox_mailbox::{Folder, Hint, Hints, Mailbox, Result, RoundId, WorkflowId, list, thread};
use askbox_run::record;

/// The time during which changes are gathered before pages are told.
const GATHERED: Duration = Duration::from_millis(150);
/// After this time, pages are told that anything may have changed, and the sessions of their devices are checked. This is for file systems
/// without events.
const AT_LEAST_EVERY: Duration = Duration::from_secs(15);
/// The maximum number of pages that are told, and of changes that wait for one of them.
const MAX_PAGES: usize = 64;
const MAX_WAITING: usize = 16;
/// The maximum number of workflows that pages are told by name.
const MAX_NAMED: usize = 50;
/// The maximum number of runs whose events are followed.
const MAX_RUNS: usize = 64;

const FOLDERS: [Folder; 5] = [Folder::Pending, Folder::Answered, Folder::Running, Folder::Parked, Folder::Closed];

/// The files in the mailbox that say whether agents are launched.
const QUEUE_FILES: [&str; 2] = ["pause.json", "breaker.json"];

/// A message for a page: the names of workflows, separated by spaces, or `*` for any.
pub type Change = String;

/// The open pages that are told about changes.
#[derive(Debug, Clone)]
pub struct Changes {
    pages: Arc<Mutex<Vec<Page>>>,
    /// The sessions whose pages somebody has open.
    sessions: LookedAt,
    /// Wakes the thread that follows the mailbox.
    wake: SyncSender<Hint>,
}

#[derive(Debug)]
struct Page {
    to: to_page::Sender<Change>,
    cookie: Secret,
}

impl Changes {
    /// Follows the mailbox in a separate thread.
    ///
    /// # Errors
    /// If the system refuses the thread.
    pub fn follow(mailbox: Mailbox, devices: Devices, index: Arc<Index>) -> Result<Self> {
        let (sender, hints) = mpsc::sync_channel(256);
        let pages = Self { pages: Arc::default(), sessions: LookedAt::default(), wake: sender.clone() };
        let told = pages.clone();
        let mut follower = Follower { mailbox, devices, index, pages: told, runs: BTreeSet::new(), sessions: BTreeSet::new() };
        thread::start(move || follower.follow(&sender, &hints))?;
        Ok(pages)
    }

    /// Adds a page that gets all changes from now on. Returns `None` if there are too many pages.
    pub fn page(&self, cookie: Secret) -> Option<to_page::Receiver<Change>> {
        let mut pages = thread::locked(&self.pages);
        pages.retain(|page| !page.to.is_closed());
        if pages.len() >= MAX_PAGES {
            return None;
        }
        let (to, told) = to_page::channel(MAX_WAITING);
        pages.push(Page { to, cookie });
        Some(told)
    }

    /// Follows the folder of all sessions, or the transcript of one, as long as somebody looks. Its pages hear `word`.
    pub fn look_at(&self, path: PathBuf, word: &str) {
        if self.sessions.look(path, word) {
            // The thread wakes. No change lies at this path.
            let _ = self.wake.try_send(Hint::At(PathBuf::new()));
        }
    }

    /// Tells every page.
    pub fn tell(&self, change: &str) {
        // A page that does not keep up is dropped. It connects again, and then requests everything.
        thread::locked(&self.pages).retain(|page| page.to.try_send(change.to_owned()).is_ok());
    }

    /// Ends the streams of devices that have been signed out.
    fn end_those_signed_out(&self, devices: &Devices) {
        thread::locked(&self.pages).retain(|page| matches!(devices.of_cookie(&page.cookie), Ok(Some(_))));
    }
}

/// True for the files that say whether agents are launched.
fn is_of_the_queue(path: &Path) -> bool {
    path.file_name().is_some_and(|name| QUEUE_FILES.iter().any(|file| name == *file))
}

struct Follower {
    mailbox: Mailbox,
    devices: Devices,
    index: Arc<Index>,
    pages: Changes,
    /// The folders of the runs whose events are followed.
    runs: BTreeSet<PathBuf>,
    /// The files of sessions that are watched.
    sessions: BTreeSet<PathBuf>,
}

impl Follower {
    fn follow(&mut self, sender: &SyncSender<Hint>, hints: &Receiver<Hint>) {
        let sender = sender.clone();
        let (index, pending, lost) = (Arc::clone(&self.index), self.mailbox.folder(Folder::Pending), sender.clone());
        let root = self.mailbox.root().to_owned();
        let source = Hints::new(move |hint| {
            match &hint {
                Hint::Anywhere => index.outdate(),
                Hint::At(path) if path.starts_with(&pending) => index.outdate(),
                // Of the files beside the folders, some grow with each event.
                Hint::At(path) if path.parent() == Some(&root) && !is_of_the_queue(path) => return,
                Hint::At(_) => {}
            }
            if sender.try_send(hint).is_err() {
                // The receiver has fallen behind, so it is told that anything may have changed.
                let _ = lost.try_send(Hint::Anywhere);
            }
        });
        let mut source = source.ok();
        if let Some(source) = &mut source {
            // If a folder gives no events, its changes are seen after `AT_LEAST_EVERY`.
            FOLDERS.iter().for_each(|folder| drop(source.watch(&self.mailbox.folder(*folder))));
            // Watched for the files that pause the queue.
            let _ = source.watch(self.mailbox.root());
            // Watched so that a device that is signed out gets no more news.
            let _ = self.devices.folder().and_then(|folder| source.watch(folder));
        }
        let mut checked = Instant::now();
        loop {
            if let Some(source) = &mut source {
                self.follow_runs(source);
                self.pages.sessions.follow(source, &mut self.sessions).iter().for_each(|word| self.pages.tell(word));
            }
            let change = match hints.recv_timeout(AT_LEAST_EVERY) {
                Ok(hint) => self.gather(hint, hints),
                Err(RecvTimeoutError::Timeout) => "*".to_owned(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if checked.elapsed() >= AT_LEAST_EVERY {
                self.index.outdate();
                // The index is read here, so that no page has to wait for it. If reading fails, it fails again for the page, which then
                // shows the error.
                let _ = self.index.rows(&self.mailbox);
                self.pages.end_those_signed_out(&self.devices);
                checked = Instant::now();
            }
            if !change.is_empty() {
                self.pages.tell(&change);
            }
        }
    }

    /// The workflows of this hint and of the hints that follow shortly after.
    fn gather(&self, first: Hint, hints: &Receiver<Hint>) -> Change {
        let (mut words, mut anywhere, end) = (BTreeSet::new(), false, Instant::now() + GATHERED);
        let mut next = Some(first);
        while let Some(hint) = next {
            match hint {
                Hint::Anywhere => anywhere = true,
                Hint::At(path) if path.parent() == Some(self.mailbox.root()) && is_of_the_queue(&path) => anywhere = true,
                Hint::At(path) if self.devices.path() == path => self.pages.end_those_signed_out(&self.devices),
                Hint::At(path) => match self.pages.sessions.words(&path) {
                    of_sessions if !of_sessions.is_empty() => words.extend(of_sessions),
                    _ => words.extend(self.workflow(&path).map(|id| id.to_string())),
                },
            }
            next = hints.recv_timeout(end.saturating_duration_since(Instant::now())).ok();
        }
        if anywhere || words.len() > MAX_NAMED { "*".to_owned() } else { words.into_iter().collect::<Vec<_>>().join(" ") }
    }

    /// The workflow of a file. Temporary files have none.
    fn workflow(&self, path: &Path) -> Option<WorkflowId> {
        let name = path.file_name()?.to_str()?;
        let runs = self.mailbox.folder(Folder::Runs);
        if let Ok(below) = path.strip_prefix(&runs) {
            return below.iter().next()?.to_str()?.parse().ok();
        }
        RoundId::from_file_name(name).map(|round| round.workflow).or_else(|| WorkflowId::from_file_name(name))
    }

    /// Follows the events of exactly the runs that are at work.
    fn follow_runs(&mut self, source: &mut Hints) {
        let newest = |round: &RoundId| record::attempts(&self.mailbox, round).ok().and_then(|all| all.into_iter().max());
        let running = list::round_names(&self.mailbox, Folder::Running).take(MAX_RUNS);
        let folders: BTreeSet<PathBuf> = running.filter_map(|round| Some(record::folder(&self.mailbox, &round, newest(&round)?))).collect();
        watch_only(source, &mut self.runs, folders);
    }
}
