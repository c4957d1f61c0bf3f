//! The service: hints in, runs out. The folder is the truth; a hint only says where to look first, and every minute it looks
//! everywhere by itself. It keeps nothing that a restart could lose: runs go on without it, and the next watcher finds their
//! locks held. Many watchers on one mailbox are safe: the claim is one rename, the run is one lock.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::disk::hints::{Hint, Hints};
use crate::error::{Error, Result};
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::intake::{self, Taken};
use crate::mailbox::presence;
use crate::mailbox::timers::Timer;
use crate::mailbox::{Folder, Mailbox, list};
use crate::run::claim::record::{Claimant, Run};
use crate::run::claim::recovery::Recovered;
use crate::run::claim::{self, ClaimAttempt, Refusal};
use crate::{disk, time};

pub mod breaker;
mod chains;
mod dates;
pub mod gate;
mod metrics;
mod queue;
mod recover;
pub mod shared;
mod spawn;
pub mod summary;
mod told;
mod wait;

use told::Told;
pub use wait::wait_for_mailbox;

/// The longest time between two looks at everything.
const LOOK_AROUND: Duration = Duration::from_secs(60);
/// When to look again at what somebody waits for inline.
const INLINE_LOOK: Duration = Duration::from_secs(1);
/// How old a killed writer's file must be to be removed.
const LEFT_OVER: Duration = Duration::from_secs(3600);
/// Files of the start-up sweep that are read between two looks at the channel.
const SWEEP: usize = 32;

/// How to watch.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Look every so often instead of waiting for events.
    pub poll: Option<Duration>,
}

/// What wakes the watcher.
#[derive(Debug)]
pub enum Input {
    /// Something may have changed.
    Hint(Hint),
    /// The run of a round is not live any more.
    Ended(RoundId),
    /// What is to be done for a round whose orphans had to be waited for.
    Recovered(RoundId, Box<Result<Recovered>>),
    /// Stop watching; runs go on.
    Stop,
}

/// Why [`Watch::run`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// It was told to stop.
    Stopped,
    /// The mailbox was moved, removed or unmounted.
    MailboxGone,
}

/// What is remembered of a file that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    /// The hash of its round.
    round: u64,
    /// The hash of its inode, size and time.
    stamp: u64,
}

/// A watcher on one mailbox.
pub struct Watch<'a> {
    mailbox: Mailbox,
    config: Config,
    identity: wait::Identity,
    inputs: &'a Receiver<Input>,
    sender: Sender<Input>,
    gate: gate::Gate,
    metrics: metrics::Metrics,
    /// What the service manager was told.
    status: String,
    _hints: Option<Hints>,
    _presence: presence::Presence,
    /// Answered workflows in the order of their answers.
    queue: queue::Queue,
    /// Attempts to launch, recovered or due again.
    ready: VecDeque<Run>,
    live: HashSet<RoundId>,
    /// Rounds whose orphans are being ended.
    recovering: HashSet<RoundId>,
    timers: std::collections::BTreeSet<Timer>,
    /// Answered workflows that wait for the end of another workflow's run.
    behind: Vec<(RoundId, WorkflowId)>,
    /// Workflows that something happened to: somebody may wait for them.
    chains: std::collections::BTreeSet<WorkflowId>,
    /// When to look again at a path.
    looks: HashMap<PathBuf, Instant>,
    /// What of `pending/` the start-up sweep has not read yet.
    sweep: Vec<String>,
    told: Told,
    /// Questions that were read, by the hash of their name: nobody is told of a question twice.
    known: HashMap<u64, Known>,
    /// No event tells of a change: every file is to be looked at.
    poll: bool,
    next_look_around: Instant,
    every: Duration,
}

