//! Waits for something that wakes the inbox: a key, a change of the mailbox, a new size of the terminal, a signal to end, or a point in
//! time. The process sleeps until then.
//!
//! File events, signals and reports of other machines arrive on other threads. These threads ring a bell, and the thread of the screen
//! waits for the bell and the keys at the same time.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use askbox_cli::terminal::screen::is_foreground;
use askbox_mailbox::disk::file_events;
use askbox_mailbox::{Error, Folder, Hint, Hints, IoContext, Mailbox, Result, WorkflowId};

/// The time between two readings of the mailbox if the system does not report all changes.
const READ_ANYWAY: Duration = Duration::from_secs(15);
/// The folders of answered rounds.
const ANSWERED: [Folder; 4] = [Folder::Answered, Folder::Running, Folder::Parked, Folder::Closed];
/// The pause while the terminal offers bytes that are not a complete key yet.
const HALF_A_KEY: Duration = Duration::from_millis(100);

/// The changes of the mailbox, as far as they were reported.
#[derive(Debug, Default)]
pub struct Changes {
    /// The workflows whose waiting question may have come, gone or changed.
    pub questions: BTreeSet<WorkflowId>,
    /// True if an answered round may have changed its state.
    pub rounds: bool,
    /// True if anything may have changed, because events were lost.
    pub anything: bool,
}

impl Changes {
    pub fn is_none(&self) -> bool {
        self.questions.is_empty() && !self.rounds && !self.anything
    }
}

/// The sources that wake the inbox.
pub struct Waking {
    mailbox: Mailbox,
    bell: UnixStream,
    ringer: UnixStream,
    hints: Receiver<Hint>,
    _watched: Option<Hints>,
    /// The time to read the mailbox without an event. `None` if the system reports all changes.
    read_at: Option<Instant>,
    ended: Arc<AtomicBool>,
    /// True if the terminal offered bytes that were not a key, or were not for this process.
    is_half: bool,
    /// True if the terminal is gone.
    pub is_without_terminal: bool,
}

impl Waking {
    pub fn new(mailbox: &Mailbox) -> Result<Self> {
        let (bell, ringer) = UnixStream::pair()
            .and_then(|(bell, ringer)| {
                bell.set_nonblocking(true)?;
                ringer.set_nonblocking(true)?;
                Ok((bell, ringer))
            })
            .io("open", "a pipe of this process")?;
        let (sender, hints) = mpsc::channel();
        let watched = ringer.try_clone().ok().and_then(|ringer| {
            let mut watched = Hints::new(move |hint| {
                let _ = sender.send(hint);
                // If the bell is full, it has already rung.
                let _ = (&ringer).write(&[0]);
            });
            if let Ok(hints) = &mut watched {
                let mut folders = [Folder::Pending].into_iter().chain(ANSWERED);
                folders.try_for_each(|folder| hints.watch(&mailbox.folder(folder))).ok()?;
            }
            watched.ok()
        });
        let is_told = watched.is_some() && file_events::tell_all_changes(&mailbox.folder(Folder::Pending));
        let ended = on_signals(&ringer)?;
        let read_at = (!is_told).then(|| Instant::now() + READ_ANYWAY);
        Ok(Self {
            mailbox: mailbox.clone(),
            bell,
            ringer,
            hints,
            _watched: watched,
            read_at,
            ended,
            is_half: false,
            is_without_terminal: false,
        })
    }

    /// A function that rings the bell from another thread.
    pub fn ringer(&self) -> Result<impl Fn() + Send + Sync + 'static> {
        let ringer = self.ringer.try_clone().io("open", "a pipe of this process")?;
        // If the bell is full, it has already rung.
        Ok(move || drop((&ringer).write(&[0])))
    }

    /// Sleeps until something happens, or until this time.
    pub fn sleep(&mut self, until: Option<Instant>) -> Result<()> {
        let half = self.is_half.then(|| Instant::now() + HALF_A_KEY);
        let wait = [until, self.read_at, half].into_iter().flatten().min().map(|at| at.saturating_duration_since(Instant::now()));
        let limit = wait.and_then(|wait| Timespec::try_from(wait).ok());
        let stdin = io::stdin();
        let mut fds = vec![PollFd::new(&self.bell, PollFlags::IN)];
        if !self.is_half {
            fds.push(PollFd::new(&stdin, PollFlags::IN));
        }
        match poll(&mut fds, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()).io("wait for", "the terminal"),
        }
        // A terminal that is gone has no more keys, and reading from it would never end.
        if fds.get(1).is_some_and(|stdin| stdin.revents().intersects(PollFlags::HUP | PollFlags::ERR)) {
            self.ended.store(true, Ordering::Relaxed);
            self.is_without_terminal = true;
        }
        let mut rung = [0; 256];
        while self.bell.read(&mut rung).is_ok_and(|n| n > 0) {}
        Ok(())
    }

    /// The keys and pasted texts since the last call. Never waits.
    pub fn keys(&mut self) -> io::Result<Vec<Event>> {
        let mut keys = Vec::new();
        // In the background the keys are another program's: reading them would stop this process.
        while is_foreground() && event::poll(Duration::ZERO)? {
            keys.push(event::read()?);
        }
        let stdin = io::stdin();
        self.is_half = keys.is_empty() && poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&Timespec::default())).is_ok_and(|n| n > 0);
        Ok(keys)
    }

    /// The changes of the mailbox since the last call.
    pub fn changes(&mut self) -> Changes {
        let mut changes = Changes::default();
        if self.read_at.is_some_and(|at| at <= Instant::now()) {
            self.read_at = Some(Instant::now() + READ_ANYWAY);
            changes.anything = true;
        }
        let pending = self.mailbox.folder(Folder::Pending);
        for hint in self.hints.try_iter() {
            match hint {
                Hint::At(path) if path.parent() == Some(&pending) => {
                    changes.questions.extend(path.file_name().and_then(|name| WorkflowId::from_file_name(name.to_str()?)));
                }
                // A name that begins with a dot belongs to a file that is still being written.
                Hint::At(path) if ANSWERED.iter().any(|folder| path.parent() == Some(&self.mailbox.folder(*folder))) => {
                    changes.rounds |= path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"."));
                }
                Hint::At(_) | Hint::Anywhere => changes.anything = true,
            }
        }
        changes
    }

    /// True if the process was asked to end.
    pub fn is_over(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

/// Returns a flag that is set once the process is asked to end. A signal also rings the bell. While a child process uses the terminal,
/// Ctrl-C is meant for the child.
fn on_signals(ringer: &UnixStream) -> Result<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
    use signal_hook::{flag, low_level::pipe};
    let (ended, interrupted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let rings = |signal| ringer.try_clone().and_then(|ringer| pipe::register(signal, ringer));
    let registered = flag::register(SIGHUP, Arc::clone(&ended))
        .and(flag::register(SIGTERM, Arc::clone(&ended)))
        .and(flag::register(SIGINT, interrupted))
        .and(rings(SIGHUP))
        .and(rings(SIGTERM))
        .and(rings(SIGWINCH));
    registered.map_err(|e| Error::failed(format!("cannot handle Unix signals: {e}"), "check the limit on processes: ulimit -u"))?;
    Ok(ended)
}
