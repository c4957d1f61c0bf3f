//! The processes above this one, from `/proc`, with few system calls: a program that runs for a millisecond looks at all of them.

use std::cell::OnceCell;
use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags};

/// The longest line in `/proc/PID/stat` up to the parent's pid, in bytes, and more.
const STAT: usize = 128;
/// The largest environment that is looked through, in bytes.
const ENVIRONMENT: usize = 256 << 10;

/// A process as it was when it was looked at.
pub(crate) struct Ancestor {
    pid: i32,
    /// Its parent.
    pub(crate) parent: i32,
    name: Vec<u8>,
    /// Its environment, once it was read; `None` if it cannot be.
    environment: OnceCell<Option<Vec<u8>>>,
}

impl Ancestor {
    /// Looks at the process that has this pid now.
    pub(crate) fn at(pid: i32) -> Option<Self> {
        let mut line = [0; STAT];
        let length = rustix::io::read(open(pid, "stat")?, &mut line).ok()?;
        let (parent, name) = parent_and_name(&line[..length])?;
        Some(Self { pid, parent, name: name.to_vec(), environment: OnceCell::new() })
    }

    /// Whether its program has this name.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name == name.as_bytes()
    }

    /// Whether its environment sets one of these variables to something; not if it cannot be read, such as that of another user's process.
    pub(crate) fn has_any(&self, variables: &[&str]) -> bool {
        let Some(environment) = self.environment.get_or_init(|| environment(self.pid)) else { return false };
        let sets = |entry: &[u8], name: &str| {
            entry.get(name.len()) == Some(&b'=') && entry.len() > name.len() + 1 && entry.starts_with(name.as_bytes())
        };
        let mut rest = environment.as_slice();
        // `CStr` finds the end of an entry by whole words of the machine.
        while let Ok(entry) = CStr::from_bytes_until_nul(rest) {
            let entry = entry.to_bytes();
            if variables.iter().any(|name| sets(entry, name)) {
                return true;
            }
            rest = &rest[entry.len() + 1..];
        }
        false
    }

    /// Whether it belongs to a user other than root.
    pub(crate) fn is_an_ordinary_users(&self) -> bool {
        std::fs::metadata(format!("/proc/{}", self.pid)).is_ok_and(|process| process.uid() != 0)
    }
}

/// The entries of the environment of a process, with a zero behind each.
fn environment(pid: i32) -> Option<Vec<u8>> {
    let file = open(pid, "environ")?;
    let mut all = Vec::with_capacity(16 << 10);
    // The kernel fills the buffer as far as there is something.
    while rustix::io::read(&file, spare_capacity(&mut all)).ok()? > 0 && all.len() == all.capacity() && all.len() < ENVIRONMENT {
        all.reserve(all.len());
    }
    // A process may have written over the last one.
    all.push(0);
    Some(all)
}

#[allow(clippy::disallowed_methods, reason = "it opens for reading only")]
fn open(pid: i32, file: &str) -> Option<OwnedFd> {
    rustix::fs::open(format!("/proc/{pid}/{file}"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// `PID (NAME) STATE PARENT …`, where the name may hold anything, also `)`.
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
    fn the_parent_of_this_process_is_found_and_an_environment_of_any_size_is_looked_through() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(Ancestor::at(own).unwrap().parent, rustix::process::getppid().unwrap().as_raw_nonzero().get());
        let mut child = std::process::Command::new("sleep");
        child.arg("100").env_clear().env("AFIRST", "x".repeat(100_000)).env("MARK", "1").env("NOTMARK2", "").env("EMPTY", "");
        let mut child = child.spawn().unwrap();
        let seen = Ancestor::at(i32::try_from(child.id()).unwrap()).unwrap();
        let found = [&["MARK"][..], &["EMPTY"], &["MAR"], &["OTHER", "MARK"]].map(|names| seen.has_any(names));
        let name = seen.is_called("sleep");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((found, name), ([true, false, false, true], true));
    }
}
