//! One connection. It ends if it is silent for too long, if a stranger has not signed in in time, or if its place is taken.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::listen::places::Place;
use crate::reply;

/// The maximum silence of a connection. An open page gets a sign of life more often.
const SILENT_FOR: Duration = Duration::from_secs(60);
/// The maximum silence of a stranger, and the maximum duration of its connection. Both are enough for a device to sign in.
const STRANGER_SILENT_FOR: Duration = Duration::from_secs(10);
const STRANGER_STAYS_FOR: Duration = Duration::from_secs(60);
/// The maximum number of bytes that a stranger may send. Its requests are short, and many strangers together must not take much memory.
const STRANGER_SAYS: usize = 64 << 10;
/// The maximum length of a reply of the request parser.
const LONGEST_REFUSAL: usize = 300;

/// A stream that can be read and written.
pub trait Duplex: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Duplex for T {}

/// Bytes in and out.
pub type Stream = Pin<Box<dyn Duplex>>;

/// A connection with its place.
pub struct Connection {
    stream: Stream,
    place: Place,
    /// True if nobody can take its place any more.
    stays: bool,
    since: Instant,
    heard: Instant,
    /// The number of bytes that a stranger has sent.
    said: usize,
    alarm: Pin<Box<Sleep>>,
    /// The rest of a refusal that is being written, and the number of bytes that it replaces.
    refusal: Option<(Vec<u8>, usize)>,
}

impl Connection {
    /// Creates a connection with this place.
    pub fn new(stream: Stream, place: Place) -> Self {
        let now = Instant::now();
        let alarm = Box::pin(sleep(STRANGER_SILENT_FOR));
        Self { stream, place, stays: false, since: now, heard: now, said: 0, alarm, refusal: None }
    }

    /// The time when the connection ends if it stays silent.
    fn ends_at(&self) -> Instant {
        if self.place.caller.is_known() {
            return self.heard + SILENT_FOR;
        }
        (self.heard + STRANGER_SILENT_FOR).min(self.since + STRANGER_STAYS_FOR)
    }

    /// Passes on the result of reading or writing. Returns an error instead if the connection was silent for too long or its place was
    /// taken. A reader that takes no bytes also counts as silent.
    fn unless_over<T>(&mut self, done: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        let over = || Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        if !self.stays
            && let Poll::Ready(kept) = Pin::new(&mut self.place.taken).poll(context)
        {
            if kept.is_err() {
                return over();
            }
            self.stays = true;
        }
        let now = Instant::now();
        if done.is_ready() {
            self.heard = now;
            // Even a connection that is never silent ends if it does not sign in in time.
            return if now < self.ends_at() { done } else { over() };
        }
        loop {
            let end = self.ends_at();
            if end <= Instant::now() {
                return over();
            }
            self.alarm.as_mut().reset(end);
            ready!(self.alarm.as_mut().poll(context));
        }
    }

    fn write(&mut self, bytes: &[u8], context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.refusal.is_none() {
            self.refusal = guarded(bytes).map(|refusal| (refusal, bytes.len()));
        }
        while let Some((left, stands_for)) = &mut self.refusal {
            let count = ready!(self.stream.as_mut().poll_write(context, left))?;
            left.drain(..count);
            if count == 0 || left.is_empty() {
                let written = if count == 0 { 0 } else { *stands_for };
                self.refusal = None;
                return Poll::Ready(Ok(written));
            }
        }
        self.stream.as_mut().poll_write(context, bytes)
    }
}

/// Adds the headers that protect every reply to a refusal of the parser. The parser refuses bytes that are not a request before our own
/// code sees them.
fn guarded(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes.get(..bytes.len().min(LONGEST_REFUSAL + 1))?).ok()?;
    let head = text.strip_suffix("\r\n\r\n").filter(|head| head.starts_with("HTTP/1.") && head.len() <= LONGEST_REFUSAL)?;
    let mut lines = head.split("\r\n");
    let is_refusal = lines.next().and_then(|status| status.split(' ').nth(1)).is_some_and(|status| status.starts_with('4'));
    let is_ours = |line: &str| line.to_ascii_lowercase().starts_with("content-security-policy:");
    let is_empty = |line: &str| line.eq_ignore_ascii_case("content-length: 0");
    let lines: Vec<_> = lines.collect();
    if !is_refusal || lines.iter().any(|line| is_ours(line)) || !lines.iter().any(|line| is_empty(line)) {
        return None;
    }
    let more: String = reply::protecting().iter().map(|(name, value)| format!("\r\n{name}: {value}")).collect();
    Some(format!("{head}{more}\r\n\r\n").into_bytes())
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = self.stream.as_mut().poll_read(context, into);
        if !self.place.caller.has_shown_a_session() {
            self.said += into.filled().len() - before;
            if self.said > STRANGER_SAYS {
                return Poll::Ready(Err(io::ErrorKind::FileTooLarge.into()));
            }
        }
        self.unless_over(read, context)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = self.write(bytes, context);
        self.unless_over(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn only_an_empty_refusal_of_the_parser_is_given_headers() {
        let refusal = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let text = String::from_utf8(guarded(refusal).unwrap()).unwrap();
        assert!(text.starts_with("HTTP/1.1 400 Bad Request\r\n") && text.ends_with("\r\n\r\n") && text.matches("\r\n\r\n").count() == 1);
        assert!(text.contains("content-security-policy: default-src 'none'") && text.contains("cache-control: no-store"), "{text}");
        assert_eq!(guarded(text.as_bytes()), None, "once");
        for other in [
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 5\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\nHTTP/1.1 400 words of a question",
            "<p>HTTP/1.1 400 Bad Request</p>\r\n\r\n",
        ] {
            assert_eq!(guarded(other.as_bytes()), None, "{other}");
        }
    }
}
