//! The FIFO `control` in the folder of a live attempt. A byte in it wakes the supervisor, which then looks for `stop.json`. So no process
//! is signalled by its pid.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use crate::disk;
use crate::error::{IoContext, Result};
use crate::run::process::poll_thread::PollSource;

fn path(folder: &Path) -> PathBuf {
    folder.join("control")
}

/// The FIFO's name, which is removed when this is dropped.
#[derive(Debug)]
#[must_use = "the run cannot be woken once this is dropped"]
pub struct ControlFifo(PathBuf);

impl Drop for ControlFifo {
    fn drop(&mut self) {
        // A program that reads every file of the mailbox would block on it.
        let _ = disk::untouch(&self.0);
    }
}

struct WakeUps<F> {
    fifo: File,
    on_wake_up: F,
}

/// Creates the FIFO in an attempt's folder. Once the source is polled, `on_wake_up` is called after each [`wake`].
pub fn listen(folder: &Path, on_wake_up: impl Fn() + Send + 'static) -> Result<(ControlFifo, Box<dyn PollSource>)> {
    let path = path(folder);
    let fifo = disk::fifo::open_reader(&path)?;
    Ok((ControlFifo(path), Box::new(WakeUps { fifo, on_wake_up })))
}

impl<F: Fn() + Send> PollSource for WakeUps<F> {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.fifo.as_fd()]
    }

    fn ready(&mut self) -> bool {
        match self.fifo.read(&mut [0; 64]) {
            Ok(1..) => (self.on_wake_up)(),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Ok(0) | Err(_) => return false,
        }
        true
    }
}

/// Wakes the supervisor of the attempt in this folder, if there is one.
pub fn wake(folder: &Path) -> Result<()> {
    let path = path(folder);
    // Without a reader, the supervisor has just ended or has not started to listen yet; in both cases it reads `stop.json` itself.
    let Some(mut fifo) = disk::fifo::open_writer(&path)? else { return Ok(()) };
    match fifo.write_all(b"s") {
        // The FIFO is full, so the supervisor is about to wake up.
        Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(()),
        other => other.io("write to", path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::process::poll_thread::PollThread;

    #[test]
    fn a_wake_up_reaches_the_listener_and_without_one_does_nothing() {
        let folder = tempfile::tempdir().unwrap();
        wake(folder.path()).unwrap();
        let (sender, woken) = std::sync::mpsc::channel();
        let (fifo, wake_ups) = listen(folder.path(), move || sender.send(()).unwrap()).unwrap();
        let mut poll_thread = PollThread::new().unwrap();
        poll_thread.start(vec![wake_ups]);
        wake(folder.path()).unwrap();
        woken.recv_timeout(std::time::Duration::from_secs(10)).unwrap();
        // The poll thread ends, and no FIFO is left.
        drop(poll_thread);
        assert!(
            woken.recv_timeout(std::time::Duration::from_secs(10)).is_err_and(|e| e == std::sync::mpsc::RecvTimeoutError::Disconnected)
        );
        drop(fifo);
        assert!(!path(folder.path()).exists());
    }
}
