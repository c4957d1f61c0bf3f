//! What a program prints: answers on standard output, messages for people on standard error.
//!
//! All output passes a filter here. The filter leaves terminal controls out of words, and escapes them in JSON.

use std::io::{self, Write};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::surface::program::variables::prints_to_terminal;
use crate::text;

/// `error: …` and `hint: …` on standard error. Not every error has a hint: another machine's may have said it all.
pub fn complain(error: &Error) {
    say(&complaint(error, ""));
}

/// The lines of an error: `error: …`, with what it is `about` in front, and `hint: …` where there is something to do.
#[must_use]
pub fn complaint(error: &Error, about: &str) -> String {
    let hint = text::one_line(&error.hint());
    let hint = if hint.trim().is_empty() { String::new() } else { format!("hint: {hint}\n") };
    format!("error: {about}{}\n{hint}", message(error))
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

/// Prints a message for people on standard error, without control characters. A reader that went away is not an error.
pub fn say(words: &str) {
    #[allow(clippy::disallowed_methods, reason = "this is the way to standard error")]
    let _ = io::stderr().write_all(text::printable(words).as_bytes());
}

/// Prints text for people, without control characters. A reader that went away is not an error.
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
    print_json_text(&String::from_utf8_lossy(&crate::document::to_json(value)?))
}

/// Prints JSON and a newline. Control characters in it become escapes, on a terminal and elsewhere: the value stays the same.
pub fn print_json_text(json: &str) -> Result<()> {
    done(write_json(json))
}

/// [`print()`] for callers to whom a reader that went away is an error.
pub fn write(words: &str) -> io::Result<()> {
    to_stdout(&text::printable(words))
}

/// [`print_json_text`] for callers to whom a reader that went away is an error.
pub fn write_json(json: &str) -> io::Result<()> {
    to_stdout(&format!("{}\n", text::escape_json(json.trim_end())))
}

/// [`print_exactly`] for callers to whom a reader that went away is an error.
pub fn write_exactly(words: &str) -> io::Result<()> {
    if prints_to_terminal() { write(words) } else { to_stdout(words) }
}

/// The only way to standard output, beside the screen and the inbox's prompts.
fn to_stdout(words: &str) -> io::Result<()> {
    #[allow(clippy::disallowed_methods, reason = "what comes here is filtered")]
    let mut out = io::stdout().lock();
    out.write_all(words.as_bytes()).and_then(|()| out.flush())
}

fn done(written: io::Result<()>) -> Result<()> {
    match written {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        // What the program did to the mailbox stays done.
        Err(e) => Err(Error::failed(
            format!("cannot write to standard output: {e}"),
            "the command itself may have succeeded: check before you repeat it",
        )),
        Ok(()) => Ok(()),
    }
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
