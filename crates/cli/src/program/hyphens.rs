//! Words that begin with a hyphen and were meant as values: `--context '- first'`.

use clap::{Arg, Command};

use crate::program::typed::words;
use askbox_mailbox::text;

/// Says what to type instead if an unknown flag was meant as a value. `command` is the one that the command line names.
pub(super) fn hint(command: &Command, unknown: &str) -> String {
    let given: Vec<String> = words().map(|word| word.to_string_lossy().into_owned()).take_while(|w| w != "--").collect();
    hint_for(command, &given, unknown)
}

fn hint_for(command: &Command, given: &[String], unknown: &str) -> String {
    let is_it = |word: &String| begins_with(word, unknown) && flag(command, word).is_none();
    let at = given.iter().position(is_it);
    let before = at.and_then(|at| given.get(at.checked_sub(1)?));
    if let (Some(at), Some(name)) = (at, before)
        && flag(command, name).is_some_and(|flag| flag.get_action().takes_values())
    {
        return format!("a value that begins with - is written with =: {}", with_value(name, &given[at]));
    }
    let word = at.map_or(unknown, |at| &given[at]);
    format!("see the flags with --help; a value that begins with - follows `--`: -- {}", text::shell_quote(word))
}

/// True if `unknown` is the flag that clap found in this word: clap reads `-merge` as `-m` and more.
fn begins_with(word: &str, unknown: &str) -> bool {
    let is_short = !unknown.starts_with("--");
    word == unknown || (is_short && word.starts_with(unknown) && !word.starts_with("--"))
}

/// The flag that this word names, if the whole word is one.
fn flag<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let long = word.strip_prefix("--").map(|name| name.split('=').next().unwrap_or(name));
    let mut short = word.strip_prefix('-').unwrap_or_default().chars();
    let short = short.next().filter(|_| short.next().is_none());
    command.get_arguments().find(|arg| match long {
        Some(name) => arg.get_long() == Some(name),
        None => short.is_some() && arg.get_short() == short,
    })
}

/// A flag with its value in one word: `--context='- first'`. A short flag has no `=`: `-n'- first'`.
fn with_value(name: &str, value: &str) -> String {
    let equals = if name.starts_with("--") { "=" } else { "" };
    format!("{name}{equals}{}", text::shell_quote(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ArgAction;

    #[test]
    fn a_value_with_a_hyphen_is_told_as_it_can_be_typed() {
        let command = Command::new("x")
            .arg(Arg::new("context").long("context"))
            .arg(Arg::new("workflow").short('w').long("workflow"))
            .arg(Arg::new("json").long("json").action(ArgAction::SetTrue));
        let hint = |line: &[&str], unknown: &str| hint_for(&command, &line.iter().map(ToString::to_string).collect::<Vec<_>>(), unknown);
        let equals = "a value that begins with - is written with =: ";
        assert_eq!(hint(&["Q?", "-w", "c", "--context", "- first"], "-"), format!("{equals}--context='- first'"));
        assert_eq!(hint(&["--context", "-no"], "-n"), format!("{equals}--context=-no"));
        assert_eq!(hint(&["-w", "--odd"], "--odd"), format!("{equals}-w--odd"));
        let behind = "see the flags with --help; a value that begins with - follows `--`: -- ";
        assert_eq!(hint(&["-w", "c", "- what?"], "-"), format!("{behind}'- what?'"));
        assert_eq!(hint(&["--json", "-merge"], "-m"), format!("{behind}-merge"));
        assert_eq!(hint(&["c", "--colour"], "--colour"), format!("{behind}--colour"));
    }
}
