//! Goes on after a hook that Claude Code kills. Claude Code tells it to end with SIGTERM, and kills it 1.4 s later, whatever it does then
//! (measured with 2.1.330). On a busy machine the hook may still be writing its question. So the signal itself starts a process that
//! waits for the hook's end and withdraws what it has left.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use nix::sys::signal::{SigSet, Signal};

use askbox_mailbox::{IoContext, Mailbox, Result, WorkflowId, thread};

/// What the hook is told to do when its dialog was refused or left.
#[derive(Clone)]
pub(super) struct Guard {
    told_to_end: Arc<AtomicBool>,
    asking: Arc<Mutex<Asking>>,
}

/// Whether there is something to withdraw.
enum Asking {
    NotYet,
    /// The process that withdraws it.
    About(Box<Command>),
    Started,
}

impl Guard {
    /// Begins to listen to the signals that tell this process to end.
    ///
    /// No other thread takes them from here on. A thread that waits for a slow disk would take a signal only when the disk has answered.
    pub(super) fn begin() -> Result<Self> {
        let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT]);
        signals.thread_block().map_err(std::io::Error::from).io("listen to", "signals")?;
        let guard = Self { told_to_end: Arc::default(), asking: Arc::new(Mutex::new(Asking::NotYet)) };
        let listening = guard.clone();
        thread::start(move || {
            while signals.wait().is_ok() {
                listening.told_to_end.store(true, Ordering::SeqCst);
                Self::start_if_asking(&mut thread::locked(&listening.asking));
            }
        })?;
        Ok(guard)
    }

    /// True if Claude Code has told this process to end.
    pub(super) fn is_told_to_end(&self) -> bool {
        self.told_to_end.load(Ordering::SeqCst)
    }

    /// Records that this process is about to ask for a workflow, whose waiter's lock it holds. If it is told to end, or was told before,
    /// another process withdraws the question in this way.
    pub(super) fn asks(&self, mailbox: &Mailbox, workflow: &WorkflowId, how: &str) -> Result<()> {
        let command = after_this_process(mailbox, &["--left", workflow.as_str(), "--ended", how])?;
        let mut asking = thread::locked(&self.asking);
        *asking = Asking::About(Box::new(command));
        if self.is_told_to_end() {
            Self::start_if_asking(&mut asking);
        }
        Ok(())
    }

    fn start_if_asking(asking: &mut Asking) {
        if let Asking::About(command) = asking {
            // If no process can be started, this one may still come to its end in time, and else a watcher withdraws the question.
            let _ = command.spawn();
            *asking = Asking::Started;
        }
    }
}

/// The command of a process that goes on when this one has ended. It has a process group of its own and none of our files, so Claude Code
/// neither waits for it nor ends it.
pub(super) fn after_this_process(mailbox: &Mailbox, args: &[&str]) -> Result<Command> {
    let own = std::env::current_exe().io("find", "this program")?;
    let mut command = Command::new(own);
    command.arg("hook").args(args).env("ASKBOX_DIR", mailbox.root());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    Ok(command)
}
