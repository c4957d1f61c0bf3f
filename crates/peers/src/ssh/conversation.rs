//! The ssh command line, and a running ssh: lines of limited length, waits of limited length, and the reason why it ended. Dropping it
//! kills it.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use crate::lines::MAX_LINE;
use crate::peer::Stop;
use askbox_config::PeerConfig;
use askbox_mailbox::{HostName, WorkflowId, text};

/// The bytes of standard error that are kept: its end says why ssh ended.
const KEPT_STDERR: usize = 4 << 10;
/// The most bytes of one read.
const PIECE: usize = 64 << 10;
/// How long ssh may take to end once it has closed its output.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// A running ssh.
pub(super) struct Conversation {
    child: Child,
    out: ChildStdout,
    err: Option<ChildStderr>,
    /// The bytes that were read. The lines before `taken` were returned already.
    read: Vec<u8>,
    taken: usize,
    /// No line ends before this position.
    searched: usize,
    said: Vec<u8>,
    is_left: bool,
}

/// The next thing that happens.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A line, without its end.
    Line(Vec<u8>),
    /// It ended.
    End,
    /// Nothing came within the limit.
    Silence,
    /// A line that is longer than [`MAX_LINE`].
    TooLong,
    /// The work is to end.
    Stopped,
}

impl Conversation {
    /// Starts it.
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        let mut child = command.spawn()?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let out = out.ok_or_else(|| io::Error::other("there is no standard output"))?;
        for fd in [Some(rustix::fd::AsFd::as_fd(&out)), err.as_ref().map(rustix::fd::AsFd::as_fd)].into_iter().flatten() {
            rustix::fs::fcntl_setfl(fd, OFlags::NONBLOCK)?;
        }
        Ok(Self { child, out, err, read: Vec::new(), taken: 0, searched: 0, said: Vec::new(), is_left: false })
    }

    /// Sends everything, and closes ssh's input. `Err` if not all was written within `limit`.
    pub(super) fn send(&mut self, bytes: &[u8], limit: Duration) -> io::Result<()> {
        let end = Instant::now() + limit;
        let mut input = self.child.stdin.take().ok_or_else(|| io::Error::other("there is no standard input"))?;
        rustix::fs::fcntl_setfl(&input, OFlags::NONBLOCK)?;
        let mut rest = bytes;
        while !rest.is_empty() {
            match input.write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    let left = end.checked_duration_since(Instant::now()).ok_or(ErrorKind::TimedOut)?;
                    let mut fds = [PollFd::new(&input, PollFlags::OUT)];
                    rustix::io::retry_on_intr(|| poll(&mut fds, Timespec::try_from(left).ok().as_ref()))?;
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// The next line, within `limit`.
    pub(super) fn next(&mut self, limit: Duration, stop: Option<&Stop>) -> Next {
        let end = Instant::now() + limit;
        loop {
            if let Some(at) = self.read[self.searched..].iter().position(|byte| *byte == b'\n') {
                let at = self.searched + at;
                let line = self.read[self.taken..at].to_vec();
                (self.taken, self.searched) = (at + 1, at + 1);
                return if line.len() > MAX_LINE { Next::TooLong } else { Next::Line(line) };
            }
            self.read.drain(..self.taken);
            (self.taken, self.searched) = (0, self.read.len());
            if self.read.len() > MAX_LINE {
                return Next::TooLong;
            }
            if stop.is_some_and(Stop::is_set) {
                return Next::Stopped;
            }
            let Some(left) = end.checked_duration_since(Instant::now()) else { return Next::Silence };
            match self.read_some(left, stop) {
                Ok(true) => {}
                Ok(false) | Err(_) => return Next::End,
            }
        }
    }

    /// Waits for output and reads a piece of it. `false` at its end.
    fn read_some(&mut self, limit: Duration, stop: Option<&Stop>) -> io::Result<bool> {
        {
            let mut fds = vec![PollFd::new(&self.out, PollFlags::IN)];
            fds.extend(self.err.as_ref().map(|err| PollFd::new(err, PollFlags::IN)));
            fds.extend(stop.map(|stop| PollFd::new(stop, PollFlags::IN)));
            rustix::io::retry_on_intr(|| poll(&mut fds, Timespec::try_from(limit).ok().as_ref()))?;
        }
        self.read_stderr();
        let before = self.read.len();
        self.read.resize(before + PIECE, 0);
        let result = self.out.read(&mut self.read[before..]);
        self.read.truncate(before + result.as_ref().copied().unwrap_or(0));
        match result {
            Ok(0) => Ok(false),
            Ok(_) => Ok(true),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(true),
            Err(e) => Err(e),
        }
    }

    fn read_stderr(&mut self) {
        let Some(err) = &mut self.err else { return };
        let mut piece = [0; 1024];
        // One piece at a time, so that a machine that writes without end does not hold up the rest.
        match err.read(&mut piece) {
            Ok(0) => self.err = None,
            Ok(n) => {
                self.said.extend_from_slice(&piece[..n]);
                let surplus = self.said.len().saturating_sub(KEPT_STDERR);
                self.said.drain(..surplus);
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.err = None,
        }
    }

    /// After its end: its exit status, if it has one, and the last words on standard error.
    pub(super) fn ended(mut self) -> (Option<i32>, String) {
        let end = Instant::now() + ENDS_WITHIN;
        let status = loop {
            let all_read = self.err.is_none();
            match self.child.try_wait() {
                Ok(Some(status)) if all_read || Instant::now() >= end => break status.code(),
                Err(_) => break None,
                Ok(None) if Instant::now() >= end => break None,
                Ok(status) => {
                    let had_ended = status.is_some();
                    let before = self.said.len();
                    self.read_stderr();
                    // A connection that is kept may hold standard error open, so only what has come so far is taken.
                    if had_ended && self.said.len() == before {
                        break status.and_then(|status| status.code());
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        };
        let words = String::from_utf8_lossy(&self.said).into_owned();
        let words: Vec<_> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        // A program of ours says what is wrong in the line before the last.
        let error = words.iter().rev().find_map(|line| line.strip_prefix("error: "));
        (status, text::excerpt(error.or(words.last().copied()).unwrap_or_default(), 300))
    }

    /// Lets ssh go on connecting when this process ends, so that the next process finds the kept connection. ssh ends by itself,
    /// because nobody reads its output.
    pub(super) fn leave(mut self) {
        self.is_left = true;
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        if self.is_left {
            return;
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The longest path of a socket that every system accepts, less the characters that ssh adds while it makes one.
const MAX_SOCKET_PATH: usize = 104 - 20;

/// The request to the other machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask<'a> {
    /// Report the questions and their changes.
    Watch,
    /// Take the offer that follows on standard input.
    Offer,
    /// Do what the request that follows on standard input asks of a session.
    Sessions,
    /// Report how this workflow's last question ended.
    Show(&'a WorkflowId),
}

/// The command. With these options ssh asks no questions, notices a dead connection within 15 seconds, and keeps one connection for all
/// commands to a machine, which ends a minute after the last of them.
pub(super) fn command(host: &HostName, config: &PeerConfig, folder: Option<&Path>, ask: Ask<'_>) -> Command {
    let mut command = Command::new("ssh");
    command.args(["-T", "-a", "-x"]);
    let talk = "BatchMode=yes ConnectTimeout=10 ConnectionAttempts=1 ServerAliveInterval=5 ServerAliveCountMax=3 LogLevel=ERROR";
    let refuse = "ClearAllForwardings=yes PermitLocalCommand=no EscapeChar=none";
    command.args([talk, refuse].iter().flat_map(|options| options.split(' ')).flat_map(|option| ["-o", option]));
    match folder.and_then(|folder| control_path(folder, host)) {
        Some(path) => {
            let path = [b"ControlPath=", path.as_os_str().as_bytes()].concat();
            command.args(["-o", "ControlMaster=auto", "-o", "ControlPersist=60", "-o"]).arg(std::ffi::OsStr::from_bytes(&path));
        }
        None => drop(command.args(["-o", "ControlMaster=no", "-o", "ControlPath=none"])),
    }
    command.args(&config.ssh_options).arg("--").arg(&config.ssh).arg(there(config, ask));
    // Keys that end a program at this terminal must not reach ssh.
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if matches!(ask, Ask::Offer | Ask::Sessions) { Stdio::piped() } else { Stdio::null() });
    command
}

/// The command for the other machine's shell. It is made of the configuration, and at most of an id, which has no character that a
/// shell treats specially.
fn there(config: &PeerConfig, ask: Ask<'_>) -> String {
    let mailbox = if config.mailbox.is_empty() { String::new() } else { format!(" --mailbox {}", text::shell_quote(&config.mailbox)) };
    let what = match ask {
        Ask::Watch => "list --json --watch".to_owned(),
        Ask::Offer => "--offer - --json".to_owned(),
        Ask::Sessions => "--sessions - --json".to_owned(),
        Ask::Show(workflow) => format!("show {} --json", text::shell_quote(workflow.as_str())),
    };
    // The configuration allows only plain letters for the program, so the shell expands a `~` and nothing else.
    format!("{}{mailbox} {what}", config.program)
}

/// The command for a person who wants to do the same by hand: the ssh command line to the machine, with the command to run there.
pub fn by_hand(config: &PeerConfig, there: &str) -> String {
    let words =
        config.ssh_options.iter().map(String::as_str).chain([config.ssh.as_str()]).chain(Some(there).filter(|there| !there.is_empty()));
    format!("ssh {}", words.map(text::shell_quote).collect::<Vec<_>>().join(" "))
}

/// The socket of the kept connection, in a folder of the user's own. Without one, each command connects by itself.
pub(super) fn control_path(folder: &Path, host: &HostName) -> Option<PathBuf> {
    let path = folder.join(format!("{host}.ssh"));
    let text = path.to_str()?;
    // ssh would interpret `%`, and would split the path at white space.
    let is_plain = text.len() <= MAX_SOCKET_PATH && !text.contains(|c: char| c == '%' || c == '$' || c == '"' || c.is_whitespace());
    is_plain.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_executed_there_is_made_of_the_configuration_alone() {
        let config = PeerConfig { ssh: "build".into(), mailbox: "/srv/it's; rm -rf".into(), ..PeerConfig::default() };
        let command = command(&"build".parse().unwrap(), &config, None, Ask::Watch);
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let [.., dashes, host, there] = args.as_slice() else { panic!("{args:?}") };
        assert_eq!((dashes.as_str(), host.as_str()), ("--", "build"));
        assert_eq!(there, r"ask-answer --mailbox '/srv/it'\''s; rm -rf' list --json --watch");
        assert_eq!(super::there(&PeerConfig::default(), Ask::Offer), "ask-answer --offer - --json");
        assert_eq!(super::there(&PeerConfig::default(), Ask::Show(&"docs-42".parse().unwrap())), "ask-answer show docs-42 --json");
    }

    #[test]
    fn what_a_person_types_reaches_the_same_machine() {
        let config = PeerConfig {
            ssh: "ann@build".into(),
            ssh_options: vec!["-p".into(), "2222".into(), "-i".into(), "/a key".into()],
            ..PeerConfig::default()
        };
        assert_eq!(by_hand(&config, ""), "ssh -p 2222 -i '/a key' ann@build");
        assert_eq!(by_hand(&config, "ask-answer --version"), "ssh -p 2222 -i '/a key' ann@build 'ask-answer --version'");
    }
}
