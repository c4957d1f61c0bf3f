//! What a program prints: answers on standard output, messages for people on standard error.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::text;

/// `error: …` and `hint: …` on standard error.
pub fn complain(error: &Error) {
    say(&format!("error: {}\nhint: {}\n", message(error), text::one_line(&error.hint())));
}

/// An error's message on one line; a document that has no file of its own is not named.
#[must_use]
pub fn message(error: &Error) -> String {
    let message = error.to_string();
    text::one_line(message.strip_prefix("-: ").unwrap_or(&message))
}

/// `warning: …` on standard error.
pub fn warn(warning: &str) {
    say(&format!("warning: {}\n", text::one_line(warning)));
}

/// Words for the human on standard error. That nobody listens is no error.
pub fn say(words: &str) {
    let _ = io::stderr().write_all(words.as_bytes());
}

/// Prints to standard output as it is. A reader that went away is no error.
pub fn print(words: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(words.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        // Not the mailbox's trouble: nothing is taken back because of it.
        Err(e) => Err(Error::failed(
            format!("cannot write to standard output: {e}"),
            "what was asked for may be done all the same: look before you repeat it",
        )),
        Ok(()) => Ok(()),
    }
}

/// Prints words for people: what could drive a terminal is taken out.
pub fn print_words(words: &str) -> Result<()> {
    print(&text::printable(words))
}

/// Prints a value and a newline: to the letter into a pipe or file, harmless on a terminal.
pub fn print_value(value: &str) -> Result<()> {
    let value = if io::stdout().is_terminal() { text::printable(value) } else { value.to_owned() };
    print(&format!("{value}\n"))
}

/// Prints one line of JSON, in which whatever could drive a terminal is escaped.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    let json = String::from_utf8_lossy(&crate::document::to_json(value)?).into_owned();
    print(&format!("{}\n", text::escape_json(&json)))
}
