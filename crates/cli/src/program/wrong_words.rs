//! Arguments that make no sense: says what is wrong, and what was probably meant.
//!
//! The words that the person typed: `askbox web …` in the program `askbox-web` too.

use std::error::Error as _;
use std::ffi::OsString;
use std::sync::OnceLock;

use clap::error::{ContextKind, ErrorKind};
use clap::{Command, CommandFactory};

use crate::args::{ask_answer_args, relaunch_args};
use askbox_mailbox::{Error, spelling, text};

/// The shortest word that may be a misspelt command. A shorter word can only be a workflow's id.
const MIN_LETTERS: usize = 3;

/// The help that `PROGRAM help [COMMAND…]` asks for, or `None` if the words mean something else.
pub(super) fn help<A: CommandFactory>(args: &[OsString]) -> Option<String> {
    let (first, names) = args.get(1..)?.split_first()?;
    if first != "help" {
        return None;
    }
    let mut program = A::command();
    program.build();
    let command = names.iter().try_fold(&mut program, |command, name| command.find_subcommand_mut(name))?;
    Some(command.render_long_help().to_string())
}

/// Extends an error about a workflow that was not found. If the word may be a misspelt command, the error says that first.
pub fn maybe_command<A: CommandFactory>(word: &str, error: Error) -> Error {
    let program = A::command();
    match (error, meant(&program, word)) {
        (Error::NotFound { message, .. }, Some(name)) => Error::not_found(
            format!("`{word}` is no command, and {message}"),
            format!("did you mean `{} {name}`? More with --help", program.get_name()),
        ),
        (other, _) => other,
    }
}

/// True if the word may be a misspelt command.
pub fn is_near_command<A: CommandFactory>(word: &str) -> bool {
    meant(&A::command(), word).is_some()
}

/// The command that the word probably misspells.
fn meant<'c>(program: &'c Command, word: &str) -> Option<&'c str> {
    let names = names(program);
    if word.chars().count() < MIN_LETTERS || names.contains(&word) {
        return None;
    }
    names.into_iter().find(|name| spelling::is_close(word, name))
}

/// Turns an error of clap into an [`Error`]: clap's own words on one line, and its tips and the usage as the hint.
pub(super) fn usage<A: CommandFactory>(e: &clap::Error) -> Error {
    if let Some(own) = e.source().and_then(|source| source.downcast_ref::<Error>()) {
        return of_value(e, own);
    }
    let program = A::command();
    let text = e.render().to_string();
    let unknown = match e.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return Error::usage("no command is given", "see the commands: --help"),
        ErrorKind::InvalidSubcommand => e.get(ContextKind::InvalidSubcommand).map(ToString::to_string),
        // The argument of a misspelt command is read as a command.
        ErrorKind::ArgumentConflict => first_word().filter(|_| text.starts_with("error: the subcommand ")),
        _ => None,
    };
    if let Some(word) = unknown {
        return no_command(&program, &word);
    }
    let message = text.split("\n\n").next().unwrap_or_default().lines().map(str::trim).collect::<Vec<_>>().join(" ");
    // A person cannot tell which of several words clap takes for a value.
    let tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).filter(|tip| !tip.contains(" as a value"));
    let mut hints: Vec<String> = tips.map(str::to_owned).collect();
    if e.kind() == ErrorKind::UnknownArgument && hints.is_empty() {
        let word = e.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
        let (flag, is_flag) = (word.trim_start_matches('-'), word.starts_with('-'));
        let may_be_reason = !is_flag || ["why", "note", "reason"].iter().any(|name| spelling::is_close(flag, name));
        hints.push(match flag_of_reason(command_before(&program, &word).0).filter(|_| may_be_reason) {
            Some(flag) => format!("a reason follows {flag}"),
            None if is_flag => "a value that begins with - follows = or `--`: --flag='- x', or -- '- x'".to_owned(),
            None => "several words need quotes".to_owned(),
        });
    }
    hints.extend(text.lines().find(|line| line.starts_with("Usage: ")).map(|line| line.replacen('U', "u", 1)));
    hints.push("more with --help".to_owned());
    Error::usage(message.strip_prefix("error: ").unwrap_or(&message), hints.join("; "))
}

/// The error for a word that is no command: the command that was meant, that of another program, or all of them.
fn no_command(program: &Command, word: &str) -> Error {
    let (command, path) = command_before(program, word);
    let hint = match meant(command, word) {
        Some(name) => format!("did you mean `{path} {name}`?"),
        None => of_a_sibling(program, word).unwrap_or_else(|| format!("the commands are {}", names(command).join(", "))),
    };
    Error::usage(format!("`{word}` is no command"), hint)
}

/// The flag for a reason, if the command has one.
fn flag_of_reason(command: &Command) -> Option<&'static str> {
    ["--why", "--note"].into_iter().find(|name| command.get_arguments().any(|flag| flag.get_long() == Some(&name[2..])))
}

/// The command that the command line names before this word, and its full name, such as `askbox agents list`.
fn command_before<'c>(program: &'c Command, word: &str) -> (&'c Command, String) {
    let (mut command, mut path) = (program, program.get_name().to_owned());
    for inner in words().take_while(|given| given != word) {
        if let Some(found) = command.find_subcommand(inner) {
            (command, path) = (found, format!("{path} {}", found.get_name()));
        }
    }
    (command, path)
}

/// The hint for a command of another program, as in `relaunch cancel docs-42`, with the words behind it.
fn of_a_sibling(program: &Command, word: &str) -> Option<String> {
    let all: [(&str, &[&str]); 2] = [("ask-answer", ask_answer_args::Command::NAMES), ("relaunch", &relaunch_args::COMMANDS)];
    let (sibling, _) = all.into_iter().find(|(name, commands)| *name != program.get_name() && commands.contains(&word))?;
    let given = words().map(|given| given.to_string_lossy().into_owned());
    let behind = given.skip_while(|given| given != word).skip(1).map(|given| format!(" {}", text::shell_quote(&given))).collect::<String>();
    Some(format!("it is one of {0}: {0} {word}{1}", sibling, text::excerpt(&behind, 200)))
}

/// The first word of the command line that is neither a flag nor the value of `--mailbox`. Only that flag takes a value before a command.
fn first_word() -> Option<String> {
    let mut words = words().map(|word| word.to_string_lossy().into_owned());
    loop {
        match words.next()? {
            flag if flag == "--mailbox" => drop(words.next()),
            flag if flag.starts_with('-') => {}
            word => return Some(word),
        }
    }
}

/// The commands that the help shows.
fn names(program: &Command) -> Vec<&str> {
    program.get_subcommands().filter(|c| !c.is_hide_set()).map(Command::get_name).collect()
}

/// The error of one of askbox's value parsers. A wrong value of a flag becomes a usage error that names the flag. An id that is not valid
/// keeps its own error.
fn of_value(e: &clap::Error, own: &Error) -> Error {
    let argument = e.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    let flag = argument.split(' ').next().unwrap_or_default();
    match own {
        Error::Invalid { file, field, problem, fix } => {
            let field = if flag.starts_with('-') { flag } else { field };
            Error::Invalid { file: file.clone(), field: field.to_owned(), problem: problem.clone(), fix: fix.clone() }
        }
        other => Error::usage(format!("{flag}: {other}"), other.hint()),
    }
}

/// The words of this process, with the name of the program.
pub(super) static TYPED: OnceLock<Vec<OsString>> = OnceLock::new();

/// The words behind the name of the program.
pub(super) fn words() -> impl Iterator<Item = OsString> {
    TYPED.get().into_iter().flatten().skip(1).cloned()
}
