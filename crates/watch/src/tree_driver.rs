//! The watcher of a command that waits for one workflow. It serves this workflow's tree, in a thread of the command's process. It
//! retries, recovers and wakes runs as a watcher service would. While a service watches the mailbox, it leaves the tree to the service.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::messages::{Left, Options, WatchMessage};
use crate::scope::{LOOK_FOR_SERVICE_EVERY, Scope};
use crate::watcher::Watcher;
use askbox_config::Config;
use askbox_mailbox::{Mailbox, Result, WorkflowId, presence, thread};
use askbox_run::log;

/// The time between two looks at the tree if there are no file events.
const POLL_EVERY: Duration = Duration::from_secs(1);

/// Drives one tree until this is dropped. Runs that were launched go on.
#[must_use = "dropping it ends the driving"]
pub struct TreeDriver {
    sender: Sender<WatchMessage>,
    thread: Option<JoinHandle<()>>,
}

impl TreeDriver {
    /// Begins to drive everything at or below `root`. Returns after the first look, when everything that could be launched is launched.
    ///
    /// # Errors
    /// [`Error::is_shortage`](askbox_mailbox::Error::is_shortage) if the system refuses the thread.
    pub fn start(mailbox: &Mailbox, config: &Config, root: &WorkflowId) -> Result<Self> {
        let (sender, messages) = mpsc::channel();
        let (looked, has_looked) = mpsc::sync_channel(1);
        let driven = Driven { mailbox: mailbox.clone(), config: config.clone(), root: root.clone(), sender: sender.clone() };
        let thread = thread::start(move || {
            let looked = || {
                let _ = looked.try_send(());
            };
            driven.drive(&messages, looked);
        })?;
        let _ = has_looked.recv();
        Ok(Self { sender, thread: Some(thread) })
    }
}

impl Drop for TreeDriver {
    fn drop(&mut self) {
        let _ = self.sender.send(WatchMessage::Stop);
        // The thread completes the work that it has begun: a claimed round gets its supervisor.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

struct Driven {
    mailbox: Mailbox,
    config: Config,
    root: WorkflowId,
    sender: Sender<WatchMessage>,
}

impl Driven {
    /// Drives until a message says stop. It goes on after an error, such as a shortage of threads, because the command still waits.
    fn drive(&self, messages: &Receiver<WatchMessage>, looked: impl Fn()) {
        loop {
            match self.drive_until_service(messages, &looked) {
                Ok(Left::Stopped) => return,
                Ok(Left::ToService | Left::MailboxGone | Left::NotTrusted) => {}
                Err(e) => log::error(&e),
            }
            looked();
            match messages.recv_timeout(LOOK_FOR_SERVICE_EVERY) {
                Ok(WatchMessage::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn drive_until_service(&self, messages: &Receiver<WatchMessage>, looked: impl Fn()) -> Result<Left> {
        if presence::anybody(&self.mailbox)? { Ok(Left::ToService) } else { self.watcher(messages)?.run(looked) }
    }

    fn watcher<'a>(&self, messages: &'a Receiver<WatchMessage>) -> Result<Watcher<'a>> {
        let watcher = |poll| {
            let options = Options { poll, scope: Scope::Tree(self.root.clone()) };
            Watcher::new(self.mailbox.clone(), self.config.clone(), &options, messages, self.sender.clone())
        };
        // The system may not have any file events left.
        watcher(None).or_else(|_| watcher(Some(POLL_EVERY)))
    }
}
