//! One connection. It ends when it is silent for too long, when a stranger has not said what it wants in time, and when its place is taken.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::surface::askbox::web::listen::places::Place;
use crate::surface::askbox::web::reply;

/// How long a connection may be silent. A page that is open hears a sign of life more often.
const SILENT_FOR: Duration = Duration::from_secs(60);
/// How long a stranger may be silent, and how long it may stay: for what a device needs to sign in.
const STRANGER_SILENT_FOR: Duration = Duration::from_secs(10);
const STRANGER_STAYS_FOR: Duration = Duration::from_secs(60);
/// How many bytes a stranger may send: none of its requests is long, and many strangers together are to take little memory.
const STRANGER_SAYS: usize = 64 << 10;
/// The longest reply of the parser of requests.
const LONGEST_REFUSAL: usize = 300;

/// What is read and written.
pub trait Duplex: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Duplex for T {}

/// Bytes in and out.
pub type Stream = Pin<Box<dyn Duplex>>;

/// A connection.
pub struct Connection {
    stream: Stream,
    place: Place,
    /// Whether its place is its own for as long as it lasts.
    stays: bool,
    since: Instant,
    heard: Instant,
    /// How many bytes a stranger has sent.
    said: usize,
    alarm: Pin<Box<Sleep>>,
    /// A refusal that is being written, as far as it is not yet, and how many bytes it stands for.
    refusal: Option<(Vec<u8>, usize)>,
}

impl Connection {
    /// A connection that has this place.
    pub fn new(stream: Stream, place: Place) -> Self {
        let now = Instant::now();
        let alarm = Box::pin(sleep(STRANGER_SILENT_FOR));
        Self { stream, place, stays: false, since: now, heard: now, said: 0, alarm, refusal: None }
    }

    /// When it is over unless something is heard of it.
    fn ends_at(&self) -> Instant {
        if self.place.caller().is_known() {
            return self.heard + SILENT_FOR;
        }
        (self.heard + STRANGER_SILENT_FOR).min(self.since + STRANGER_STAYS_FOR)
    }

    /// What came of reading or writing; an error, if nothing did for too long or the place is taken. A reader that takes nothing is silent
    /// as well.
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
            // One that keeps talking without saying who it is.
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

/// The reply of the parser, which refuses what is no request before any of our code sees it, with the headers that protect every reply.
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
        if !self.place.caller().has_shown_a_session() {
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
