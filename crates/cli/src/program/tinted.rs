//! Lines in colours, for a terminal.

use std::fmt::Write;

use crate::program::output::write_filtered;
use crate::program::variables::{env, prints_to_terminal};
use askbox_mailbox::{Result, text};

/// The colour of a line. The colours are the terminal's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tint {
    /// No colour.
    Plain,
    /// For lines that are added.
    Green,
    /// For lines that are removed.
    Red,
    /// For heads within a text.
    Cyan,
}

impl Tint {
    fn code(self) -> Option<u8> {
        match self {
            Self::Plain => None,
            Self::Red => Some(31),
            Self::Green => Some(32),
            Self::Cyan => Some(36),
        }
    }
}

/// Prints lines for people, without control characters. A terminal gets them in their colours, unless `NO_COLOR` is set.
///
/// # Errors
/// If standard output cannot be written. A reader that went away is not an error.
pub fn print_tinted(lines: &[(Tint, String)]) -> Result<()> {
    let has_colours = prints_to_terminal() && env("NO_COLOR").is_none() && env("TERM").is_none_or(|terminal| terminal != "dumb");
    let mut out = String::new();
    for (tint, line) in lines {
        let line = text::printable(line);
        let _ = match tint.code().filter(|_| has_colours) {
            Some(code) => writeln!(out, "\u{1b}[{code}m{line}\u{1b}[0m"),
            None => writeln!(out, "{line}"),
        };
    }
    write_filtered(out.as_bytes())
}
