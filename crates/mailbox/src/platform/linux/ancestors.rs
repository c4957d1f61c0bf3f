//! The processes above this one, from `/proc`. Few system calls are used, because even a program that runs for a millisecond looks
//! at all of them.

use std::cell::OnceCell;
use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags};

use crate::platform::linux::processes::are_visible;

/// An upper limit for the bytes in `/proc/PID/stat` up to the parent's pid.
const STAT: usize = 128;
/// The largest environment that is searched, in bytes.
const ENVIRONMENT: usize = 256 << 10;

/// The inode numbers of the first PID namespace and the first user namespace. They are fixed in the kernel (`PROC_PID_INIT_INO`).
const INITIAL_PID: u64 = 0xEFFF_FFFC;
const INITIAL_USER: u64 = 0xEFFF_FFFD;

/// A snapshot of a process.
pub struct Ancestor {
    pid: i32,
    /// Its parent.
    pub parent: i32,
    name: Vec<u8>,
    /// The environment of the process, once it was read; `None` if it cannot be read.
    environment: OnceCell<Option<Vec<u8>>>,
}

impl Ancestor {
    /// Looks at the process that has this pid now. `None` if no process has it.
    pub fn at(pid: i32) -> Option<Self> {
        let mut line = [0; STAT];
        let length = rustix::io::read(open(pid, "stat")?, &mut line).ok()?;
        let (parent, name) = parent_and_name(&line[..length])?;
        Some(Self { pid, parent, name: name.to_vec(), environment: OnceCell::new() })
    }

    /// True if the process's program has this name.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name.as_bytes()
    }

    /// True if the process's environment sets one of these variables to a value that is not empty. False if the environment cannot
    /// be read, as for a process of another user.
    pub fn has_any(&self, variables: &[&str]) -> bool {
        let Some(environment) = self.environment.get_or_init(|| environment(self.pid)) else { return false };
        let sets = |entry: &[u8], name: &str| {
            entry.get(name.len()) == Some(&b'=') && entry.len() > name.len() + 1 && entry.starts_with(name.as_bytes())
        };
        let mut rest = environment.as_slice();
        // `CStr` searches the end of an entry a machine word at a time, which is fast.
        while let Ok(entry) = CStr::from_bytes_until_nul(rest) {
            let entry = entry.to_bytes();
            if variables.iter().any(|name| sets(entry, name)) {
                return true;
            }
            rest = &rest[entry.len() + 1..];
        }
        false
    }
}

/// Returns the process that leads the session of this process; 0 if it is out of sight. (`getsid` of rustix does not take a 0.)
pub fn session_leader() -> i32 {
    let line = std::fs::read("/proc/self/stat").unwrap_or_default();
    let behind = line.iter().rposition(|byte| *byte == b')').and_then(|close| std::str::from_utf8(&line[close + 1..]).ok());
    behind.and_then(|fields| fields.split_ascii_whitespace().nth(3)?.parse().ok()).unwrap_or(0)
}

/// True if the ancestors in `/proc` are those of this process, and an ordinary user's program cannot have hidden some of them. A new
/// user namespace lets every program make a PID namespace, where nothing above it is seen. A container of an administrator is known.
pub fn namespace_is_known() -> bool {
    let number = |namespace: &str| std::fs::metadata(format!("/proc/self/ns/{namespace}")).ok().map(|file| file.ino());
    are_visible() && (number("pid") == Some(INITIAL_PID) || number("user") == Some(INITIAL_USER) || is_a_container())
}

/// True if this looks like a container that a person's program made: it has more than one user, and its first process belongs to
/// another user or has the mark of a container.
fn is_a_container() -> bool {
    let users = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let users = users.split_ascii_whitespace().skip(2).step_by(3).filter_map(|length| length.parse::<u64>().ok()).sum::<u64>();
    let first_is_anothers = || std::fs::metadata("/proc/1").is_ok_and(|first| first.uid() != rustix::process::geteuid().as_raw());
    let is_marked = || ["/run/.containerenv", "/.dockerenv"].iter().any(|file| std::fs::metadata(file).is_ok());
    let says_so = || Ancestor::at(1).is_some_and(|first| first.has_any(&["container"]));
    users > 1 && (first_is_anothers() || is_marked() || says_so())
}

/// Gives this process a name, which [`Ancestor::is_called`] finds. Call it in the main thread.
pub fn take_name(name: &str) {
    if let Ok(name) = std::ffi::CString::new(name) {
        let _ = rustix::thread::set_name(&name);
    }
}

/// Reads the entries of the environment of a process. A zero byte ends each entry.
fn environment(pid: i32) -> Option<Vec<u8>> {
    let file = open(pid, "environ")?;
    let mut all = Vec::with_capacity(16 << 10);
    // The kernel fills the buffer as far as the environment goes.
    while rustix::io::read(&file, spare_capacity(&mut all)).ok()? > 0 && all.len() == all.capacity() && all.len() < ENVIRONMENT {
        all.reserve(all.len());
    }
    // The process may have overwritten the last zero byte.
    all.push(0);
    Some(all)
}

#[allow(clippy::disallowed_methods, reason = "it opens for reading only")]
fn open(pid: i32, file: &str) -> Option<OwnedFd> {
    rustix::fs::open(format!("/proc/{pid}/{file}"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Reads `PID (NAME) STATE PARENT …`, the form of proc_pid_stat(5). The name may hold any byte, also `)`.
fn parent_and_name(line: &[u8]) -> Option<(i32, &[u8])> {
    let (open, close) = (line.iter().position(|byte| *byte == b'(')?, line.iter().rposition(|byte| *byte == b')')?);
    let behind = std::str::from_utf8(line.get(close + 1..)?).ok()?;
    Some((behind.split_ascii_whitespace().nth(1)?.parse().ok()?, line.get(open + 1..close)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_what_stands_around_it() {
        assert_eq!(parent_and_name(b"7 (a) R 1 (b) S 3 0"), Some((3, &b"a) R 1 (b"[..])));
        assert_eq!(parent_and_name(b"7 (claude) S 42 7 7"), Some((42, &b"claude"[..])));
        assert!(["", "7 (a", "7 (a)", "7 (a) S", "7 )a( S 3"].iter().all(|line| parent_and_name(line.as_bytes()).is_none()));
    }

    #[test]
    fn the_parent_is_found_and_a_large_environment_is_searched() {
        let own = i32::try_from(std::process::id()).unwrap();
        // Both are 0 in a PID namespace whose session and parent are outside of it.
        let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
        assert_eq!(Ancestor::at(own).unwrap().parent, parent);
        if session_leader() != 0 {
            assert_eq!(session_leader(), rustix::process::getsid(None).unwrap().as_raw_nonzero().get());
        }
        let mut child = std::process::Command::new("sleep");
        child.arg("100").env_clear().env("AFIRST", "x".repeat(100_000)).env("MARK", "1").env("NOTMARK2", "").env("EMPTY", "");
        let mut child = child.spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        // The kernel sets the name and the environment a moment after the program was started.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let is_set = || Ancestor::at(pid).is_some_and(|seen| seen.is_called("sleep") && seen.has_any(&["MARK"]));
        while !is_set() && std::time::Instant::now() < until {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let seen = Ancestor::at(pid).unwrap();
        let found = [&["MARK"][..], &["EMPTY"], &["MAR"], &["OTHER", "MARK"]].map(|names| seen.has_any(names));
        let name = seen.is_called("sleep");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((found, name), ([true, false, false, true], true));
    }
}
