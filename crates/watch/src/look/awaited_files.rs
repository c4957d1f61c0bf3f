//! The files that questions wait for. They may lie anywhere, even on a filesystem that does not respond. So everything that touches
//! their paths happens in threads of their own, and such a file only delays its own question.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::messages::WatchMessage;
use askbox_mailbox::due::event::{self, SLOW};
use askbox_mailbox::{Due, Hint, Hints, Result, RoundId, Timer, Until, thread, time};
use askbox_run::log;

/// The most files that are looked at at the same time, without the looks that take longer than [`SLOW`].
const AT_ONCE: usize = 8;
/// The most threads, with those for the slow looks.
const MOST: usize = 128;

type Paths = Arc<Mutex<HashSet<PathBuf>>>;

/// A look that has not ended.
struct Look {
    /// `None` while it waits for its turn.
    since: Option<Instant>,
    /// True if something happened since the look began.
    again: bool,
    is_slow_logged: bool,
}

pub(super) struct AwaitedFiles {
    sender: Sender<WatchMessage>,
    of_round: HashMap<RoundId, PathBuf>,
    /// The same paths, for the thread of the file events.
    paths: Paths,
    /// File events of their folders. If it is `None`, each look at everything finds the files.
    hints: Option<Arc<Mutex<Hints>>>,
    looks: HashMap<(RoundId, Due), Look>,
    queue: VecDeque<Timer>,
}

impl AwaitedFiles {
    pub(super) fn new(sender: Sender<WatchMessage>) -> Self {
        Self { sender, of_round: HashMap::new(), paths: Paths::default(), hints: None, looks: HashMap::new(), queue: VecDeque::new() }
    }

    /// The file that the question of a round waits for.
    pub(super) fn file_of(&self, round: &RoundId) -> Option<&Path> {
        self.of_round.get(round).map(PathBuf::as_path)
    }

    /// The rounds that wait for this file.
    pub(super) fn rounds_of(&self, path: &Path) -> Vec<RoundId> {
        self.of_round.iter().filter(|(_, p)| *p == path).map(|(round, _)| round.clone()).collect()
    }

    /// Notes that a round waits for this file. `with_events` is true if the watcher does not poll.
    pub(super) fn add(&mut self, round: &RoundId, path: &Path, with_events: bool) {
        if self.file_of(round) == Some(path) {
            return;
        }
        self.forget(round);
        self.of_round.insert(round.clone(), path.to_path_buf());
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf());
        if with_events && self.hints.is_none() {
            self.hints = self.file_events().inspect_err(log::error).ok().map(|hints| Arc::new(Mutex::new(hints)));
        }
    }

    fn file_events(&self) -> Result<Hints> {
        let (paths, sender) = (self.paths.clone(), self.sender.clone());
        Hints::new(move |hint| {
            // A folder such as /tmp changes all the time, so only the awaited files wake the watcher.
            let is_awaited = match &hint {
                Hint::At(path) => paths.lock().unwrap_or_else(PoisonError::into_inner).contains(path),
                Hint::Anywhere => true,
            };
            if is_awaited {
                let _ = sender.send(WatchMessage::AwaitedFile(hint));
            }
        })
    }

    /// Notes that a round no longer waits.
    pub(super) fn forget(&mut self, round: &RoundId) {
        let Some(path) = self.of_round.remove(round) else { return };
        if self.of_round.is_empty() {
            self.hints = None;
        }
        if !self.of_round.values().any(|other| *other == path) {
            self.paths.lock().unwrap_or_else(PoisonError::into_inner).remove(&path);
        }
        let is_of_another = || self.of_round.values().any(|other| other.parent() == path.parent());
        // Another folder may hold up the thread that has the lock. Then the events of this folder go on, and have no effect.
        if let (Some(folder), Some(hints)) = (path.parent(), &self.hints)
            && !is_of_another()
            && let Ok(mut hints) = hints.try_lock()
        {
            hints.unwatch(folder);
        }
    }

    /// Forgets all other rounds.
    pub(super) fn keep_only(&mut self, rounds: &HashSet<&RoundId>) {
        let over: Vec<RoundId> = self.of_round.keys().filter(|round| !rounds.contains(round)).cloned().collect();
        over.iter().for_each(|round| self.forget(round));
    }

    /// Looks at the file of the timer's round. [`WatchMessage::Looked`] brings the result. Returns `false` if an earlier look for this
    /// timer has met a filesystem that does not respond.
    pub(super) fn look(&mut self, timer: &Timer) -> Result<bool> {
        let key = (timer.round.clone(), timer.due);
        if let Some(look) = self.looks.get_mut(&key) {
            look.again = look.since.is_some();
            let is_slow = look.since.is_some_and(|since| since.elapsed() >= SLOW);
            if is_slow && !std::mem::replace(&mut look.is_slow_logged, true) {
                let path = self.file_of(&timer.round).unwrap_or(Path::new("")).display().to_string();
                tracing::warn!("{}: the filesystem of {path} does not answer", timer.round.workflow);
            }
            return Ok(!is_slow);
        }
        self.enqueue(timer);
        self.start_waiting().map(|()| true)
    }

    fn enqueue(&mut self, timer: &Timer) {
        self.looks.insert((timer.round.clone(), timer.due), Look { since: None, again: false, is_slow_logged: false });
        self.queue.push_back(timer.clone());
    }

    /// Notes that a look has ended.
    pub(super) fn ended(&mut self, timer: &Timer) -> Result<()> {
        if self.looks.remove(&(timer.round.clone(), timer.due)).is_some_and(|look| look.again) {
            self.enqueue(timer);
        }
        self.start_waiting()
    }

    fn start_waiting(&mut self) -> Result<()> {
        let running = |looks: &HashMap<_, Look>| looks.values().filter(|l| l.since.is_some()).count();
        let quick = |looks: &HashMap<_, Look>| looks.values().filter(|l| l.since.is_some_and(|since| since.elapsed() < SLOW)).count();
        while quick(&self.looks) < AT_ONCE
            && running(&self.looks) < MOST
            && let Some(timer) = self.queue.pop_front()
        {
            let key = (timer.round.clone(), timer.due);
            let Some(path) = self.of_round.get(&timer.round).cloned() else {
                self.looks.remove(&key);
                continue;
            };
            let (hints, sender) = (self.hints.clone(), self.sender.clone());
            let started = thread::start(move || {
                // Watch first: the events then report everything that comes after the look.
                if let (Some(hints), Some(folder)) = (hints, path.parent())
                    && let Ok(mut hints) = hints.try_lock()
                {
                    // The folder may be missing, or may have been replaced by another one since the last look.
                    let _ = hints.watch(folder);
                }
                let there = event::has_come(&Until::File(path), time::now());
                let _ = sender.send(WatchMessage::Looked(Box::new(timer), there));
            });
            if let Err(e) = started {
                self.looks.remove(&key);
                return Err(e);
            }
            if let Some(look) = self.looks.get_mut(&key) {
                look.since = Some(Instant::now());
            }
        }
        Ok(())
    }
}
