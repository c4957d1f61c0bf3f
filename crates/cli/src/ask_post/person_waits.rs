//! A person at a terminal who waits with `ask-post --wait`: says what the wait is for, and at Ctrl-C that the question still waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::ask_answer::answering;
use crate::program;
use askbox_mailbox::{Question, WorkflowId, thread, time};

/// A wait that a person watches. Dropping it ends the wait: a signal then ends the program without a word.
#[derive(Debug)]
#[must_use = "the wait is over when this is dropped"]
pub(super) struct PersonWaits(Arc<AtomicBool>);

impl PersonWaits {
    /// Says what is waited for, until when, and how to answer. `None` if nobody sits at a terminal.
    pub(super) fn begin(question: &Question, limit: Duration) -> Option<Self> {
        if !program::says_to_terminal() {
            return None;
        }
        let id = &question.workflow_id;
        let end = chrono::TimeDelta::from_std(limit).ok().and_then(|limit| time::now().checked_add_signed(limit));
        let until = end.map_or_else(String::new, |end| format!(" until {} ({})", time::local_clock(end), time::human(limit)));
        let event = question.until.as_ref().map(|until| format!(" ({})", until.words())).unwrap_or_default();
        let how = answering::how_to_answer(question);
        let waits = Arc::new(AtomicBool::new(true));
        // A person who reads the words may press Ctrl-C at once.
        tell_at_signal(id.clone(), Arc::clone(&waits));
        program::say(&format!("{id} is asked, and this waits{until} for the answer{event}\nto answer, in another terminal: {how}\n"));
        Some(Self(waits))
    }
}

impl Drop for PersonWaits {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Ends the program at a signal as the system would, after the words about the question. If the system refuses the thread, the signal ends
/// the program without them.
fn tell_at_signal(id: WorkflowId, waits: Arc<AtomicBool>) {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    let _ = thread::start(move || {
        for signal in signals.forever() {
            if waits.load(Ordering::Relaxed) {
                program::say(&format!(
                    "\n{id} still waits for its answer, and an agent is started with it then\nhint: to wait again, repeat the command; to \
                     withdraw the question: ask-answer cancel {id}\n"
                ));
            }
            let _ = emulate_default_handler(signal);
        }
    });
}
