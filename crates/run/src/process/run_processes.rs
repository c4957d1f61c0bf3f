//! All processes of a run. They are found by the `ASKBOX_RUN` that they inherit, and ended. Process groups are not enough, because an
//! agent's tools have process groups and sessions of their own.
//!
//! # Limitations
//! A process that clears its environment is found by its parents, while one of them lives that has not cleared its own. It is also
//! found while the run's supervisor lives, which adopts its orphans. A process of another user is not found in this second way.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process::agent_exit;
use askbox_mailbox::Error;
use askbox_mailbox::platform::ProcessHandle;
use askbox_mailbox::platform::processes::{self, Seen};

/// How long the processes of a run get after SIGTERM: the agent needs up to three seconds to end its tools.
pub const TERM_GRACE: Duration = Duration::from_secs(5);

/// How long a process may take on a busy machine to show its environment after it has become another program.
const BECOMES_A_PROGRAM: Duration = Duration::from_secs(20);

/// A variable in the environment of a supervisor. If an agent starts a supervisor for another run, the agent's own supervisor adopts
/// it. This variable says that it does not belong to the adopting run.
pub const SUPERVISES: &str = "ASKBOX_SUPERVISES";

/// The owner of a process, by its environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The run.
    Ours,
    /// Another run.
    Another,
    /// It is a supervisor, whose run ends by itself.
    Supervisor,
    /// The environment does not name the owner, or cannot be read.
    Unknown,
}

/// Checks that processes can be found at all. Without that, no run may begin: the processes of an earlier one could not be ended.
///
/// # Errors
/// [`Error::Failed`] if `/proc` is missing, or shows another PID namespace.
pub fn check_visible() -> Result<(), Error> {
    if processes::are_visible() {
        return Ok(());
    }
    let hint = "mount it: mount -t proc proc /proc (unshare needs --mount-proc; a container must not hide /proc), then repeat the command";
    Err(Error::failed("/proc does not show the processes of this PID namespace, so no agent can be started or ended", hint))
}

/// The value that a variable had at the start of this process. `None` if that cannot be read.
pub fn started_with(pid: u32, name: &str) -> Option<OsString> {
    Seen::at(i32::try_from(pid).ok()?)?.environment()?.get(name).map(OsString::from)
}

