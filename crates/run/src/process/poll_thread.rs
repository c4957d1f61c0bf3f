//! One thread that waits for many descriptors at once. A supervisor's poll thread waits for the agent's exit and its standard error, for
//! requests to stop, for Unix signals, and for a reader that goes away. It sleeps until one of them is ready.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use askbox_mailbox::{IoContext, Result, thread};

/// Something to wait for: its descriptors, and the action when one of them is ready.
pub trait PollSource: Send {
    /// The descriptors. One that is ready is enough.
    fn fds(&self) -> Vec<BorrowedFd<'_>>;

    /// True if data to read makes a descriptor ready. If false, only an error or a hang-up does.
    fn is_read(&self) -> bool {
        true
    }

    /// Called when a descriptor is ready, and sometimes when none is. Must not block: all sources share this thread. Returns whether
    /// the source is to be polled again.
    fn ready(&mut self) -> bool;
}

/// A source with one descriptor. `ready` is called with it, and returns whether it is to be polled again.
struct Source<D, F> {
    descriptor: D,
    is_read: bool,
    ready: F,
}

impl<D: AsFd + Send, F: FnMut(&mut D) -> bool + Send> PollSource for Source<D, F> {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.descriptor.as_fd()]
    }

    fn is_read(&self) -> bool {
        self.is_read
    }

    fn ready(&mut self) -> bool {
        (self.ready)(&mut self.descriptor)
    }
}

/// Waits for data in this descriptor, or for its end.
pub fn to_read<D: AsFd + Send + 'static>(descriptor: D, ready: impl FnMut(&mut D) -> bool + Send + 'static) -> Box<dyn PollSource> {
    Box::new(Source { descriptor, is_read: true, ready })
}

/// Waits once for an error or a hang-up of this descriptor.
pub fn to_hang_up(descriptor: impl AsFd + Send + 'static, mut gone: impl FnMut() + Send + 'static) -> Box<dyn PollSource> {
    let ready = move |_: &mut _| {
        gone();
        false
    };
    Box::new(Source { descriptor, is_read: false, ready })
}

/// A thread that polls sources until this is dropped. Sources that are ready by then are still called.
#[derive(Debug)]
#[must_use = "dropping it ends the thread"]
pub struct PollThread {
    /// The thread before it has its sources, and the pipe that becomes ready once this is dropped.
    waiting: Option<(thread::ReadyThread, PipeReader)>,
    _alive: PipeWriter,
}

impl PollThread {
    /// Starts the thread. It has no sources yet.
    ///
    /// # Errors
    /// [`Error::is_shortage`](askbox_mailbox::Error::is_shortage) if the system refuses a thread or a pipe.
    pub fn new() -> Result<Self> {
        let (dropped, alive) = std::io::pipe().io("open", "a pipe")?;
        Ok(Self { waiting: Some((thread::ReadyThread::start()?, dropped)), _alive: alive })
    }

    /// Begins to poll these sources. Does nothing if the thread has sources already.
    pub fn start(&mut self, sources: Vec<Box<dyn PollSource>>) {
        if let Some((thread, dropped)) = self.waiting.take() {
            thread.run(move || poll_all(&dropped, sources));
        }
    }
}

fn poll_all(dropped: &PipeReader, mut sources: Vec<Box<dyn PollSource>>) {
    loop {
        let mut fds = vec![PollFd::new(dropped, PollFlags::empty())];
        // For each source, the index behind its last descriptor.
        let mut ends = Vec::with_capacity(sources.len());
        for source in &sources {
            let flags = if source.is_read() { PollFlags::IN } else { PollFlags::empty() };
            fds.extend(source.fds().into_iter().map(|fd| PollFd::from_borrowed_fd(fd, flags)));
            ends.push(fds.len());
        }
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            // Out of memory. Try again: the agent's exit must not be missed.
            Err(_) => {
                std::thread::sleep(Duration::from_millis(100));
                continue;
            }
        }
        let is_ready = |fds: &[PollFd<'_>]| fds.iter().any(|fd| !fd.revents().is_empty());
        let begins = std::iter::once(&1).chain(&ends);
        let ready: Vec<bool> = begins.zip(&ends).map(|(begin, end)| is_ready(&fds[*begin..*end])).collect();
        if is_ready(&fds[..1]) && !ready.contains(&true) {
            return;
        }
        let mut ready = ready.into_iter();
        sources.retain_mut(|source| !ready.next().unwrap_or_default() || source.ready());
    }
}

/// Unix signals that were caught, and the descriptor that is ready when there are any.
pub type UnixSignals = SignalDelivery<UnixStream, SignalOnly>;

/// Catches Unix signals from now on, for a [`PollSource`].
pub fn catch_unix_signals(caught: &[i32]) -> std::io::Result<UnixSignals> {
    let (read, write) = UnixStream::pair()?;
    UnixSignals::with_pipe(read, write, SignalOnly, caught)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    struct Bytes(PipeReader, Sender<Option<u8>>);

    impl PollSource for Bytes {
        fn fds(&self) -> Vec<BorrowedFd<'_>> {
            vec![self.0.as_fd()]
        }

        fn ready(&mut self) -> bool {
            let mut byte = [0];
            let n = self.0.read(&mut byte).unwrap();
            self.1.send((n > 0).then_some(byte[0])).is_ok() && n > 0
        }
    }

    fn bytes() -> (PipeWriter, Box<dyn PollSource>, Receiver<Option<u8>>) {
        let (read, write) = std::io::pipe().unwrap();
        let (sender, taken) = mpsc::channel();
        (write, Box::new(Bytes(read, sender)), taken)
    }

    #[test]
    fn a_source_that_ended_is_not_polled_again_and_others_are() {
        let ((one, first, from_one), (mut two, second, from_two)) = (bytes(), bytes());
        let mut thread = PollThread::new().unwrap();
        thread.start(vec![first, second]);
        drop(one);
        assert_eq!(from_one.recv_timeout(LONG), Ok(None));
        assert_eq!(from_one.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
        two.write_all(b"x").unwrap();
        assert_eq!(from_two.recv_timeout(LONG), Ok(Some(b'x')));
    }

    #[test]
    fn sources_ready_when_the_thread_is_dropped_are_still_called() {
        let (mut pipe, source, taken) = bytes();
        pipe.write_all(b"abc").unwrap();
        let mut thread = PollThread::new().unwrap();
        thread.start(vec![source]);
        drop(thread);
        for byte in *b"abc" {
            assert_eq!(taken.recv_timeout(LONG), Ok(Some(byte)));
        }
        assert_eq!(taken.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
    }
}
