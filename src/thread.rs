//! Starting threads. The system may refuse one (`ulimit -u`, memory): that is an error like any other. `std::thread::spawn` would
//! end the program instead, so clippy refuses it.

use std::sync::mpsc::{self, Sender};
use std::thread::{Builder, JoinHandle};

use crate::error::{IoContext, Result};

/// Starts a thread.
///
/// # Errors
/// [`Error::is_shortage`](crate::Error::is_shortage) if the system refuses it.
pub fn start<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
    Builder::new().spawn(work).io("start", "a thread")
}

type Work = Box<dyn FnOnce() + Send>;

/// A thread that exists and waits for its work. A caller that starts something which cannot be undone, such as a process to wait
/// for, makes the thread first. Dropping it ends the thread.
#[derive(Debug)]
#[must_use = "dropping it ends the thread"]
pub struct Waiting(Sender<Work>);

impl Waiting {
    /// Starts a thread.
    ///
    /// # Errors
    /// [`Error::is_shortage`](crate::Error::is_shortage) if the system refuses it.
    pub fn start() -> Result<Self> {
        let (sender, work) = mpsc::channel::<Work>();
        start(move || work.recv().into_iter().for_each(|work| work()))?;
        Ok(Self(sender))
    }

    /// Gives the thread its work.
    pub fn run(self, work: impl FnOnce() + Send + 'static) {
        // The thread waits for this, so it receives it.
        let _ = self.0.send(Box::new(work));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_does_its_work_once_it_gets_it_and_ends_without() {
        let (sender, done) = mpsc::channel();
        let (used, unused) = (Waiting::start().unwrap(), Waiting::start().unwrap());
        drop(unused);
        used.run(move || sender.send("done").unwrap());
        assert_eq!(done.recv(), Ok("done"));
    }
}