/// All processes whose `ASKBOX_RUN` is one that `is_ours` accepts, and their descendants, but never this process itself. The run's
/// supervisor also finds its adopted orphans, whose environment may be empty.
pub fn find(is_ours: impl Fn(&str) -> bool) -> Vec<ProcessHandle> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let mut parents: HashMap<i32, i32> = HashMap::new();
    let mut found: HashSet<i32> = HashSet::new();
    // One after the other, because each of them holds a descriptor. A process that has ended by then is left out.
    for process in processes::all() {
        let (pid, parent) = (process.pid(), process.parent);
        parents.insert(pid, parent);
        let is_adopted = || parent == own && agent_exit::is_of_the_run(pid) && process.is_of_this_user();
        let owner = match owner(&process, &is_ours) {
            Owner::Unknown if is_adopted() => settled_owner(&process, &is_ours),
            Owner::Unknown => Owner::Another,
            known => known,
        };
        if matches!(owner, Owner::Ours | Owner::Unknown) {
            found.insert(pid);
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
    // Each behind its parent. Pids that were reused during the look could make a circle.
    let depth = |pid: &i32| {
        let parent = |pid: &i32| parents.get(pid).filter(|parent| found.contains(parent)).copied();
        std::iter::successors(parent(pid), parent).take(found.len()).count()
    };
    let mut in_order: Vec<i32> = found.iter().copied().filter(|pid| *pid != own).collect();
    in_order.sort_by_cached_key(depth);
    // The second look. A pid may have been reused before its handle was opened, but not afterwards. A process whose parent has ended since the
    // first look was adopted. A process that has become a supervisor since then belongs to another run, together with all processes below it.
    let mut of_run: HashSet<i32> = HashSet::from([own]);
    let mut handles = Vec::new();
    for pid in in_order {
        let Some(handle) = u32::try_from(pid).ok().and_then(ProcessHandle::open) else { continue };
        let is_still_one = Seen::at(pid).is_some_and(|now| {
            let is_adopted = || now.parent == own && agent_exit::is_of_the_run(pid);
            let is_below = || parents.get(&pid) == Some(&now.parent) && (of_run.contains(&now.parent) || !found.contains(&now.parent));
            match settled_owner(&now, &is_ours) {
                Owner::Ours => true,
                Owner::Supervisor => false,
                Owner::Another | Owner::Unknown => is_below() || is_adopted(),
            }
        });
        if is_still_one {
            of_run.insert(pid);
            handles.push(handle);
        }
    }
    handles.retain(|handle| !handle.is_gone());
    handles
}

fn owner(process: &Seen, is_ours: &impl Fn(&str) -> bool) -> Owner {
    // The environment of another user's process cannot be read.
    let Some(environment) = process.environment() else { return Owner::Unknown };
    match environment.get("ASKBOX_RUN").map(|token| token.to_str()) {
        Some(token) => token.filter(|token| is_ours(token)).map_or(Owner::Another, |_| Owner::Ours),
        None if environment.get(SUPERVISES).is_some() => Owner::Supervisor,
        None => Owner::Unknown,
    }
}

/// Like `owner`, but waits while a process of askbox becomes its program. The kernel shows a process without an environment just then. The
/// supervisor of another run is adopted exactly at that time, if an agent has started it.
fn settled_owner(process: &Seen, is_ours: &impl Fn(&str) -> bool) -> Owner {
    let deadline = Instant::now() + BECOMES_A_PROGRAM;
    let is_this_program = || process.file().is_some_and(|file| std::env::current_exe().is_ok_and(|own| own == file));
    while is_this_program() && Instant::now() < deadline {
        match owner(process, is_ours) {
            Owner::Unknown => std::thread::sleep(Duration::from_millis(1)),
            known => return known,
        }
    }
    owner(process, is_ours)
}

/// Waits until the processes of a run have ended, at most for `limit`. This is for a run whose supervisor died, and the agent got a
/// SIGTERM from that. The agent needs a while to end its tools and to write its transcript, and a second SIGTERM would cut that short.
pub fn wait_gone(is_ours: impl Fn(&str) -> bool, limit: Duration) {
    wait_for_all(&find(&is_ours), limit);
}

/// The number of processes in words.
pub(crate) fn counted(processes: usize) -> String {
    if processes == 1 { "1 process".to_owned() } else { format!("{processes} processes") }
}

fn wait_for_all(processes: &[ProcessHandle], limit: Duration) {
    let deadline = Instant::now() + limit;
    for process in processes {
        let _ = process.wait_gone(deadline.saturating_duration_since(Instant::now()));
    }
}

/// Sends a Unix signal to all processes of a run.
pub fn signal(is_ours: impl Fn(&str) -> bool, signal: Signal) {
    find(&is_ours).iter().for_each(|process| process.signal(signal));
}

/// Ends all processes of a run. They get SIGTERM and up to `grace`. Those that are left get SIGSTOP, so that none starts another one,
/// and SIGKILL, until none is found. Returns how many there were.
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
    fn processes_are_found_by_their_token_or_below_it() {
        let folder = tempfile::tempdir().unwrap();
        let odd = |text: &[u8]| OsString::from_vec([text, b"\xff) R 1"].concat());
        let shell = folder.path().join(odd(b"sh"));
        std::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
        let token = format!("test/{}/1", uuid::Uuid::new_v4());
        // The shell's child clears its environment; the shell is found by its own environment.
        let mut parent =
            Command::new(shell).args(["-c", "env -i sleep 600 & wait"]).env("ASKBOX_RUN", &token).env("ODD", odd(b"x")).spawn().unwrap();
        let is_ours = |found: &str| found == token;
        let deadline = Instant::now() + Duration::from_secs(60);
        while find(is_ours).len() < 2 {
            assert!(Instant::now() < deadline, "both are found");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(find(|found| found == "another").is_empty());
        assert!(end(is_ours, Duration::from_secs(5)).is_ok_and(|ended| ended >= 2));
        parent.wait().unwrap();
        assert!(find(is_ours).is_empty());
    }

    #[test]
    #[ignore = "the child of the next test"]
    fn a_child_that_waits_to_be_killed() {
        std::thread::sleep(Duration::from_secs(60));
    }

    #[test]
    fn a_supervisor_that_just_became_its_program_is_no_orphan() {
        for _ in 0..30 {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--ignored", "--exact", "process::run_processes::tests::a_child_that_waits_to_be_killed"]);
            let child = command.env_remove("ASKBOX_RUN").env(SUPERVISES, "child/x/1").stdout(std::process::Stdio::null()).spawn();
            let mut child = child.unwrap();
            // Linux usually shows a process without an environment at this moment.
            let seen = Seen::at(i32::try_from(child.id()).unwrap()).unwrap();
            let owner = settled_owner(&seen, &|_: &str| false);
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(owner, Owner::Supervisor);
        }
    }

    #[test]
    fn the_agent_of_a_run_that_just_began_is_not_its_starters() {
        let token = format!("test/{}/1", uuid::Uuid::new_v4());
        // As an agent does that starts one run after the other: each supervisor becomes its program, and starts its own agent at once.
        let supervises = "exec env -u ASKBOX_RUN ASKBOX_SUPERVISES=child/x/1 sh -c 'ASKBOX_RUN=child/x/1 sleep 0.01 & wait'";
        let script = format!("while :; do ({supervises}) & ({supervises}) & ({supervises}) & wait; done");
        let mut agent = Command::new("sh").args(["-c", &script]).env("ASKBOX_RUN", &token).spawn().unwrap();
        let is_of_child = |seen: &Seen| seen.environment().is_some_and(|all| all.get("ASKBOX_RUN").is_some_and(|run| run == "child/x/1"));
        let until = Instant::now() + Duration::from_secs(3);
        let mut wrong = 0;
        while Instant::now() < until {
            let found = find(|found| found == token);
            wrong += found.iter().filter_map(|handle| Seen::at(handle.pid())).filter(is_of_child).count();
        }
        let ended = end(|found| found == token, Duration::ZERO);
        agent.wait().unwrap();
        assert!(wrong == 0 && ended.is_ok(), "{wrong} agents of other runs would have been ended");
    }
}
