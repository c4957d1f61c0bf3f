//! A running `askbox web`, and a browser as far as a test needs one: cookies, forms, the headers that a browser sends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use crate::{LIMIT, Running, World, until};

/// The page at work; it is killed when this is dropped.
pub struct Page {
    pub process: Running,
    pub port: u16,
}

impl World {
    /// Serves the page at a free port.
    #[track_caller]
    pub fn serve_page(&self) -> Page {
        self.serve_page_as(self.command("askbox").args(["web", "--listen", "127.0.0.1:0"]))
    }

    /// Runs a command that serves the page. The page makes no mailbox, so it gets one.
    #[track_caller]
    pub fn serve_page_as(&self, command: &mut Command) -> Page {
        if !self.mailbox().exists() {
            self.make_mailbox();
        }
        let log = self.path("page.log");
        let said = std::fs::File::create(&log).expect("a log");
        let process = Running::start(command.stdout(Stdio::null()).stderr(said));
        let port = until("the page listens", || {
            let said = std::fs::read_to_string(&log).ok()?;
            said.split("http://127.0.0.1:").nth(1)?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        });
        Page { process, port }
    }

    /// The path of a link for signing in.
    #[track_caller]
    pub fn link_to_page(&self, device: Option<&str>) -> String {
        let link = self.ok("askbox", &[&["web", "link"], device.as_slice()].concat());
        let at = link.find("/in/").unwrap_or_else(|| panic!("no link: {link}"));
        link[at..].trim().to_owned()
    }
}

impl Page {
    /// A browser that is not signed in.
    pub fn browser(&self) -> Browser {
        Browser { port: self.port, cookie: None, home: String::new(), program: String::new() }
    }

    /// A browser that is signed in.
    #[track_caller]
    pub fn signed_in(&self, world: &World, device: &str) -> Browser {
        self.browser().signed_in(world, device)
    }
}

/// A browser without scripting.
#[derive(Debug, Clone)]
pub struct Browser {
    pub port: u16,
    /// `name=value`
    pub cookie: Option<String>,
    /// The path of its device, `/d/SECRET`. The paths of the tests are those below it, and so are those in the replies.
    pub home: String,
    /// Its `User-Agent`, if it has one.
    pub program: String,
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    /// A hidden field of the first form that has it.
    pub fn hidden(&self, name: &str) -> Option<String> {
        let rest = self.body.split(&format!("name=\"{name}\" value=\"")).nth(1)?;
        Some(rest.split('"').next()?.to_owned())
    }

