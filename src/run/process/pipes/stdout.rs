//! The agent's standard output, read by a thread of its own.

use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};

use crate::agent::stream::lines::BoundedLines;
use crate::agent::stream::{Interpreter, StreamItem};
use crate::thread::Waiting;

/// Reads on this thread. Calls `take` with the items of each line that the agent prints, and `ended` after the last one. While `take` blocks, the agent
/// waits as soon as its pipe is full. `take` returns whether more items are wanted.
pub(crate) fn read_on(
    thread: Waiting,
    child: &mut Child,
    interpreter: Arc<Mutex<Interpreter>>,
    mut take: impl FnMut(Vec<StreamItem>) -> bool + Send + 'static,
    ended: impl FnOnce() + Send + 'static,
) {
    let Some(stdout) = child.stdout.take() else { return };
    thread.run(move || {
        let mut lines = BoundedLines::new(stdout);
        while let Ok(Some(line)) = lines.next_line() {
            let items = interpreter.lock().unwrap_or_else(PoisonError::into_inner).feed(&line);
            if !take(items) {
                return;
            }
        }
        ended();
    });
}
