//! A variable for the service, such as an API key. The person names it and types its value, or sends the value through a pipe. Nothing is
//! searched for, and the value is never printed.

use inquire::{Password, PasswordDisplayMode};

use askbox_cli::program;
use askbox_mailbox::{Error, Result};

/// The maximum size of a value, in bytes.
const LONGEST: u64 = 64 << 10;

/// The line of the service's file of variables, without the value.
pub(super) fn check_name(name: &str) -> Result<()> {
    let is_name = |name: &str| {
        name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && name.bytes().next().is_some_and(|b| !b.is_ascii_digit())
    };
    if is_name(name) {
        return Ok(());
    }
    Err(Error::usage(
        format!("`{name}` is no name of a variable"),
        "give the name alone, such as --credential ANTHROPIC_API_KEY; its value is asked for",
    ))
}

/// Reads the value from the person, or from a pipe.
pub(super) fn take(name: &str) -> Result<String> {
    let value = if program::is_interactive() {
        let question = format!("Value of {name} (not shown):");
        let asked = Password::new(&question).with_display_mode(PasswordDisplayMode::Hidden).without_confirmation();
        asked.prompt().map_err(|e| Error::failed(format!("no value was given: {e}"), "nothing of it was written; repeat the command"))?
    } else {
        program::read_stdin_text(LONGEST)?
    };
    if value.is_empty() || value.chars().any(char::is_control) {
        return Err(Error::usage(
            format!("the value of {name} is empty or has control characters"),
            "give one line: on a terminal, or through a pipe",
        ));
    }
    Ok(value)
}

/// The line for systemd: in double quotes, with escapes for characters that would end or change the value.
pub(super) fn line(name: &str, value: &str) -> String {
    format!("{name}=\"{}\"\n", value.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`"))
}

/// The text without the lines of these variables.
pub(super) fn without(text: &str, names: &[String]) -> String {
    let is_ours = |line: &str| names.iter().any(|name| line.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('=')));
    text.split_inclusive('\n').filter(|line| !is_ours(line)).collect()
}
