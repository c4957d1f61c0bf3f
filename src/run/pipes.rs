//! The agent's three pipes, a thread for each, so that none of them can block another.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Child;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};

use crate::agent::lines::Lines;
use crate::agent::stream::{Interpreter, Signal};
use crate::text;

/// Kept of the agent's standard error, in bytes.
const STDERR_LIMIT: u64 = 4 << 20;
/// Its end that is looked at for a reason, in bytes.
const COMPLAINT: usize = 4 << 10;

/// Writing may block while the agent does not read; so it has a thread. The pipe closes when the sender is dropped.
pub(super) fn spawn_writer(child: &mut Child) -> Option<mpsc::Sender<String>> {
    let mut stdin = child.stdin.take()?;
    let (sender, lines) = mpsc::channel::<String>();
    std::thread::spawn(move || {
        for line in lines {
            if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                return;
            }
        }
    });
    Some(sender)
}

/// Turns the agent's output into signals. `take` may block, which holds the agent back through the pipe; it says whether
/// anybody still wants more. `ended` comes last.
pub(super) fn spawn_reader(
    child: &mut Child,
    interpreter: Arc<Mutex<Interpreter>>,
    mut take: impl FnMut(Vec<Signal>) -> bool + Send + 'static,
    ended: impl FnOnce() + Send + 'static,
) {
    let Some(stdout) = child.stdout.take() else { return };
    std::thread::spawn(move || {
        let mut lines = Lines::new(stdout);
        while let Ok(Some(line)) = lines.next_line() {
            let signals = interpreter.lock().unwrap_or_else(PoisonError::into_inner).feed(&line);
            if !take(signals) {
                return;
            }
        }
        ended();
    });
}

/// Keeps the head of the agent's standard error and reads on, so that the agent never blocks on it. At its end the last line
/// that says something is sent.
pub(super) fn spawn_complaints(mut from: impl Read + Send + 'static, mut to: File) -> Receiver<String> {
    let (sender, last_words) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let (mut left, mut tail) = (STDERR_LIMIT, Vec::new());
        let mut buffer = [0; 8192];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            let keep = n.min(usize::try_from(left).unwrap_or(n));
            if keep > 0 && to.write_all(&buffer[..keep]).is_err() {
                left = 0;
            }
            left = left.saturating_sub(keep as u64);
            tail.extend_from_slice(&buffer[..n]);
            tail.drain(..tail.len().saturating_sub(COMPLAINT));
        }
        let tail = String::from_utf8_lossy(&tail);
        let last = tail.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let _ = sender.send(text::excerpt(last.trim(), 300));
    });
    last_words
}
