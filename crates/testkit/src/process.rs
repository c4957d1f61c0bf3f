//! How the tests start processes, wait for them and kill them.

use std::io::{Read, Write};
use std::panic::AssertUnwindSafe;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

pub use rustix::process::Signal;

/// How long anything may take before the test fails. No step needs nearly as long, even on a busy machine, where eight agents that wait for
/// each other have taken two minutes to start.
pub const LIMIT: Duration = Duration::from_secs(300);

/// How a process ended and what it printed.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// The exit status; -1 if a signal ended the process.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    /// Standard output followed by standard error.
    pub fn words(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Itself, after a check that the exit status is 0.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert!(self.status.success(), "{self:?}");
        self
    }

    /// Standard output as one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Each line of standard output as a JSON value.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line:?}; {self:?}"));
        self.stdout.lines().map(parse).collect()
    }

    /// The last event of type `result`.
    #[track_caller]
    pub fn result(&self) -> Value {
        let last = self.events().into_iter().rev().find(|event| event["type"] == "result");
        last.unwrap_or_else(|| panic!("no result event: {self:?}"))
    }
}

/// Runs a command to its end.
#[track_caller]
pub fn output(command: &mut Command) -> Outcome {
    finish(command, None)
}

/// Runs a command to its end with `input` on its standard input.
#[track_caller]
pub fn feed(command: &mut Command, input: &[u8]) -> Outcome {
    finish(command.stdin(Stdio::piped()), Some(input.to_vec()))
}

/// Fails, after killing the process, if the process and all that hold its output take longer than [`LIMIT`].
#[track_caller]
fn finish(command: &mut Command, input: Option<Vec<u8>>) -> Outcome {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let end = Instant::now() + LIMIT;
    // The write fails if the program does not read all of its input, which a program need not do.
    let writer = input.map(|input| {
        let mut stdin = child.stdin.take().expect("piped");
        std::thread::spawn(move || drop(stdin.write_all(&input)))
    });
    let stdout = collect(child.stdout.take().expect("piped"));
    let stderr = collect(child.stderr.take().expect("piped"));
    let mut take = |pipe: Receiver<Vec<u8>>| {
        let bytes = pipe.recv_timeout(end.saturating_duration_since(Instant::now())).unwrap_or_else(|_late| {
            end_process(&mut child);
            panic!("waited in vain: still running after {LIMIT:?}: {command:?}")
        });
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let (stdout, stderr) = (take(stdout), take(stderr));
    let status = child.wait().expect("an exit status");
    if let Some(writer) = writer {
        writer.join().expect("the writer");
    }
    Outcome { status, stdout, stderr }
}

fn collect(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _read = pipe.read_to_end(&mut bytes);
        // The receiver is gone if the test has failed.
        let _sent = sender.send(bytes);
    });
    receiver
}

/// The time that a process and its ended children have spent on a processor so far, in steps of 10 ms. It does not depend on what else the
/// machine does. Zero if there is no such process.
pub fn processor_time(pid: i32) -> Duration {
    let ticks = (11..15).filter_map(|n| stat_field(pid, n)?.parse::<u64>().ok()).sum::<u64>();
    // Linux counts a hundred ticks a second.
    Duration::from_millis(10 * ticks)
}

/// A field of `/proc/PID/stat`, counted from the state, which is 0. `None` if there is no such process.
pub fn stat_field(pid: i32, n: usize) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program may hold anything, so the fields are counted from its end.
    stat.rsplit_once(") ")?.1.split(' ').nth(n).map(str::to_owned)
}

/// The result of a look that [`until`] accepts: a condition, or something to be found.
pub trait Look {
    type Found;
    fn found(self) -> Option<Self::Found>;
}

impl Look for bool {
    type Found = ();
    fn found(self) -> Option<()> {
        self.then_some(())
    }
}

impl<T> Look for Option<T> {
    type Found = T;
    fn found(self) -> Option<T> {
        self
    }
}

/// Looks again and again until the condition holds or something is found. `what` says in the failure what was waited for.
#[track_caller]
pub fn until<L: Look>(what: &str, mut look: impl FnMut() -> L) -> L::Found {
    let end = Instant::now() + LIMIT;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(found) = look().found() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain: {what}");
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// Does the work again and again until one time takes less than `quick`, and returns what came of that. A busy machine may be slow for a
/// while; work that waits for something is never quick. `what` says in the failure which work it was.
#[track_caller]
pub fn quickly<T>(what: &str, quick: Duration, mut work: impl FnMut() -> T) -> T {
    until(what, || {
        let begun = Instant::now();
        let done = work();
        Some(done).filter(|_| begun.elapsed() < quick)
    })
}

/// A process that is killed when it is dropped.
pub struct Running(pub Child);

impl Running {
    /// Starts a command.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).expect("a pid")
    }

    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("wait").is_some()
    }

    /// Waits for the end of the process.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        until("the end of a process", || self.0.try_wait().expect("wait"))
    }

    /// Sends SIGKILL and waits for the end of the process.
    pub fn kill(self) {}
}