    /// The text without tags, on one line.
    pub fn text(&self) -> String {
        let main = self.body.split("<main").nth(1).unwrap_or(&self.body);
        let words: String =
            main.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text)).collect::<Vec<_>>().join(" ");
        let words = words.replace("&#39;", "'").replace("&quot;", "\"").replace("&#34;", "\"").replace("&amp;", "&");
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl Browser {
    /// Goes to a page at another port. The name of the page's cookie ends with its port.
    pub fn move_to(&mut self, port: u16) {
        let value = self.cookie.as_ref().and_then(|cookie| cookie.split_once('=')).map(|(_, value)| format!("askbox-{port}={value}"));
        (self.port, self.cookie) = (port, value);
    }

    /// The same browser, signed in.
    #[track_caller]
    pub fn signed_in(mut self, world: &World, device: &str) -> Self {
        let reply = self.post(&world.link_to_page(Some(device)), &[]);
        let home = reply.header("location").and_then(|home| home.strip_suffix('/'));
        assert_eq!((reply.status, home.is_some()), (303, true), "{reply:?}");
        self.home = home.unwrap_or_default().to_owned();
        self.cookie = reply.header("set-cookie").and_then(|cookie| cookie.split(';').next()).map(str::to_owned);
        self
    }

    /// A request of a test, with its path below the device's own.
    pub fn below(&self, request: &str) -> String {
        let Some((method, rest)) = request.split_once(' ').filter(|(_, rest)| rest.starts_with('/')) else { return request.to_owned() };
        let is_for_all = ["/in/", "/static/", "/d/"].iter().any(|start| rest.starts_with(start));
        format!("{method} {}{rest}", if is_for_all { "" } else { &self.home })
    }

    /// `http://127.0.0.1:PORT`
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The headers that this browser sends with everything.
    fn usual(&self) -> String {
        let cookie = self.cookie.as_ref().map(|cookie| format!("Cookie: {cookie}\r\n")).unwrap_or_default();
        let program = if self.program.is_empty() { String::new() } else { format!("User-Agent: {}\r\n", self.program) };
        format!("Host: 127.0.0.1:{}\r\n{cookie}{program}Connection: close\r\n", self.port)
    }

    /// A page.
    #[track_caller]
    pub fn get(&self, path: &str) -> Reply {
        self.send(&format!("GET {path} HTTP/1.1\r\n{}\r\n", self.usual()))
    }

    /// A page of a server that may die, or may be dead.
    #[track_caller]
    pub fn try_get(&self, path: &str) -> Option<Reply> {
        self.try_send(&format!("GET {path} HTTP/1.1\r\n{}\r\n", self.usual()))
    }

    /// A page that must be there.
    #[track_caller]
    pub fn see(&self, path: &str) -> Reply {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        reply
    }

    /// Sends a form, with these fields alone.
    #[track_caller]
    pub fn post(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        self.send(&self.form(path, &format!("Origin: {}\r\n", self.origin()), fields))
    }

    /// Such a request, with these headers beside the usual ones.
    pub fn form(&self, path: &str, headers: &str, fields: &[(&str, &str)]) -> String {
        let body: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let body = body.join("&");
        let kind = "Content-Type: application/x-www-form-urlencoded";
        format!("POST {path} HTTP/1.1\r\n{}{headers}{kind}\r\nContent-Length: {}\r\n\r\n{body}", self.usual(), body.len())
    }

    /// Fills in the form of a page, and sends it.
    #[track_caller]
    pub fn fill(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        self.fill_as_shown(&self.see(path), path, fields)
    }

    /// The same with a page that was loaded before.
    #[track_caller]
    pub fn fill_as_shown(&self, page: &Reply, path: &str, fields: &[(&str, &str)]) -> Reply {
        self.send(&self.form_as_shown(page, path, fields))
    }

    /// The request with the filled form of a page that was loaded before.
    pub fn form_as_shown(&self, page: &Reply, path: &str, fields: &[(&str, &str)]) -> String {
        let hidden: Vec<_> = ["form", "shown"].into_iter().filter_map(|name| Some((name, page.hidden(name)?))).collect();
        let all: Vec<_> = hidden.iter().map(|(name, value)| (*name, value.as_str())).chain(fields.iter().copied()).collect();
        self.form(path, &format!("Origin: {}\r\n", self.origin()), &all)
    }

    /// Answers the open question of a workflow, and returns the page that comes then.
    #[track_caller]
    pub fn answer(&self, world: &World, workflow: &str, fields: &[(&str, &str)]) -> Reply {
        let path = format!("/q/{workflow}/{}", world.round(workflow));
        let reply = self.fill(&path, &[fields, &[("act", "send")]].concat());
        assert_eq!(reply.status, 303, "{}", reply.text());
        self.see(reply.header("location").expect("a place").split('#').next().expect("a path"))
    }

    /// Sends bytes on a new connection, and reads until the server closes it.
    #[track_caller]
    pub fn send(&self, request: &str) -> Reply {
        let mut stream = self.open(request);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("a reply");
        self.parsed(&bytes)
    }

    /// A reply, with the paths below the device's own.
    #[track_caller]
    fn parsed(&self, bytes: &[u8]) -> Reply {
        let reply = String::from_utf8_lossy(bytes);
        let without = |text: &str| if self.home.is_empty() { text.to_owned() } else { text.replace(&self.home, "") };
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no reply: {reply:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{head}"));
        Reply { status, head: without(&head.replace('\r', "")), body: without(body) }
    }

    /// The same with a server that may die, or may be dead; `None` if it does.
    #[track_caller]
    pub fn try_send(&self, request: &str) -> Option<Reply> {
        let mut bytes = Vec::new();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        // A connection that is cut has no end that could be read.
        stream.set_read_timeout(Some(LIMIT)).expect("a limit");
        let _cut = stream.write_all(self.below(request).as_bytes()).and_then(|()| stream.read_to_end(&mut bytes));
        bytes.windows(4).any(|end| end == b"\r\n\r\n").then(|| self.parsed(&bytes))
    }

    /// Sends bytes, and leaves the connection open.
    #[track_caller]
    pub fn open(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the page listens");
        stream.set_read_timeout(Some(LIMIT)).expect("a limit");
        stream.write_all(self.below(request).as_bytes()).expect("a request");
        stream
    }

    /// Follows what changes; the next words come within [`LIMIT`].
    #[track_caller]
    pub fn follow(&self) -> Stream {
        Stream { stream: self.open(&format!("GET /events HTTP/1.1\r\n{}\r\n", self.usual())), heard: String::new() }
    }
}

/// The changes that a page is told.
pub struct Stream {
    stream: TcpStream,
    heard: String,
}

impl Stream {
    /// Reads until these words came.
    #[track_caller]
    pub fn hears(&mut self, words: &str) -> String {
        let mut bytes = [0; 4096];
        while !self.heard.contains(words) {
            let count = loop {
                match self.stream.read(&mut bytes) {
                    // A child of the test has ended.
                    Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                    read => break read.unwrap_or_else(|e| panic!("{e}; heard {}", self.heard)),
                }
            };
            assert!(count > 0, "the stream ended; heard {}", self.heard);
            self.heard.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        std::mem::take(&mut self.heard)
    }

    /// Waits for its end.
    #[track_caller]
    pub fn ends(&mut self) {
        let mut bytes = [0; 4096];
        while self.stream.read(&mut bytes).expect("the end") > 0 {}
    }
}

fn encoded(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
