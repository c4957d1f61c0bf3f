//! As much HTTP/1.1 as a test server needs: read a request, write a fixed or a chunked reply.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A request as it came over the wire.
pub struct Incoming {
    pub method: String,
    pub path: String,
    pub body: Vec<u8>,
}

/// One connection of a client, kept alive for any number of requests.
pub struct Connection {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Connection {
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { reader: BufReader::new(stream.try_clone()?), writer: stream })
    }

    /// The next request; `None` when the client has gone.
    pub fn read(&mut self) -> io::Result<Option<Incoming>> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let method = words.next().unwrap_or_default();
        let path = words.next().unwrap_or_default();
        let mut length = 0;
        loop {
            let mut header = String::new();
            if self.reader.read_line(&mut header)? == 0 {
                return Ok(None);
            }
            let Some((name, value)) = header.trim().split_once(':') else {
                break;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().map_err(io::Error::other)?;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                return Err(io::Error::other("a chunked request body is not supported"));
            } else if name.eq_ignore_ascii_case("expect") {
                self.writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            }
        }
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body)?;
        Ok(Some(Incoming { method, path, body }))
    }

    /// A whole reply with a JSON body.
    pub fn reply(&mut self, status: u16, extra: &str, body: &str) -> io::Result<()> {
        let length = body.len();
        let head = format!("HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{extra}\r\n");
        self.writer.write_all(head.as_bytes())?;
        self.writer.write_all(body.as_bytes())
    }

    /// A reply without a body, as `HEAD` wants it.
    pub fn head(&mut self, status: u16) -> io::Result<()> {
        let head = format!("HTTP/1.1 {status} Scripted\r\ncontent-length: 0\r\n\r\n");
        self.writer.write_all(head.as_bytes())
    }

    pub fn start_stream(&mut self) -> io::Result<()> {
        self.writer.write_all(b"HTTP/1.1 200 Scripted\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    }

    /// One server-sent event, in a chunk of its own.
    pub fn event(&mut self, event: &serde_json::Value) -> io::Result<()> {
        let kind = event["type"].as_str().unwrap_or("message");
        let text = format!("event: {kind}\ndata: {event}\n\n");
        write!(self.writer, "{:x}\r\n{text}\r\n", text.len())
    }

    /// The data of an event without a name, in a chunk of its own.
    pub fn data(&mut self, data: &str) -> io::Result<()> {
        let text = format!("data: {data}\n\n");
        write!(self.writer, "{:x}\r\n{text}\r\n", text.len())
    }

    pub fn end_stream(&mut self) -> io::Result<()> {
        self.writer.write_all(b"0\r\n\r\n")
    }

    /// Waits for `limit` (for ever without one), or until either side closes the connection.
    /// Says whether the connection still stands.
    pub fn pause(&mut self, limit: Option<Duration>) -> bool {
        let end = limit.map(|limit| Instant::now() + limit);
        loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return true;
            }
            // A read that times out is the clock here: unlike a sleep it ends at once when the client hangs up.
            if self.writer.set_read_timeout(left).is_err() {
                return false;
            }
            let mut byte = [0];
            let seen = self.writer.peek(&mut byte);
            let restored = self.writer.set_read_timeout(None).is_ok();
            match seen {
                Ok(1) => return restored,
                Err(error) if is_timeout(&error) && restored => {}
                _ => return false,
            }
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