impl Drop for Running {
    fn drop(&mut self) {
        end_process(&mut self.0);
    }
}

/// Kills and reaps a child, which may have ended by itself.
pub fn end_process(child: &mut Child) {
    let _killed = child.kill();
    let _reaped = child.wait();
}

/// How often the threads of a process have gone to sleep by themselves: it woke up as often.
pub fn sleeps(pid: i32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("a process").flatten();
    let count = |status: String| status.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:")?.trim().parse::<u64>().ok());
    tasks.filter_map(|t| count(std::fs::read_to_string(t.path().join("status")).ok()?)).sum()
}

/// Whether no thread of a process has anything to do.
fn all_sleep(pid: i32) -> bool {
    // The state stands behind the program's name.
    let sleeping = |stat: String| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'));
    let mut threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("a process").flatten();
    threads.all(|thread| std::fs::read_to_string(thread.path().join("stat")).is_ok_and(sleeping))
}

/// Waits until a process sleeps: it has not woken up for half a second, and has nothing to do. A process that has woken up may wait
/// that long for a processor of a busy machine. Returns [`sleeps`] of then.
#[track_caller]
pub fn asleep(pid: i32) -> u64 {
    until("the process sleeps", || {
        let (before, slept) = (sleeps(pid), all_sleep(pid));
        std::thread::sleep(Duration::from_millis(500));
        (slept && all_sleep(pid) && sleeps(pid) == before).then_some(before)
    })
}

/// Sends a signal to a process that the test knows to be its own, and waits until it has taken the signal in: none of its threads has
/// anything to do.
#[track_caller]
pub fn signal_taken_in(pid: i32, which: Signal) {
    signal(pid, which);
    until("the signal is taken in", || {
        let before = sleeps(pid);
        all_sleep(pid) && sleeps(pid) == before
    });
}

/// True if the sender of an answer was told that it came too late, by the status 4. The sender only waits for four seconds, and a busy
/// machine may take longer.
pub fn was_told(status: i32, sent_at: Instant) -> bool {
    status == 4 || sent_at.elapsed() > Duration::from_secs(4)
}

/// How many bytes a process has read.
pub fn bytes_read(pid: i32) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).expect("a process");
    io.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok()).expect("a number")
}

/// Sends a Unix signal to a process that the test knows to be its own.
pub fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _sent = rustix::process::kill_process(pid, signal);
    }
}

/// Sends SIGKILL to a process that the test knows to be its own, and waits until the process is gone: on a busy machine a killed
/// process may run on for a while. Processes that die with it have received their signals then.
#[track_caller]
pub fn kill(pid: i32) {
    signal(pid, Signal::KILL);
    until(&format!("the killed process {pid} is gone"), || !is_alive(pid));
}

/// Whether any thread of a process still runs. A zombie does not.
pub fn is_alive(pid: i32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.filter_map(|t| std::fs::read_to_string(t.path().join("stat")).ok()).any(|stat| {
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        !matches!(state, Some('Z' | 'X') | None)
    })
}

/// Every process and its environment, one variable a line.
pub fn processes() -> Vec<(i32, String)> {
    let of = |pid: i32| {
        let bytes = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        Some((pid, String::from_utf8_lossy(&bytes).replace('\0', "\n")))
    };
    pids().filter_map(of).collect()
}

/// The ids of all processes.
pub fn pids() -> impl Iterator<Item = i32> {
    std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok())
}

/// The command line of a process, its arguments separated by spaces.
pub fn command_line(pid: i32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// Does `work` for every item on some threads. The first panic ends all and is passed on.
pub fn in_parallel<T: Sync>(threads: usize, items: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if failed.lock().is_ok_and(|f| f.is_some()) {
                        return;
                    }
                    if let Err(panic) = std::panic::catch_unwind(AssertUnwindSafe(|| work(item)))
                        && let Ok(mut failed) = failed.lock()
                    {
                        *failed = Some(panic);
                    }
                }
            });
        }
    });
    if let Ok(Some(panic)) = failed.into_inner() {
        std::panic::resume_unwind(panic);
    }
}
