//! Starts supervisor processes, and notices their end.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use crate::dates::Dates;
use crate::messages::WatchMessage;
use crate::scope::Served;
use askbox_mailbox::{Folder, Lock, Mailbox, ReadyThread, Result, RoundId, thread, time};
use askbox_run::supervise::detach;
use askbox_run::{Run, log, record};

/// A claim younger than this is left to the process that made it, which is about to launch it.
pub(super) const CLAIM_GRACE: Duration = Duration::from_secs(3);
/// The pause after a supervisor that ended before it owned its attempt, for example because it could not read a record.
const RESTART_AFTER: Duration = Duration::from_secs(3);
const LONGEST_RESTART: Duration = Duration::from_secs(600);

/// The starts of one attempt's supervisor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Starts {
    attempt: u32,
    count: u32,
    last: Instant,
}

/// The supervisors that this watcher has started, and the runs that it waits for.
pub(super) struct Supervisors {
    /// Receives the ends of runs.
    sender: Sender<WatchMessage>,
    /// Rounds whose run is live.
    pub(super) live: HashSet<RoundId>,
    /// The number of starts of a supervisor for an attempt that is still not under way, and the last of them.
    pub(super) starts: HashMap<RoundId, Starts>,
}

impl Supervisors {
    pub(super) fn new(sender: Sender<WatchMessage>) -> Self {
        Self { sender, live: HashSet::new(), starts: HashMap::new() }
    }

    /// Starts the process, and lets a thread wait for its end. The thread exists first, because the end of every process must be
    /// noticed. An agent may have called a command that waits for one tree. The supervisor must then not look like a process that this
    /// agent has started. So it is not a child of the command, and its lock shows its end.
    pub(super) fn spawn(&self, served: &Served, run: &Run) -> Result<()> {
        let waiting = ReadyThread::start()?;
        let (sender, round) = (self.sender.clone(), run.round());
        let ended = move || drop(sender.send(WatchMessage::RunEnded(round)));
        if served.scope.is_service() {
            let mut child = detach::command(&served.mailbox, run)?.spawn().map_err(detach::failed)?;
            waiting.run(move || {
                let _ = child.wait();
                ended();
            });
        } else {
            detach::start(&served.mailbox, run)?;
            let (mailbox, run) = (served.mailbox.clone(), run.clone());
            waiting.run(move || {
                match detach::wait_until_owned(&mailbox, &run) {
                    Ok(()) => drop(Lock::wait_until_free(&record::lock_path(&mailbox, &run.round()))),
                    Err(e) => log::error(&e),
                }
                ended();
            });
        }
        Ok(())
    }

    /// Notes that the supervisor of an attempt was started.
    pub(super) fn started(&mut self, run: &Run) {
        let (round, attempt, session) = (run.round(), run.attempt, run.session_id);
        tracing::info!(event = "launched", workflow = %round.workflow, attempt, %session, "attempt {attempt}, session {session}");
        let earlier = self.starts.get(&round).filter(|starts| starts.attempt == attempt).map_or(0, |starts| starts.count);
        self.starts.insert(round.clone(), Starts { attempt, count: earlier + 1, last: Instant::now() });
        self.live.insert(round);
    }

    /// How long to wait before the supervisor of this attempt is started once more. Each supervisor that ended before it owned the
    /// attempt doubles the pause.
    pub(super) fn pause_before_restart(&self, run: &Run) -> Duration {
        let Some(starts) = self.starts.get(&run.round()).filter(|starts| starts.attempt == run.attempt) else { return Duration::ZERO };
        let pause = RESTART_AFTER.saturating_mul(1 << (starts.count - 1).min(16)).min(LONGEST_RESTART);
        pause.saturating_sub(starts.last.elapsed())
    }

    /// Waits, in a thread of its own, for the end of a run that another process supervises: its lock becomes free.
    pub(super) fn wait_for_end(&mut self, served: &Served, dates: &mut Dates, round: &RoundId) {
        if self.live.contains(round) {
            return;
        }
        let (path, sender, ended) = (record::lock_path(&served.mailbox, round), self.sender.clone(), round.clone());
        let waits = thread::start(move || {
            let _ = Lock::wait_until_free(&path);
            let _ = sender.send(WatchMessage::RunEnded(ended));
        });
        match waits {
            Ok(_) => drop(self.live.insert(round.clone())),
            Err(e) => dates.retry(served.mailbox.round(Folder::Running, round), &e),
        }
    }
}

/// Waits until a supervisor holds the round's lock, if its attempt was put on record a while ago. Before that, other watchers would not
/// count the run.
pub(super) fn show(mailbox: &Mailbox, run: &Run) {
    if !time::is_near(run.claimed_at, CLAIM_GRACE)
        && let Err(e) = detach::wait_until_owned(mailbox, run)
    {
        log::error(&e);
    }
}

/// True if a process holds the round's run lock.
pub(super) fn is_supervised(mailbox: &Mailbox, round: &RoundId) -> bool {
    Lock::is_held(&record::lock_path(mailbox, round)).unwrap_or(false)
}