impl<'a> Watch<'a> {
    /// Begins to watch an open mailbox. After this returns, no answer is missed.
    pub fn new(mailbox: Mailbox, config: Config, options: &Options, inputs: &'a Receiver<Input>, sender: Sender<Input>) -> Result<Self> {
        let to = sender.clone();
        let root = mailbox.root().to_path_buf();
        let from_events = || -> Result<Hints> {
            let mut hints = Hints::new(move |hint| {
                if !wait::is_noise(&root, &hint) {
                    let _ = to.send(Input::Hint(hint));
                }
            })?;
            for folder in wait::WATCHED {
                hints.watch(&mailbox.folder(folder))?;
            }
            // Its own removal or renaming. The folder above would tell of that too, and of everything else that happens there.
            let _ = hints.watch(mailbox.root());
            Ok(hints)
        };
        // Without events, a thorough look every so often sees the same.
        let hints = if options.poll.is_none() { Some(from_events()?) } else { None };
        let presence = presence::announce(&mailbox)?;
        let every = options.poll.unwrap_or(LOOK_AROUND);
        Ok(Self {
            identity: wait::identity(mailbox.root()).ok_or_else(|| Error::failed("the mailbox vanished", "start the watcher again"))?,
            told: Told::of(&mailbox),
            gate: gate::Gate::new(&mailbox, &config),
            metrics: metrics::Metrics::new(&config),
            status: String::new(),
            mailbox,
            config,
            inputs,
            sender,
            _hints: hints,
            _presence: presence,
            queue: queue::Queue::default(),
            ready: VecDeque::new(),
            live: HashSet::new(),
            recovering: HashSet::new(),
            timers: std::collections::BTreeSet::new(),
            behind: Vec::new(),
            chains: std::collections::BTreeSet::new(),
            looks: HashMap::new(),
            sweep: Vec::new(),
            known: HashMap::new(),
            poll: options.poll.is_some(),
            next_look_around: Instant::now() + every,
            every,
        })
    }

