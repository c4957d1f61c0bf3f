//! All processes of a run: found by the `ASKBOX_RUN` that they inherit, and ended. Process groups would not do, because an agent's
//! tools have process groups and sessions of their own.
//!
//! # Limitations
//! Linux only. A process that clears its environment is found only while its parent lives.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::time::{Duration, Instant};

use procfs::process::{Process, all_processes};
use rustix::process::Signal;

use crate::run::process::handle::ProcessHandle;

/// How long the processes of a run get after SIGTERM: the agent needs up to three seconds to end its tools.
pub const TERM_GRACE: Duration = Duration::from_secs(5);

/// All processes with an `ASKBOX_RUN` that `is_ours` accepts, and their descendants; never this process itself.
#[must_use]
pub fn find(is_ours: impl Fn(&str) -> bool) -> Vec<ProcessHandle> {
    let mut parents: HashMap<i32, i32> = HashMap::new();
    let mut found: HashSet<i32> = HashSet::new();
    // One after the other, because each of them holds a descriptor. A process that ends meanwhile is left out.
    for process in all_processes().into_iter().flatten().flatten() {
        if let Some(parent) = parent_of(&process) {
            parents.insert(process.pid, parent);
        }
        if carries_token(&process, &is_ours) {
            found.insert(process.pid);
        }
    }
    // Descendants that have cleared their environment.
    loop {
        let more: Vec<i32> =
            parents.iter().filter(|(pid, parent)| found.contains(parent) && !found.contains(pid)).map(|(pid, _)| *pid).collect();
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    let own = std::process::id();
    // A pid may have been reused before its handle was opened; from then on it cannot be.
    let is_the_one_found = |handle: &ProcessHandle| {
        Process::new(handle.pid()).is_ok_and(|now| {
            carries_token(&now, &is_ours) || parents.get(&handle.pid()).is_some_and(|parent| parent_of(&now) == Some(*parent))
        })
    };
    let pids = found.into_iter().filter_map(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != own);
    pids.filter_map(ProcessHandle::open).filter(is_the_one_found).filter(|handle| !handle.is_gone()).collect()
}

/// False for processes of other users, whose environment cannot be read.
fn carries_token(process: &Process, is_ours: &impl Fn(&str) -> bool) -> bool {
    let Ok(environment) = process.environ() else { return false };
    environment.get(OsStr::new("ASKBOX_RUN")).and_then(|token| token.to_str()).is_some_and(is_ours)
}

fn parent_of(process: &Process) -> Option<i32> {
    process.stat().ok().map(|stat| stat.ppid)
}

/// Waits until the processes of a run have ended, at most for `limit`. For a run whose supervisor died, which sent the agent a SIGTERM:
/// the agent needs a while to end its tools and to write its transcript, and a second SIGTERM would cut that short.
pub fn wait_gone(is_ours: impl Fn(&str) -> bool, limit: Duration) {
    wait_for_all(&find(&is_ours), limit);
}

fn wait_for_all(processes: &[ProcessHandle], limit: Duration) {
    let deadline = Instant::now() + limit;
    for process in processes {
        let _ = process.wait_gone(deadline.saturating_duration_since(Instant::now()));
    }
}

/// Ends all processes of a run: SIGTERM, up to `grace`, then SIGSTOP to all, so that none starts another one, and SIGKILL, until none is
/// found. Returns how many there were.
///
/// # Errors
/// The number of processes that cannot be killed, because they hang in the kernel.
pub fn end(is_ours: impl Fn(&str) -> bool, grace: Duration) -> Result<usize, usize> {
    let first = find(&is_ours);
    let count = first.len();
    if count == 0 {
        return Ok(0);
    }
    first.iter().for_each(|p| p.signal(Signal::TERM));
    wait_for_all(&first, grace);
    for _ in 0..50 {
        let left = find(&is_ours);
        if left.is_empty() {
            return Ok(count);
        }
        left.iter().for_each(|p| p.signal(Signal::STOP));
        left.iter().for_each(|p| p.signal(Signal::KILL));
        for process in &left {
            let _ = process.wait_gone(Duration::from_millis(500));
        }
    }
    Err(find(&is_ours).len())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn processes_are_found_by_their_token_and_below_it_without_one_whatever_bytes_their_names_and_environments_have() {
        let folder = tempfile::tempdir().unwrap();
        let odd = |text: &[u8]| OsString::from_vec([text, b"\xff) R 1"].concat());
        let shell = folder.path().join(odd(b"sh"));
        std::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
        let token = format!("test/{}/1", uuid::Uuid::new_v4());
        // The shell's child clears its environment; the shell is found by its own.
        let mut parent =
            Command::new(shell).args(["-c", "env -i sleep 600 & wait"]).env("ASKBOX_RUN", &token).env("ODD", odd(b"x")).spawn().unwrap();
        let is_ours = |found: &str| found == token;
        let deadline = Instant::now() + Duration::from_secs(10);
        while find(is_ours).len() < 2 {
            assert!(Instant::now() < deadline, "both are found");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(find(|found| found == "another").is_empty());
        assert!(end(is_ours, Duration::from_secs(5)).is_ok_and(|ended| ended >= 2));
        parent.wait().unwrap();
        assert!(find(is_ours).is_empty());
    }
}
