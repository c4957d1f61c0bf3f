//! What a program prints: answers on standard output, messages for people on standard error.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::text;

/// `error: …` and `hint: …` on standard error.
pub fn complain(error: &Error) {
    say(&format!("error: {}\nhint: {}\n", message(error), text::one_line(&error.hint())));
}

/// An error's message on one line, without the `-` of a document that is not a file.
#[must_use]
pub fn message(error: &Error) -> String {
    let message = error.to_string();
    text::one_line(message.strip_prefix("-: ").unwrap_or(&message))
}

/// `warning: …` on standard error.
pub fn warn(warning: &str) {
    say(&format!("warning: {}\n", text::one_line(warning)));
}

/// Prints a message for people on standard error. A reader that went away is not an error.
pub fn say(words: &str) {
    let _ = io::stderr().write_all(words.as_bytes());
}

/// Prints to standard output. A reader that went away is not an error.
pub fn print(words: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(words.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        // What the program did to the mailbox stays done.
        Err(e) => Err(Error::failed(
            format!("cannot write to standard output: {e}"),
            "the command itself may have succeeded: check before you repeat it",
        )),
        Ok(()) => Ok(()),
    }
}

/// Prints text for people, without control characters.
pub fn print_words(words: &str) -> Result<()> {
    print(&text::printable(words))
}

/// Prints a value and a newline: unchanged into a pipe or file, without control characters on a terminal.
pub fn print_value(value: &str) -> Result<()> {
    let value = if io::stdout().is_terminal() { text::printable(value) } else { value.to_owned() };
    print(&format!("{value}\n"))
}

/// Prints one line of JSON, with control characters escaped.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    let json = String::from_utf8_lossy(&crate::document::to_json(value)?).into_owned();
    print(&format!("{}\n", text::escape_json(&json)))
}
