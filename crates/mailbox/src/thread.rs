//! Starts threads. The system may refuse a thread (`ulimit -u`, memory); here that is an error like any other. `std::thread::spawn`
//! would panic and so end the program, so clippy refuses it.

use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::error::{IoContext, Result};

/// Starts a thread that does this work. Joining it returns the result of the work.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses the thread; [`Error::is_shortage`](crate::Error::is_shortage) is
/// true for it.
pub fn start<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
    Builder::new().spawn(work).io("start", "a thread")
}

/// Locks a mutex. Every thread leaves it whole, also one that panics.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type Work = Box<dyn FnOnce() + Send>;

/// A thread that exists and waits for its work. A caller that is about to start something that cannot be undone, such as a process
/// to wait for, makes the thread first. Dropping this ends the thread.
#[derive(Debug)]
#[must_use = "dropping it ends the thread"]
pub struct ReadyThread(Sender<Work>);

impl ReadyThread {
    /// Starts a thread without work.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) if the system refuses the thread; [`Error::is_shortage`](crate::Error::is_shortage)
    /// is true for it.
    pub fn start() -> Result<Self> {
        let (sender, work) = mpsc::channel::<Work>();
        start(move || work.recv().into_iter().for_each(|work| work()))?;
        Ok(Self(sender))
    }

    /// Gives the thread its work.
    pub fn run(self, work: impl FnOnce() + Send + 'static) {
        // The thread waits for its work, so the channel is open and sending cannot fail.
        let _ = self.0.send(Box::new(work));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_works_once_it_gets_work_and_ends_without() {
        let (sender, done) = mpsc::channel();
        let (used, unused) = (ReadyThread::start().unwrap(), ReadyThread::start().unwrap());
        drop(unused);
        used.run(move || sender.send("done").unwrap());
        assert_eq!(done.recv(), Ok("done"));
    }
}
