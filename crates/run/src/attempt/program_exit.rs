//! The meaning of a plain program's exit status for its round.
//!
//! | status | the round |
//! |---|---|
//! | 0 | is delivered |
//! | 6 | is delivered if the workflow has asked since the claim; otherwise the attempt has failed |
//! | 75 | is tried again later, and the attempt does not count |
//! | 2, 5 | is parked: another attempt would end in the same way |
//! | any other, or a signal | is tried again, up to `relaunch.attempts` |

use crate::attempt::ending::{Ending, Then};
use askbox_agent::program::{AWAITS, Exit};
use askbox_mailbox::untrusted::Untrusted;

/// The exit status of an attempt that does not count: `EX_TEMPFAIL` of sysexits.h.
pub(crate) const LATER: u8 = 75;

/// The ending that the exit of a program means. `text` is its result, `complaint` the last line of its standard error.
pub fn ending(exit: &Exit, text: Untrusted, cost_usd: Option<f64>, complaint: impl FnOnce() -> String) -> Ending {
    let (then, meaning) = match exit.status {
        Some(0) => return Ending::Delivered { text, cost_usd },
        Some(AWAITS) => return Ending::Awaits { text, cost_usd },
        Some(status) if status == i32::from(LATER) => (Then::Later, "asks to be started later"),
        Some(2) => (Then::Never, "cannot work with its arguments"),
        Some(5) => (Then::Never, "cannot work with this round or with its state"),
        _ => (Then::Retry, "failed"),
    };
    let complaint = complaint();
    let complaint = if complaint.is_empty() { complaint } else { format!(": {complaint}") };
    Ending::Undone { then, why: format!("the program {meaning} ({}){complaint}", exit.words), exit: exit.status, signal: exit.signal }
}
