//! How long a world lives at most. Then its processes are killed, so that whatever waits for one of them ends, and its test fails: a test
//! that waits without a limit would hold up all the others for ever.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::{Signal, World, processes, signal};

pub const LONGEST_LIFE: Duration = Duration::from_secs(900);

/// The time that a world has. It ends early when this is dropped.
pub struct Life {
    is_over: Arc<AtomicBool>,
    _end: Sender<()>,
}

impl Life {
    pub fn of(home: PathBuf, longest: Duration) -> Self {
        let (sender, end) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let tells = Arc::clone(&is_over);
        std::thread::spawn(move || {
            if end.recv_timeout(longest) == Err(RecvTimeoutError::Timeout) {
                tells.store(true, Ordering::Relaxed);
                for (pid, _) in inhabitants(&home) {
                    eprintln!("killed after {longest:?}: {}", crate::process::command_line(pid));
                    signal(pid, Signal::KILL);
                }
            }
        });
        Self { is_over, _end: sender }
    }
}

impl World {
    /// Gives its processes another time, from now on.
    pub fn set_longest_life(&mut self, longest: Duration) {
        self.life = Life::of(self.home.clone(), longest);
    }

    /// Whether its time is over: its processes were killed.
    pub fn is_out_of_time(&self) -> bool {
        self.life.is_over.load(Ordering::Relaxed)
    }
}

/// Processes that have this folder as their home.
pub fn inhabitants(home: &Path) -> impl Iterator<Item = (i32, String)> + use<> {
    let ours = format!("HOME={}", home.display());
    processes().into_iter().filter(move |(_, env)| env.lines().any(|line| line == ours))
}
