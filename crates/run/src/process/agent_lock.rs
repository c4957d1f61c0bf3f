//! The lock that an agent's own process holds. A watcher in another PID namespace, such as a container that shares the mailbox, cannot
//! see the agent, but it sees this lock.
//!
//! The process that becomes the agent takes the lock and keeps its descriptor open, so the lock lives as long as the agent. Claude Code
//! passes the descriptor to no tool, so a process that a tool left behind does not hold it. Other agent programs may pass it on.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::FdFlags;
use rustix::process::Signal;

use askbox_mailbox::disk::{Lock, lock_holder};
use askbox_mailbox::platform::ProcessHandle;
use askbox_mailbox::{Error, IoContext, Result, disk, text};

/// The name of the lock file in the attempt's folder.
pub const NAME: &str = "agent.lock";

/// The longest description of an agent that is read, in bytes.
const LARGEST: u64 = 1 << 10;

/// How long to wait for another process that only looks whether the lock is held.
const LOOK: Duration = Duration::from_millis(200);

/// The lock file of an attempt, in its folder.
pub fn path(attempt: &Path) -> PathBuf {
    attempt.join(NAME)
}

/// True if the path has the name of such a lock file.
pub fn is_one(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == NAME)
}

/// Takes the lock for as long as this process and the program that it becomes live, and writes down which process that is.
///
/// # Errors
/// [`Error::Held`] if another process holds the lock, [`Error::Io`] if the lock file cannot be written.
pub fn keep(path: &Path) -> Result<()> {
    let lock = Lock::acquire(path)?;
    // Not closed by `exec`.
    rustix::io::fcntl_setfd(lock.file(), FdFlags::empty()).map_err(std::io::Error::from).io("keep", path)?;
    // The words are for people only: on a full disk the lock is held all the same.
    let _ = describe(lock.file());
    std::mem::forget(lock);
    Ok(())
}

fn describe(mut file: &File) -> std::io::Result<()> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    disk::empty(file)?;
    file.write_all(format!("process {} of the host {host}\n", std::process::id()).as_bytes())
}

/// True if a process holds the lock. False if no agent has ever taken it.
///
/// # Errors
/// [`Error::Io`] if the lock cannot be tried.
pub fn is_held(path: &Path) -> Result<bool> {
    Ok(!Lock::is_free_within(path, LOOK)?)
}

/// The agent that holds the lock, as it described itself.
pub fn holder(path: &Path) -> String {
    let words = disk::read(path, LARGEST).unwrap_or_default();
    text::excerpt(String::from_utf8_lossy(&words).trim(), 120)
}

/// Ends the processes that hold the lock and that this process can see, with `grace` behind SIGTERM. An agent that it cannot see gets
/// `patience` to end by itself: the kernel sent it a SIGTERM when its supervisor died. Returns true if the lock is free.
///
/// # Errors
/// [`Error::Io`] if the lock cannot be tried. [`Error::Failed`] if a process cannot be killed.
pub fn end_holders(path: &Path, grace: Duration, patience: Duration) -> Result<bool> {
    while is_held(path)? {
        let seen = lock_holder(path).map(|holder| holder.pid);
        let Some(process) = seen.and_then(ProcessHandle::open) else { return Lock::is_free_within(path, patience) };
        // Another process may have got this number before it was opened. If it still holds the lock, it is the agent.
        if lock_holder(path).map(|holder| holder.pid) != seen {
            continue;
        }
        process.signal(Signal::TERM);
        if !process.wait_gone(grace) {
            process.signal(Signal::KILL);
        }
        if !process.wait_gone(grace) {
            let pid = process.pid();
            return Err(Error::failed(format!("process {pid} of the earlier attempt cannot be killed"), "end it by hand"));
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_process_that_inherited_the_lock_holds_it_and_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path());
        assert!(!is_held(&path).unwrap(), "there is no lock file");
        describe(&File::create(&path).unwrap()).unwrap();
        // The holder clears its environment. It takes the lock itself: a process that another test starts would inherit ours.
        let mut child = Command::new("flock").arg("--no-fork").arg(&path).args(["env", "-i", "sleep", "600"]).spawn().unwrap();
        let begun = Instant::now();
        while !is_held(&path).unwrap() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it takes the lock");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(holder(&path).starts_with(&format!("process {} of the host ", std::process::id())), "{}", holder(&path));
        // Reaped at once, because a zombie of this process would be looked at again.
        let waits = std::thread::spawn(move || child.wait());
        assert!(end_holders(&path, Duration::from_secs(10), Duration::ZERO).unwrap());
        assert!(!is_held(&path).unwrap());
        assert!(!waits.join().unwrap().unwrap().success());
    }
}
