//! The causes that hold all rounds of a mailbox up. Every view says them in these words, and with these commands.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::Access;
use rustix::io::Errno;

use crate::process::{programs, run_processes};
use crate::story::kind::Cause;
use crate::story::queue::{Queue, QueueState};
use askbox_config::{self as config, Config, Runner, RunnerKind};
use askbox_mailbox::{Error, Mailbox, Time, WorkflowId, disk, presence, text, time};

/// With less free space than this, a post can hardly succeed: the largest question takes 1 MiB.
const LITTLE: u64 = 1 << 20;

/// The systemd service of the watcher.
pub const SERVICE: &str = "askbox.service";

/// One thing that keeps a round from going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldUp {
    /// Its kind.
    pub cause: Cause,
    /// The reason: a clause such as "no watcher runs". For a paused queue it does not say until when: see [`HoldUp::clause`].
    pub why: String,
    /// When it ends by itself, if that is known.
    pub until: Option<Time>,
    /// The command that changes it.
    pub next: String,
}

impl HoldUp {
    pub(crate) fn new(cause: Cause, why: impl Into<String>, next: impl Into<String>) -> Self {
        Self { cause, why: why.into(), until: None, next: next.into() }
    }

    /// True if it is the same. The words about the queue hold its age, which changes.
    pub fn is_same(&self, other: &Self) -> bool {
        self.cause == other.cause && (self.cause != Cause::NoProgram || self.why == other.why)
    }

    /// The reason, with the time as the reader has it.
    pub fn clause(&self, moment: impl Fn(Time) -> String) -> String {
        match (self.cause, self.until) {
            (Cause::Failures | Cause::DayCost, Some(until)) => format!("the queue is paused until {}: {}", moment(until), self.why),
            (Cause::Failures | Cause::DayCost | Cause::DayCostReserved, _) => format!("the queue is paused: {}", self.why),
            _ => self.why.clone(),
        }
    }

    /// Says it, with the command.
    pub fn words(&self) -> String {
        self.words_at(time::rfc3339)
    }

    /// [`words`](Self::words) with the time as the reader has it.
    pub fn words_at(&self, moment: impl Fn(Time) -> String) -> String {
        let until = if self.cause == Cause::Held { "; nothing is launched until" } else { "" };
        let said = format!("{}{until}", self.clause(moment));
        if said.ends_with(&self.next) { said } else { format!("{said}: {}", self.next) }
    }

    /// Says it about an answered workflow.
    pub fn sentence(&self, id: &WorkflowId) -> String {
        let once = if self.cause == Cause::NoWatcher { format!(", or once: relaunch {id}") } else { String::new() };
        format!("{id} is answered, but {}{once}", self.words())
    }
}

/// The cause if the mailbox's disk is full.
pub fn no_room(mailbox: &Mailbox) -> Option<HoldUp> {
    let root = mailbox.root();
    let room = rustix::fs::statvfs(root).ok()?;
    let blocks = if rustix::process::geteuid().is_root() { room.f_bfree } else { room.f_bavail };
    let bytes = blocks.saturating_mul(room.f_frsize);
    // A filesystem without a fixed number of files reports 0 of 0.
    let is_out_of_names = room.f_files > 0 && room.f_ffree == 0;
    let what = match (bytes < LITTLE, is_out_of_names) {
        (true, _) => format!("{} KiB are left on its disk", bytes >> 10),
        (_, true) => "its disk can hold no more files".to_owned(),
        _ => return None,
    };
    let why = format!("{what}: posts and answers are refused, and results cannot be recorded; make room there, or remove history");
    Some(HoldUp::new(Cause::FullDisk, why, format!("df -h {path}; df -i {path}; askbox gc", path = text::path_word(root))))
}

/// The cause if the mailbox's filesystem is mounted read-only.
pub fn read_only(mailbox: &Mailbox) -> Option<HoldUp> {
    let refused = rustix::fs::access(mailbox.root(), Access::WRITE_OK).err();
    (refused == Some(Errno::ROFS)).then(|| {
        let next = format!("sudo mount -o remount,rw \"$(findmnt -n -o TARGET -T {})\"", text::path_word(mailbox.root()));
        HoldUp::new(Cause::ReadOnly, "its filesystem is mounted read-only: posts, answers and results are refused", next)
    })
}

/// The cause if the queue launches nothing. A queue that tries one run is not a cause.
pub fn of_queue(queue: &Queue, config: &Config) -> Option<HoldUp> {
    let (QueueState::Paused, Some(cause)) = (queue.state, queue.cause) else { return None };
    let why = queue.why.as_deref().unwrap_or_default();
    let why = match cause {
        Cause::Held => return Some(held(why)),
        Cause::NoProgram => format!("the queue is paused: {why}"),
        Cause::DayCost => format!("{why}; to allow more today, raise limits.day_cost"),
        _ => why.to_owned(),
    };
    // The pause for a missing program ends only when a watcher looks again.
    let until = queue.until.filter(|_| cause != Cause::NoProgram);
    Some(HoldUp { until, ..HoldUp::new(cause, why, next_of(cause, config)) })
}

pub(super) fn held(how: &str) -> HoldUp {
    HoldUp::new(Cause::Held, format!("the queue is {how}"), "relaunch go")
}

