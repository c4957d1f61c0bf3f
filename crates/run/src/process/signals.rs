//! The signals of a process that becomes another program.

use std::sync::Arc;

use signal_hook::consts::{FORBIDDEN, SIGPIPE};

use askbox_mailbox::platform::processes;

/// Makes the program that this process becomes react to every signal. `nohup` and a shell's `&` make their commands ignore some, and an agent
/// would then not react to an interrupt or to the end of its terminal. (No signal is blocked: the standard library sees to that when it starts
/// this process. It resets SIGPIPE, too.)
///
/// A handler replaces each ignored signal, because the kernel resets handlers, and handlers alone, when a process becomes another program.
pub(crate) fn reset() {
    let ignored = processes::ignored_signals().into_iter().filter(|signal| *signal != SIGPIPE && !FORBIDDEN.contains(signal));
    for signal in ignored {
        let _ = signal_hook::flag::register(signal, Arc::default());
    }
}
