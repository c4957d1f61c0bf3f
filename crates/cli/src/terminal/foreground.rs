//! Job control: a program in the background must not change its terminal. The kernel stops it (SIGTTOU) if it tries, and stops it again
//! after each SIGCONT. A program that has caught SIGTERM would then never come to its end.

use std::time::{Duration, Instant};

use rustix::process::{Signal, getpgrp, kill_current_process_group};

use askbox_mailbox::{Error, Result};

/// The time within which the signal stops every thread of this process.
const STOPS_WITHIN: Duration = Duration::from_millis(20);
/// The signal is ignored, or nobody could continue the process, if it did not stop this many times.
const TRIES: u32 = 3;

/// True if this process may use the terminal on standard input. True as well if that is not this process's own terminal, because the
/// kernel then stops nothing.
pub fn is_foreground() -> bool {
    rustix::termios::tcgetpgrp(std::io::stdin()).map_or(true, |foreground| foreground == getpgrp())
}

/// Stops this process's job while it is in the background, as a shell expects it: the shell says so, and `fg` continues the job. Call it
/// before SIGTERM is caught, so that SIGTERM ends the stopped job.
///
/// # Errors
/// [`Error::Usage`] if the job is in the background and cannot be stopped.
pub fn wait_for_foreground() -> Result<()> {
    let mut without_stop = 0;
    while !is_foreground() {
        if without_stop == TRIES {
            return Err(Error::usage(
                "this program needs the terminal, and runs in the background",
                "start it in the foreground, without `&`",
            ));
        }
        let at = Instant::now();
        let _ = kill_current_process_group(Signal::TTOU);
        std::thread::sleep(STOPS_WITHIN);
        without_stop = if at.elapsed() < 2 * STOPS_WITHIN { without_stop + 1 } else { 0 };
    }
    Ok(())
}
