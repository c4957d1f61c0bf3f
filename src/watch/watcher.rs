//! The state of one watcher.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::disk::file_events::Hints;
use crate::error::{Error, Result};
use crate::id::{RoundId, WorkflowId};
use crate::log;
use crate::mailbox::Mailbox;
use crate::mailbox::due::timers::Timer;
use crate::mailbox::who::presence;
use crate::news::courier::Courier;
use crate::run::attempt::record::Run;
use crate::watch::availability::{self, Identity};
use crate::watch::breaker::gate::Gate;
use crate::watch::launch::places::Places;
use crate::watch::launch::queue::Queue;
use crate::watch::look::awaited_files::AwaitedFiles;
use crate::watch::messages::{Options, WatchMessage};
use crate::watch::report::last_seen::LastSeen;
use crate::watch::report::metrics::Metrics;
use crate::watch::scope::{LOOK_FOR_SERVICE_EVERY, Scope};

/// The longest time between two looks at everything.
const LOOK_AROUND_EVERY: Duration = Duration::from_secs(60);
/// The pause after which an operation that failed is tried again.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(10);
/// The pause after which a lock that another process keeps is tried again.
const RETRY_HELD_AFTER: Duration = Duration::from_secs(1);

/// A question file that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownQuestion {
    /// The hash of its round.
    pub(super) round: u64,
    /// The hash of the file's inode, size and modification time.
    pub(super) stamp: u64,
}

/// The starts of one attempt's supervisor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Starts {
    pub(super) attempt: u32,
    pub(super) count: u32,
    pub(super) last: Instant,
}

/// A watcher on one mailbox.
pub struct Watcher<'a> {
    pub(super) mailbox: Mailbox,
    pub(super) config: Config,
    pub(super) scope: Scope,
    pub(super) identity: Identity,
    pub(super) messages: &'a Receiver<WatchMessage>,
    pub(super) sender: Sender<WatchMessage>,
    _hints: Option<Hints>,
    /// Only the service announces itself.
    _presence: Option<presence::Presence>,

    /// Answered workflows, in the order of their answers.
    pub(super) queue: Queue,
    /// Claimed attempts that are to be launched.
    pub(super) ready: VecDeque<Run>,
    /// Rounds whose run is live.
    pub(super) live: HashSet<RoundId>,
    /// How often a supervisor was started for an attempt that is still not under way, and when last.
    pub(super) starts: HashMap<RoundId, Starts>,
    /// Rounds for which a thread ends the processes of an earlier attempt.
    pub(super) recovering: HashSet<RoundId>,
    /// Answered workflows that wait for the end of another workflow's run.
    pub(super) waiting_for_run: Vec<(RoundId, WorkflowId)>,
    pub(super) gate: Gate,
    pub(super) places: Places,

    /// Expiries, reminders and retries, as far as their dates are known.
    pub(super) timers: BTreeSet<Timer>,
    /// The files that questions wait for.
    pub(super) awaited_files: AwaitedFiles,
    /// Workflows that changed: their parents may have to be told.
    pub(super) changed: BTreeSet<WorkflowId>,
    /// Paths to look at again, and when.
    pub(super) look_again_at: HashMap<PathBuf, Instant>,
    /// Names in `pending/` that the start-up sweep has not read yet.
    pub(super) sweep: Vec<OsString>,
    /// Questions that were read, by the hash of their file name. Each is noted once.
    pub(super) known: HashMap<u64, KnownQuestion>,
    /// There are no file events, so every look around reads every file.
    pub(super) poll: bool,
    pub(super) next_look_around: Instant,
    pub(super) look_around_every: Duration,

    pub(super) news: Courier,
    pub(super) last_seen: LastSeen,
    pub(super) metrics: Metrics,
    /// The service manager's status line.
    pub(super) status_line: String,
}

impl<'a> Watcher<'a> {
    /// Begins to watch an open mailbox. Every answer that comes after this returns is seen.
    pub fn new(
        mailbox: Mailbox,
        mut config: Config,
        options: &Options,
        messages: &'a Receiver<WatchMessage>,
        sender: Sender<WatchMessage>,
    ) -> Result<Self> {
        let mailbox = mailbox.for_a_service();
        let hints = if options.poll.is_none() { Some(watch_folders(&mailbox, sender.clone())?) } else { None };
        let scope = options.scope.clone();
        let presence = scope.is_service().then(|| presence::announce(&mailbox)).transpose()?;
        if !scope.is_service() {
            // The service tells people and other programs, nobody else does.
            config.metrics = crate::config::Metrics::default();
        }
        let usual = if scope.is_service() { LOOK_AROUND_EVERY } else { LOOK_FOR_SERVICE_EVERY };
        let look_around_every = options.poll.unwrap_or(usual);
        let gone = || Error::failed("the mailbox vanished", "start the watcher again");
        Ok(Self {
            identity: availability::identity(mailbox.root()).ok_or_else(gone)?,
            gate: Gate::new(&mailbox, &config),
            places: Places::default(),
            news: if scope.is_service() { Courier::new(&mailbox, &config) } else { Courier::default() },
            last_seen: LastSeen::of(&mailbox),
            metrics: Metrics::new(&config),
            mailbox,
            config,
            scope,
            messages,
            _hints: hints,
            _presence: presence,
            queue: Queue::default(),
            ready: VecDeque::new(),
            live: HashSet::new(),
            starts: HashMap::new(),
            recovering: HashSet::new(),
            waiting_for_run: Vec::new(),
            timers: BTreeSet::new(),
            awaited_files: AwaitedFiles::new(sender.clone()),
            changed: BTreeSet::new(),
            look_again_at: HashMap::new(),
            sweep: Vec::new(),
            known: HashMap::new(),
            poll: options.poll.is_some(),
            next_look_around: Instant::now() + look_around_every,
            look_around_every,
            status_line: String::new(),
            sender,
        })
    }

    /// Whether this watcher serves a workflow.
    pub(super) fn serves(&self, workflow: &WorkflowId) -> bool {
        self.scope.serves(&self.mailbox, workflow)
    }

    pub(super) fn look_later(&mut self, path: PathBuf, wait: Duration) {
        self.look_again_at.insert(path, Instant::now() + wait);
    }
}

/// Logs an error, and returns the pause after which to try again. A lock that another process keeps was logged when it was first met.
pub(super) fn pause_after(error: &Error) -> Duration {
    if error.is_held() {
        return RETRY_HELD_AFTER;
    }
    log::error(error);
    RETRY_AFTER
}

/// Sends a message for every file event in the mailbox that matters to a watcher.
fn watch_folders(mailbox: &Mailbox, sender: Sender<WatchMessage>) -> Result<Hints> {
    let root = mailbox.root().to_path_buf();
    let mut hints = Hints::new(move |hint| {
        if !availability::is_noise(&root, &hint) {
            let _ = sender.send(WatchMessage::Hint(hint));
        }
    })?;
    for folder in availability::WATCHED {
        hints.watch(&mailbox.folder(folder))?;
    }
    // Tells of the mailbox's own removal or renaming. Watching the folder above would also tell of everything else there.
    let _ = hints.watch(mailbox.root());
    Ok(hints)
}
