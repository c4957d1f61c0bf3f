//! A yes that a person types at the terminal.

use std::io::{self, BufRead};

use rustix::termios::{QueueSelector, tcflush};

use crate::program::output::print;
use askbox_mailbox::Result;
use askbox_mailbox::error::IoContext;

/// Asks a question, and returns true if the person types `y` or `yes` behind it. Keys that were pressed before the question stood there,
/// such as the next line of a pasted text, do not answer it.
///
/// # Errors
/// If the terminal cannot be written or read.
pub fn confirms(question: &str) -> Result<bool> {
    // Only a terminal keeps such keys. A pipe cannot be flushed, and needs no flush.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    print(&format!("{question} (y/N) "))?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).io("read", "the terminal")?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}
