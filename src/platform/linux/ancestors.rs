//! The processes above this one, from `/proc`, with few system calls: a program that runs for a millisecond looks at all of them.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

/// The longest line in `/proc/PID/stat` up to the parent's pid, in bytes, and more.
const STAT: usize = 512;
/// The largest environment that is looked through, in bytes.
const ENVIRONMENT: usize = 256 << 10;

/// A process as it was when it was looked at.
pub(crate) struct Ancestor {
    pid: i32,
    /// Its parent.
    pub(crate) parent: i32,
    name: Vec<u8>,
}

impl Ancestor {
    /// Looks at the process that has this pid now.
    pub(crate) fn at(pid: i32) -> Option<Self> {
        let mut line = [0; STAT];
        let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
        let (parent, name) = parent_and_name(&line[..length])?;
        Some(Self { pid, parent, name: name.to_vec() })
    }

    /// Whether its program has this name.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name == name.as_bytes()
    }

    /// Whether its environment sets one of these variables to something; not if it cannot be read, such as that of another user's process.
    pub(crate) fn has_any(&self, variables: &[&str]) -> bool {
        let Some(environment) = self.environment() else { return false };
        let sets = |entry: &[u8], name: &str| entry.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.len() > 1 && rest[0] == b'=');
        environment.split(|byte| *byte == 0).any(|entry| variables.iter().any(|name| sets(entry, name)))
    }

    /// Whether it belongs to a user other than root.
    pub(crate) fn is_an_ordinary_users(&self) -> bool {
        std::fs::metadata(format!("/proc/{}", self.pid)).is_ok_and(|process| process.uid() != 0)
    }

    fn environment(&self) -> Option<Vec<u8>> {
        let mut file = File::open(format!("/proc/{}/environ", self.pid)).ok()?;
        let mut all = vec![0; 16 << 10];
        let mut length = file.read(&mut all).ok()?;
        // The kernel fills the buffer as far as there is something.
        while length == all.len() && length < ENVIRONMENT {
            all.resize(2 * length, 0);
            length += file.read(&mut all[length..]).ok()?;
        }
        all.truncate(length);
        Some(all)
    }
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