    /// Watches until it is told to stop or the mailbox is gone. `ready` is called once, after the first look around.
    pub fn run(mut self, ready: impl FnOnce()) -> Result<Left> {
        self.roll_forward();
        self.catch_up();
        self.look_everywhere(true, false);
        self.launch();
        tracing::info!(event = "watching", "{}", self.mailbox.root().display());
        ready();
        self.sweep_leftovers();
        loop {
            let wait = if self.sweep.is_empty() { self.next_deadline().saturating_duration_since(Instant::now()) } else { Duration::ZERO };
            match self.inputs.recv_timeout(wait) {
                Ok(Input::Stop) => return Ok(Left::Stopped),
                Ok(input) => {
                    self.take(input);
                    // One wake-up serves all that has come meanwhile.
                    while let Ok(more) = self.inputs.try_recv() {
                        match more {
                            Input::Stop => return Ok(Left::Stopped),
                            more => self.take(more),
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Left::Stopped),
            }
            if wait::identity(self.mailbox.root()).as_ref() != Some(&self.identity) {
                return Ok(Left::MailboxGone);
            }
            self.sweep_some();
            self.look_again();
            self.dates();
            self.settle_chains();
            if Instant::now() >= self.next_look_around {
                self.look_everywhere(false, self.poll);
            }
            self.launch();
            self.tell_how_it_stands();
        }
    }

    fn next_deadline(&self) -> Instant {
        let now = Instant::now();
        let date = self.timers.first().map(|t| now + (t.at - time::now()).to_std().unwrap_or_default());
        let waits = self.gate.deadline().into_iter().chain(self.metrics.deadline());
        self.looks.values().copied().chain(date).chain(waits).fold(self.next_look_around, Instant::min)
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Hint(Hint::At(path)) => self.look(&path),
            Input::Hint(Hint::Anywhere) => self.look_everywhere(false, true),
            Input::Ended(round) => {
                self.live.remove(&round);
                // It may have been one of two supervisors that two watchers started: the other one is at work.
                if !self.is_live(&round) {
                    self.ended(&round);
                }
                self.recover(&round);
                self.went_on(&round);
            }
            Input::Recovered(round, recovered) => {
                self.recovering.remove(&round);
                self.recovered(&round, *recovered);
                self.went_on(&round);
            }
            Input::Stop => {}
        }
    }

    /// Completes what a crash left half done in `pending/`.
    fn roll_forward(&mut self) {
        for name in list::hidden_names(&self.mailbox, Folder::Pending).unwrap_or_default() {
            if let Err(e) = intake::roll_forward(&self.mailbox, &name) {
                self.tell(&e);
            }
        }
    }

    /// Removes what killed writers left, beside everything else: it reads every folder.
    fn sweep_leftovers(&self) {
        let mailbox = self.mailbox.clone();
        std::thread::spawn(move || {
            let depth = |folder| if folder == Folder::Runs { 3 } else { usize::from(folder == Folder::Awaits) };
            let mut swept = disk::sweep(mailbox.root(), 0, LEFT_OVER);
            for folder in Folder::ALL {
                swept.extend(disk::sweep(&mailbox.folder(folder), depth(folder), LEFT_OVER));
            }
            for path in swept {
                tracing::info!(event = "swept", "{}: left by a program that died", path.display());
            }
        });
    }

    /// [`Self::look_around`]; what cannot be read now is looked at later.
    fn look_everywhere(&mut self, first: bool, thorough: bool) {
        self.next_look_around = Instant::now() + self.every;
        if let Err(e) = self.look_around(first, thorough) {
            self.tell(&e);
        }
    }

    /// Looks at everything: what it finds is the same that hints would have told. `thorough`: also at the files of known names.
    fn look_around(&mut self, first: bool, thorough: bool) -> Result<()> {
        // First: what follows adds to them.
        self.timers = list::names(&self.mailbox, Folder::Timers)?.iter().filter_map(|n| Timer::from_file_name(n)).collect();
        for round in list::round_names(&self.mailbox, Folder::Running) {
            if !self.live.contains(&round) {
                self.recover(&round);
            }
        }
        self.find_probe();
        for workflow in list::workflows(&self.mailbox, Folder::Answered)? {
            self.enqueue(&workflow);
        }
        self.settle_all_chains()?;
        let pending = list::names(&self.mailbox, Folder::Pending)?;
        if first {
            // Bodies are read later, when nothing else is to be done.
            self.sweep = pending;
            if self.sweep.is_empty() {
                self.told.mark();
            }
        } else {
            let names: HashSet<u64> = pending.iter().map(hash).collect();
            let folder = self.mailbox.folder(Folder::Pending);
            let is_new = |name: &String| match self.known.get(&hash(name)) {
                Some(known) => thorough && known.stamp != stamp(&folder.join(name)),
                None => true,
            };
            let new: Vec<String> = pending.into_iter().filter(is_new).collect();
            self.known.retain(|n, _| names.contains(n));
            new.iter().for_each(|name| self.take_in(name, true));
        }
        Ok(())
    }

    fn sweep_some(&mut self) {
        for _ in 0..SWEEP {
            let Some(name) = self.sweep.pop() else { return };
            let news = self.told.is_news(&self.mailbox.folder(Folder::Pending).join(&name));
            self.take_in(&name, news);
        }
        if self.sweep.is_empty() {
            self.sweep = Vec::new();
            self.told.mark();
        }
    }

    fn look(&mut self, path: &Path) {
        let Some(name) = path.file_name().and_then(|n| n.to_str()).filter(|n| !n.starts_with('.')) else { return };
        let folder = Folder::ALL.into_iter().find(|f| path.parent() == Some(&self.mailbox.folder(*f)));
        match folder {
            Some(Folder::Pending) => {
                self.chains.extend(WorkflowId::from_file_name(name));
                self.take_in(name, true);
            }
            Some(Folder::Answered) => {
                if let Some(workflow) = WorkflowId::from_file_name(name) {
                    self.enqueue(&workflow);
                }
            }
            Some(Folder::Running) => {
                if let Some(round) = RoundId::from_file_name(name).filter(|r| !self.live.contains(r)) {
                    self.recover(&round);
                    self.chains.insert(round.workflow);
                }
            }
            // Given up, perhaps: whoever waits for it is told.
            Some(Folder::Parked) => self.chains.extend(RoundId::from_file_name(name).map(|r| r.workflow)),
            // The last of its waits is over, however that came.
            Some(Folder::Awaits) => self.chains.extend(name.parse().ok()),
            Some(Folder::Timers) => {
                if let Some(timer) = Timer::from_file_name(name).filter(|_| path.exists()) {
                    self.timers.insert(timer);
                }
            }
            _ => {}
        }
    }

    fn look_again(&mut self) {
        let now = Instant::now();
        let due: Vec<PathBuf> = self.looks.iter().filter(|(_, at)| **at <= now).map(|(p, _)| p.clone()).collect();
        for path in &due {
            self.looks.remove(path);
            self.look(path);
        }
    }

    fn look_later(&mut self, path: PathBuf, wait: Duration) {
        self.looks.insert(path, Instant::now() + wait);
    }

    /// A file in `pending/`: ours or a stranger's, whole or torn.
    fn take_in(&mut self, name: &str, tell: bool) {
        if !name.ends_with(".json") {
            return;
        }
        // Before it is read: what is written meanwhile is looked at again.
        let stamp = stamp(&self.mailbox.folder(Folder::Pending).join(name));
        match intake::take_in(&self.mailbox, name) {
            Ok(Taken::Question(document, round)) => {
                let known = Known { round: hash(&round), stamp };
                let is_new = self.known.insert(hash(name), known).is_none_or(|k| k.round != known.round);
                if is_new && tell {
                    if document.typed.question_id.is_none()
                        && let Err(e) = intake::record_posted(&self.mailbox, &document.typed, &round)
                    {
                        self.tell(&e);
                    }
                    let title = crate::text::excerpt(&document.typed.title(), 80);
                    tracing::info!(event = "asked", workflow = %round.workflow, "{title}");
                    self.notify("asked", &document);
                    // While the sweep goes on, an unread question may be older than this one.
                    if self.sweep.is_empty() {
                        self.told.mark();
                    }
                }
            }
            Ok(Taken::Nothing) => {
                self.known.remove(&hash(name));
            }
            Ok(Taken::Unsettled(wait)) => {
                self.look_later(self.mailbox.folder(Folder::Pending).join(name), wait + Duration::from_millis(50))
            }
            Ok(Taken::Quarantined) => tracing::warn!("quarantined pending/{}: see quarantine/", crate::text::excerpt(name, 140)),
            Err(e) => self.tell(&e),
        }
    }

    fn enqueue(&mut self, workflow: &WorkflowId) {
        if self.queue.contains(workflow) {
            return;
        }
        match intake::answered_at(&self.mailbox.document(Folder::Answered, workflow)) {
            Err(e) if e.is_missing_file() => {}
            at => self.queue.push(at.ok().flatten().unwrap_or_else(time::now), workflow.clone()),
        }
    }

    /// What waited for this round's run to end may go on.
    fn went_on(&mut self, round: &RoundId) {
        self.chains.insert(round.workflow.clone());
        self.enqueue(&round.workflow);
        let behind = std::mem::take(&mut self.behind);
        let (now, still): (Vec<_>, Vec<_>) = behind.into_iter().partition(|(of, _)| of == round);
        self.behind = still;
        now.iter().for_each(|(_, workflow)| self.enqueue(workflow));
    }

    fn something_waits(&self) -> bool {
        !(self.ready.is_empty() && self.queue.is_empty())
    }

    /// Launches what may be launched, up to the cap, the recovered first.
    fn launch(&mut self) {
        while self.at_work() < self.config.relaunch.max_concurrent && self.something_waits() && self.may_launch() {
            if let Some(run) = self.ready.pop_front() {
                self.start(run);
                continue;
            }
            let Some(workflow) = self.queue.pop() else { return };
            let answered = self.mailbox.document(Folder::Answered, &workflow);
            match claim::take(&self.mailbox, &self.config, &workflow, Claimant::Supervisor) {
                Ok(ClaimAttempt::Claimed(claim)) => self.start_claimed(*claim),
                Ok(ClaimAttempt::Refused(Refusal::NothingAnswered)) => {}
                Ok(ClaimAttempt::Refused(Refusal::MayBeUnfinished(wait))) => self.look_later(answered, wait + Duration::from_millis(50)),
                Ok(ClaimAttempt::Refused(Refusal::AwaitedInline(_))) => self.look_later(answered, INLINE_LOOK),
                // Its end brings the answer back into the queue; where it has ended meanwhile, a second look does.
                Ok(ClaimAttempt::Refused(Refusal::EarlierRound(round) | Refusal::AskerRuns(round))) => {
                    self.recover(&round);
                    if !self.mailbox.round(Folder::Running, &round).exists() {
                        self.look_later(answered, Duration::ZERO);
                    } else if round.workflow != workflow && !self.behind.iter().any(|(_, w)| *w == workflow) {
                        self.behind.push((round, workflow));
                    }
                }
                Err(e @ Error::Conflict { .. }) => self.tell(&e),
                Err(e) => {
                    self.tell(&e);
                    self.look_later(answered, Duration::from_secs(10));
                }
            }
        }
    }

    fn tell(&self, error: &Error) {
        crate::log::error(error);
    }
}

/// A channel for [`Watch`].
#[must_use]
pub fn channel() -> (Sender<Input>, Receiver<Input>) {
    mpsc::channel()
}

fn hash(value: impl std::hash::Hash) -> u64 {
    use std::hash::Hasher;
    let mut hasher = std::hash::DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn stamp(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    hash(path.symlink_metadata().ok().map(|m| (m.ino(), m.len(), m.mtime(), m.mtime_nsec())))
}
