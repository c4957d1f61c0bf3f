//! The watcher of the demo, and what happens to it when the demo is interrupted.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use crate::commands::demo::agent;
use crate::commands::demo::narration::print;
use crate::commands::demo::stage::Stage;
use askbox_mailbox::{Error, IoContext, ProcessHandle, ReadyThread, Result, thread};

/// The running watcher. Dropping it ends the process.
pub(super) struct Watcher {
    child: Child,
    lines: Receiver<String>,
}

/// The watcher's process, for the thread that handles signals.
static WATCHER: Mutex<Option<ProcessHandle>> = Mutex::new(None);

impl Watcher {
    pub fn start(stage: &Stage) -> Result<Self> {
        let reader = ReadyThread::start()?;
        let mut child = stage.program("relaunch").arg("watch").stdin(Stdio::null()).stderr(Stdio::piped()).spawn().io("run", "relaunch")?;
        if let Ok(mut slot) = WATCHER.lock() {
            *slot = ProcessHandle::open(child.id());
        }
        let (sender, lines) = mpsc::channel();
        if let Some(output) = child.stderr.take() {
            reader.run(move || {
                for line in BufReader::new(output).lines().map_while(|l| l.ok()) {
                    let _ = sender.send(line);
                }
            });
        }
        Ok(Self { child, lines })
    }

    /// Prints the watcher's log until a line matches.
    pub fn until(&self, is_it: impl Fn(&str) -> bool, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        loop {
            let Ok(line) = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) else {
                return Err(Error::failed("the watcher did not log what the demo expects", "see its log above"));
            };
            print(&format!("   {line}\n"))?;
            if is_it(&line) {
                return Ok(());
            }
        }
    }

    fn end_any() {
        if let Ok(slot) = WATCHER.lock()
            && let Some(process) = slot.as_ref()
        {
            process.signal(rustix::process::Signal::TERM);
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        Self::end_any();
        let _ = self.child.wait();
    }
}

/// True once a signal has come. From then on, only the signal's thread says how the demo ends. The signal handler itself sets it: a
/// terminal sends the signal to the demo and its agent together, so the demo always sees this flag before it sees the agent end.
static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// After a signal, waits until its thread has ended this process.
pub(super) fn let_signal_end() {
    while INTERRUPTED.load(Ordering::Acquire) {
        std::thread::park_timeout(Duration::from_secs(1));
    }
}

/// Ends the watcher and the run, and removes the temporary folder, when the demo is interrupted.
pub(super) fn clean_up_on_signal(stage: &Stage, keep: bool) -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    const ENDING: [i32; 3] = [SIGTERM, SIGINT, SIGHUP];
    let mut signals = ENDING
        .into_iter()
        .try_for_each(|signal| signal_hook::flag::register(signal, Arc::clone(&INTERRUPTED)).map(drop))
        .and_then(|()| signal_hook::iterator::Signals::new(ENDING))
        .map_err(|e| Error::failed(format!("cannot handle Unix signals: {e}"), "check the limit on processes: ulimit -u"))?;
    let mut rest = Rest::new(stage);
    thread::start(move || {
        if let Some(signal) = signals.forever().next() {
            Watcher::end_any();
            if !keep {
                rest.remove();
            }
            std::process::exit(128 + signal);
        }
    })
    .map(drop)
}

/// The remains of a demo that ends in the middle: its run and its temporary folder.
pub(super) struct Rest {
    root: PathBuf,
    stop: Command,
}

impl Rest {
    pub fn new(stage: &Stage) -> Self {
        let mut stop = stage.program("relaunch");
        stop.args(["stop", "--now", "--grace", "1s", agent::WORKFLOW]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { root: stage.root.clone(), stop }
    }

    /// Ends the run and removes the folder.
    pub fn remove(&mut self) {
        // The run writes into the folder until it has ended.
        let _ = self.stop.status();
        remove_when_quiet(&self.root);
    }
}

/// Removes a folder. Processes that are about to end may still write into it, so this is repeated for a few seconds.
fn remove_when_quiet(root: &Path) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while std::fs::remove_dir_all(root).is_err_and(|e| e.kind() != std::io::ErrorKind::NotFound) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
}
