//! One thread looks out for all that may happen beside the agent's output: its end, its complaints, a request to stop, a signal, a
//! reader that goes away. It sleeps until one of them does.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

/// Something that happens now and then; its descriptors tell when.
pub trait Source: Send {
    /// The descriptors, of which one that is ready is enough.
    fn fds(&self) -> Vec<BorrowedFd<'_>>;

    /// Whether something to read makes them ready; otherwise only an error or a hang-up does.
    fn is_read(&self) -> bool {
        true
    }

    /// It happened, or may have. Takes what is there, and waits for no more of it: the others would wait along. Returns whether
    /// more may come.
    fn ready(&mut self) -> bool;
}

/// Looks out until it is dropped. What has happened by then is still taken.
#[derive(Debug)]
#[must_use = "nobody looks out once this is dropped"]
pub struct Lookout {
    over: Option<PipeReader>,
    /// Its closing ends the thread.
    _open: PipeWriter,
}

impl Lookout {
    /// Looks out for nothing yet.
    pub fn new() -> std::io::Result<Self> {
        let (over, open) = std::io::pipe()?;
        Ok(Self { over: Some(over), _open: open })
    }

    /// Looks out for all of these; once.
    pub fn start(&mut self, sources: Vec<Box<dyn Source>>) {
        if let Some(over) = self.over.take() {
            std::thread::spawn(move || look_out(&over, sources));
        }
    }
}

fn look_out(over: &PipeReader, mut sources: Vec<Box<dyn Source>>) {
    loop {
        let mut fds = vec![PollFd::new(over, PollFlags::empty())];
        // Of every source, where its descriptors end.
        let mut ends = Vec::with_capacity(sources.len());
        for source in &sources {
            let flags = if source.is_read() { PollFlags::IN } else { PollFlags::empty() };
            fds.extend(source.fds().into_iter().map(|fd| PollFd::from_borrowed_fd(fd, flags)));
            ends.push(fds.len());
        }
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            // No memory. The agent's end must not be missed for that.
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

/// Signals that were caught.
pub(crate) type Signals = SignalDelivery<UnixStream, SignalOnly>;

/// Catches signals, for a [`Source`].
pub(crate) fn signals(caught: &[i32]) -> std::io::Result<Signals> {
    let (read, write) = UnixStream::pair()?;
    Signals::with_pipe(read, write, SignalOnly, caught)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};

    use super::*;

    const LONG: Duration = Duration::from_secs(10);

    struct Bytes(PipeReader, Sender<Option<u8>>);

    impl Source for Bytes {
        fn fds(&self) -> Vec<BorrowedFd<'_>> {
            vec![self.0.as_fd()]
        }

        fn ready(&mut self) -> bool {
            let mut byte = [0];
            let n = self.0.read(&mut byte).unwrap();
            // Who asked may have seen enough.
            self.1.send((n > 0).then_some(byte[0])).is_ok() && n > 0
        }
    }

    fn bytes() -> (PipeWriter, Box<dyn Source>, Receiver<Option<u8>>) {
        let (read, write) = std::io::pipe().unwrap();
        let (sender, taken) = mpsc::channel();
        (write, Box::new(Bytes(read, sender)), taken)
    }

    #[test]
    fn a_source_that_ends_is_not_asked_again_and_the_others_go_on() {
        let ((one, first, from_one), (mut two, second, from_two)) = (bytes(), bytes());
        let mut lookout = Lookout::new().unwrap();
        lookout.start(vec![first, second]);
        drop(one);
        assert_eq!(from_one.recv_timeout(LONG), Ok(None));
        assert_eq!(from_one.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
        two.write_all(b"x").unwrap();
        assert_eq!(from_two.recv_timeout(LONG), Ok(Some(b'x')));
    }

    #[test]
    fn what_has_happened_when_it_is_dropped_is_still_taken_and_then_it_ends() {
        let (mut pipe, source, taken) = bytes();
        pipe.write_all(b"abc").unwrap();
        let mut lookout = Lookout::new().unwrap();
        lookout.start(vec![source]);
        drop(lookout);
        for byte in *b"abc" {
            assert_eq!(taken.recv_timeout(LONG), Ok(Some(byte)));
        }
        assert_eq!(taken.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
    }
}
