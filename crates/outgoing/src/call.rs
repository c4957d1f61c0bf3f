//! One run of a program with its standard input, in a process group of its own. It is killed at the time limit.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, ioctl_fionread};
use rustix::process::{Pid, Signal, kill_process_group};

use askbox_mailbox::{IoContext, ReadyThread, Result, status_within, text, time};
use askbox_run::launch;

/// How often to look at a program that this process cannot wait for.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The most bytes of a program's output that are kept.
const SAID: u64 = 2000;

/// The program to run.
#[derive(Debug, Default)]
pub(crate) struct ProgramCall {
    /// Its name or path.
    pub program: OsString,
    pub args: Vec<OsString>,
    pub env: Vec<(&'static str, String)>,
    /// The standard input of the program.
    pub input: Vec<u8>,
    pub errors: Errors,
    /// True for a program of ours, which dies with the thread that starts it. The operator's own program does not.
    pub is_tied: bool,
}

impl ProgramCall {
    /// The command, with its arguments. The watcher has taken out the variables that its own caller meant for itself.
    pub(crate) fn command(&self) -> Command {
        let mut command = if self.is_tied { launch::command_tied_to_this_thread(&self.program) } else { Command::new(&self.program) };
        command.args(&self.args);
        command
    }
}

/// The part of a program's standard error that is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Errors {
    #[default]
    Nothing,
    /// All of it, because the program reports a problem in one line.
    OneLine,
    /// The last line, because the program may write anything, without a limit.
    LastLine,
}

/// The most programs whose errors are read at the same time, because a child that a program leaves behind may hold them open for ever.
const MOST_FOLLOWED: usize = 16;

static FOLLOWED: AtomicUsize = AtomicUsize::new(0);

/// The time that a run may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    /// The key of the configuration that says it.
    pub key: &'static str,
    pub time: Duration,
}

/// Runs a program. `ended` is called with the problem, if there was one.
pub(crate) fn start(call: ProgramCall, limit: Limit, ended: impl FnOnce(Result<(), String>) + Send + 'static) -> Result<()> {
    let shown = call.program.to_string_lossy().into_owned();
    let thread = ReadyThread::start()?;
    let errors = if call.errors == Errors::OneLine { Some(in_memory(&[]).io("hold the errors of", &shown)?) } else { None };
    let follows = call.errors == Errors::LastLine && FOLLOWED.load(Ordering::Relaxed) < MOST_FOLLOWED;
    let follower = if follows { Some(ReadyThread::start()?) } else { None };
    let mut child = call
        .command()
        .envs(call.env)
        // With a pipe, the caller would wait for a program that never reads it.
        .stdin(in_memory(&call.input).io("hold the input of", &shown)?)
        .stdout(Stdio::null())
        .stderr(match &errors {
            Some(file) => file.try_clone().io("hold the errors of", &shown)?.into(),
            None if follower.is_some() => Stdio::piped(),
            None => Stdio::null(),
        })
        .process_group(0)
        .spawn()
        .io("run", &shown)?;
    let tail = follower.zip(child.stderr.take()).map(|(follower, stderr)| Tail::follow(follower, stderr));
    thread.run(move || ended(wait(&mut child, limit, errors, tail).map_err(|problem| format!("{shown} {problem}"))));
    Ok(())
}

fn wait(child: &mut Child, limit: Limit, errors: Option<File>, tail: Option<Arc<Tail>>) -> Result<(), String> {
    let was_killed = !status_within(child, limit.time).is_ok_and(|ended| ended.is_some());
    if was_killed {
        // The process is not reaped yet, so the group is still its own.
        let _ = Pid::from_raw(child.id().cast_signed()).map(|group| kill_process_group(group, Signal::KILL));
    }
    let status = child.wait().map_err(|e| format!("cannot be waited for: {e}"))?;
    if was_killed {
        return Err(format!("was killed after {} = {}", limit.key, time::human(limit.time)));
    }
    if status.success() {
        return Ok(());
    }
    let mut said = Vec::new();
    if let Some(mut errors) = errors {
        let _ = errors.rewind().and_then(|()| errors.take(SAID).read_to_end(&mut said));
    }
    if let Some(tail) = tail {
        let said = tail.last_line();
        return Err(if said.is_empty() { format!("failed: {status}") } else { format!("failed: {status}: {said}") });
    }
    let said = text::excerpt(String::from_utf8_lossy(&said).trim(), 200);
    Err(if said.is_empty() { format!("failed: {status}") } else { format!("failed: {said}") })
}

/// The end of a program's output. The output is read completely, because a program would block if nobody read it.
struct Tail {
    pipe: File,
    /// A reader of the pipe holds this until the bytes are in it.
    said: Mutex<Vec<u8>>,
}

impl Tail {
    fn follow(thread: ReadyThread, stderr: ChildStderr) -> Arc<Self> {
        FOLLOWED.fetch_add(1, Ordering::Relaxed);
        let tail = Arc::new(Self { pipe: File::from(OwnedFd::from(stderr)), said: Mutex::default() });
        let followed = Arc::clone(&tail);
        thread.run(move || {
            followed.read_all();
            FOLLOWED.fetch_sub(1, Ordering::Relaxed);
        });
        tail
    }

    /// Reads until the program and its children have closed the pipe.
    fn read_all(&self) {
        let mut bytes = [0; 4096];
        loop {
            // The lock is free while the pipe is empty.
            match poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                // Out of memory. Try again: the program would block.
                Err(_) => {
                    std::thread::sleep(LOOK_EVERY);
                    continue;
                }
            }
            let mut said = self.said();
            match (&self.pipe).read(&mut bytes) {
                Ok(0) => return,
                Ok(n) => keep_the_end(&mut said, &bytes[..n]),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// The last line of a program that has ended. All that it said was read, or is in the pipe. The end of the pipe may never come, because
    /// a child that the program left behind may hold it open. To be called once: afterwards, the reading thread may wait with the lock.
    fn last_line(&self) -> String {
        let mut said = self.said();
        let left = ioctl_fionread(&self.pipe).unwrap_or_default();
        let mut unread = Vec::new();
        let _ = (&self.pipe).take(left).read_to_end(&mut unread);
        keep_the_end(&mut said, &unread);
        let said = String::from_utf8_lossy(&said);
        said.lines().rev().find(|line| !line.trim().is_empty()).map_or_else(String::new, |line| text::excerpt(line.trim(), 200))
    }

    fn said(&self) -> MutexGuard<'_, Vec<u8>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn keep_the_end(said: &mut Vec<u8>, more: &[u8]) {
    said.extend_from_slice(more);
    let most = usize::try_from(SAID).unwrap_or(usize::MAX);
    said.drain(..said.len().saturating_sub(most));
}

/// A file without a name.
fn in_memory(bytes: &[u8]) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}
