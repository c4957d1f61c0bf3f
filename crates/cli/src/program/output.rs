//! Printing: results go to standard output, messages for people to standard error.
//!
//! All output passes a filter here. The filter removes terminal controls from text, and escapes them in JSON.
//!
//! A yes that a person types at the terminal.
//!
//! Lines in colours, for a terminal.

use std::io::{self, BufRead, Write};

use rustix::termios::{QueueSelector, tcflush};
use serde::Serialize;

use crate::program::variables::{env, prints_to_terminal};
use crate::terminal::fitted;
use askbox_mailbox::error::{IoContext, Kind};
use askbox_mailbox::{Error, Result, text};

/// Prints `error: …` and `hint: …` on standard error. An error of another machine may have no hint.
pub fn complain(error: &Error) {
    say(&complaint(error, ""));
}

/// The lines of an error: `error: …`, with `about` in front of the message, and `hint: …` if there is a hint.
pub fn complaint(error: &Error, about: &str) -> String {
    let hint = text::one_line(&error.hint());
    let hint = if hint.trim().is_empty() { String::new() } else { format!("hint: {hint}\n") };
    format!("error: {about}{}\n{hint}", message(error))
}

/// An error's message on one line. Removes the `-` that stands for a document that is not a file.
pub fn message(error: &Error) -> String {
    let message = error.to_string();
    text::one_line(message.strip_prefix("-: ").unwrap_or(&message))
}

/// An error as JSON, on standard output: what a program with `--json` prints if it fails.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct ErrorReport {
    /// Always `failed`.
    state: Failed,
    /// The kind of error.
    kind: Kind,
    /// The number of the question in the list, from zero, if `ask-post --batch` refused one of many.
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<usize>,
    /// A sentence that says what is wrong.
    error: String,
    /// What to do next. Empty if there is nothing to do.
    hint: String,
    /// The exit status: of the program, or of this one question of many.
    exit_code: u8,
}

/// The state of a command that failed.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Failed {
    Failed,
}

impl ErrorReport {
    /// The report of an error, about question `n` of many if it is one of them.
    pub fn of(error: &Error, n: Option<usize>) -> Self {
        let (kind, exit_code) = (error.kind(), error.exit_code());
        Self { state: Failed::Failed, kind, n, error: message(error), hint: error.hint(), exit_code }
    }
}

/// Prints `warning: …` on standard error.
pub fn warn(warning: &str) {
    say(&format!("warning: {}\n", text::one_line(warning)));
}

/// Prints a message for people on standard error, without control characters, in lines that fit a terminal. If the reader went away, that
/// is not an error.
pub fn say(words: &str) {
    #[allow(clippy::disallowed_methods, reason = "this is the way to standard error")]
    let _ = io::stderr().write_all(fitted::message(&text::printable(words)).as_bytes());
}

/// Prints text for people, without control characters. If the reader went away, that is not an error.
pub fn print(words: &str) -> Result<()> {
    done(write(words))
}

/// Prints a value and a newline: see [`print_exactly`].
pub fn print_value(value: &str) -> Result<()> {
    print_exactly(&format!("{value}\n"))
}

/// Prints text for a program: unchanged into a pipe or file, without control characters on a terminal.
pub fn print_exactly(words: &str) -> Result<()> {
    done(write_exactly(words))
}

/// Prints a value as one line of JSON, with control characters escaped.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    print_json_text(&String::from_utf8_lossy(&askbox_mailbox::document::to_json(value)?))
}

/// Prints JSON and a newline. Control characters become escapes, whether or not the output is a terminal. The value stays the same.
pub fn print_json_text(json: &str) -> Result<()> {
    done(write_json(json))
}

/// Prints what a command did: for a program, or in words.
pub fn print_result(json: bool, value: &impl Serialize, words: &str) -> Result<()> {
    if json { print_json(value) } else { print(words) }
}

/// Like [`print()`], but a reader that went away is an error.
pub fn write(words: &str) -> io::Result<()> {
    to_stdout(&text::printable(words))
}

/// Like [`print_json_text`], but a reader that went away is an error.
pub fn write_json(json: &str) -> io::Result<()> {
    to_stdout(&format!("{}\n", text::escape_json(json.trim_end())))
}

/// Like [`print_exactly`], but a reader that went away is an error.
pub fn write_exactly(words: &str) -> io::Result<()> {
    if prints_to_terminal() { write(words) } else { to_stdout(words) }
}

/// Prints bytes unchanged: text that is filtered already, in the colours of this crate, or those of a file, into a pipe or a file. The
/// caller checks that these do not go to a terminal.
pub fn print_bytes(bytes: &[u8]) -> Result<()> {
    done(bytes_to_stdout(bytes))
}

/// The only way to standard output, apart from the screen and the inbox's prompts.
fn to_stdout(words: &str) -> io::Result<()> {
    bytes_to_stdout(words.as_bytes())
}

fn bytes_to_stdout(bytes: &[u8]) -> io::Result<()> {
    #[allow(clippy::disallowed_methods, reason = "what comes here is filtered, or does not go to a terminal")]
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

fn done(written: io::Result<()>) -> Result<()> {
    match written {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        // The program's changes to the mailbox are not undone.
        Err(e) => Err(Error::failed(
            format!("cannot write to standard output: {e}"),
            "the command itself may have succeeded: check before you repeat it",
        )),
        Ok(()) => Ok(()),
    }
}

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
        out += &match tint.code().filter(|_| has_colours) {
            Some(code) => format!("\u{1b}[{code}m{line}\u{1b}[0m\n"),
            None => line + "\n",
        };
    }
    print_bytes(out.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_with_nothing_to_do_about_it_has_no_hint() {
        assert_eq!(complaint(&Error::failed("it is late", "go to bed"), "[2]: "), "error: [2]: it is late\nhint: go to bed\n");
        assert_eq!(complaint(&Error::failed("it is late", " "), ""), "error: it is late\n");
    }
}