/// The command that ends a pause of the queue. `relaunch go` ends a person's pause, and a pause after failures. Only the operator's
/// configuration allows more money, and a program has to be there.
fn next_of(cause: Cause, config: &Config) -> String {
    let runner = || config.runner.in_use().ok()?.first().map(|(_, runner)| startable(runner));
    match cause {
        Cause::NoProgram => runner().unwrap_or_else(edit_configuration),
        Cause::DayCost => edit_configuration(),
        Cause::DayCostReserved => "relaunch status".to_owned(),
        _ => "relaunch go".to_owned(),
    }
}

/// The cause if no watcher runs, or if the one that runs is stopped.
pub fn no_watcher(mailbox: &Mailbox) -> Option<HoldUp> {
    match disk::shared_lock_holder(&mailbox.lock_file("watchers")) {
        Some(watcher) if watcher.is_stopped => {
            let why = format!("the watcher does nothing: it is {watcher}");
            Some(HoldUp::new(Cause::WatcherStopped, why, format!("kill -CONT {}", watcher.pid)))
        }
        // A watcher of another container is not seen.
        None if !presence::anybody(mailbox).unwrap_or(true) => Some(HoldUp::new(Cause::NoWatcher, "no watcher runs", "relaunch watch")),
        Some(_) | None => None,
    }
}

/// The command that restarts a healthy watcher. `start` is the command that starts a watcher without a service. A service restarts its own watcher: systemd names the
/// process that it starts in that process's environment, see systemd.exec(5).
pub fn restart(pid: u32, start: &str) -> String {
    match run_processes::started_with(pid, "SYSTEMD_EXEC_PID").is_some_and(|of_service| of_service == *pid.to_string()) {
        true => format!("systemctl --user restart {SERVICE}"),
        false => format!("kill -TERM {pid} && {start}"),
    }
}

/// The cause if an agent cannot be started in this folder.
pub fn no_folder(id: &WorkflowId, folder: &Path) -> Option<HoldUp> {
    let entered = disk::open_folder(folder).map(|_| rustix::fs::access(folder, Access::EXEC_OK).map_err(io::Error::from));
    let why = match entered {
        Ok(Ok(())) => return None,
        Ok(Err(why)) | Err(Error::Io { source: why, .. }) => why,
        Err(_) => return None,
    };
    let (shown, word) = (text::file_name(folder), text::path_word(folder));
    let (why, next) = if why.kind() == io::ErrorKind::NotFound {
        let how = format!("put it back, or name its new place then: relaunch retry {id} --cwd DIR");
        (format!("its agent's folder {shown} does not exist, so its answer will be parked; {how}"), format!("mkdir -p {word}"))
    } else {
        let is_mine = folder.metadata().is_ok_and(|about| about.is_dir() && about.uid() == rustix::process::geteuid().as_raw());
        let mend = if is_mine { "chmod u+rx" } else { "ls -ld" };
        (format!("its agent's folder {shown} cannot be entered ({why}), so its answer will be parked"), format!("{mend} {word}"))
    };
    Some(HoldUp::new(Cause::Folder, why, next))
}

/// The cause if the program of a workflow's runner cannot be started.
pub fn no_program(config: &Config, id: &WorkflowId) -> Option<HoldUp> {
    let (name, error, next) = match config.runner_of(id) {
        Ok((name, runner)) => (format!(" `{name}`"), programs::of_runner(&runner).err()?, startable(&runner)),
        Err(error) => (String::new(), error, edit_configuration()),
    };
    let why = format!("its runner{name} cannot be started from here: {error}; {}", error.hint());
    Some(HoldUp::new(Cause::NoProgram, why, next))
}

/// The cause if a session of Codex is not told of its answer, for this reason.
pub fn not_told(id: &WorkflowId, why: &str) -> HoldUp {
    let why = format!("its session of Codex is not told, because {why}");
    HoldUp::new(Cause::NotTold, why, format!("relaunch {id}"))
}

/// The command that makes this runner's program startable.
pub fn startable(runner: &Runner) -> String {
    if runner.kind == RunnerKind::Acp && programs::adapter().is_err() {
        return programs::FROM_A_CHECKOUT.to_owned();
    }
    match programs::not_executable(Path::new(&runner.program)) {
        Some(file) => format!("chmod +x {}", text::path_word(&file)),
        None if programs::find(Path::new(&runner.program)).is_ok() => edit_configuration(),
        None if runner.program == "claude" => "npm install -g @anthropic-ai/claude-code".to_owned(),
        None => edit_configuration(),
    }
}

/// The command that opens an editor on the configuration. A folder in the place of the file is moved aside first.
pub fn edit_configuration() -> String {
    let file = config::location().unwrap_or_default();
    let word = text::path_word(&file);
    let edit = format!("${{EDITOR:-vi}} {word}");
    if file.is_dir() { format!("mv {word} {} && {edit}", text::path_word(file.with_extension("aside"))) } else { edit }
}

/// The cause if the configuration cannot be read: each supervisor reads it, and ends if it cannot.
pub fn unreadable_configuration(error: &Error) -> HoldUp {
    let why = format!("no agent is launched, because the configuration cannot be read: {error}; {}", error.hint());
    HoldUp::new(Cause::Configuration, why, edit_configuration())
}
