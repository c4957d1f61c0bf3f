//! Arguments that make no sense: says what is wrong, and what was probably meant.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Command, CommandFactory};

use crate::args::{ask_answer_args, relaunch_args};
use crate::program::hyphens;
use crate::program::typed::words;
use askbox_mailbox::error::Error;
use askbox_mailbox::spelling;
use askbox_mailbox::text;

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

/// Turns an error of clap into an [`Error`]: one line names the argument, and one says what to type.
pub(super) fn usage<A: CommandFactory>(e: &clap::Error) -> Error {
    if let Some(own) = e.source().and_then(|source| source.downcast_ref::<Error>()) {
        return of_value(e, own);
    }
    let program = A::command();
    let named = |kind| e.get(kind).map(ToString::to_string).unwrap_or_default();
    let (argument, value) = (named(ContextKind::InvalidArg), named(ContextKind::InvalidValue));
    let flag = argument.split(' ').next().unwrap_or_default().to_owned();
    let usage = match e.get(ContextKind::Usage) {
        Some(usage) => usage.to_string(),
        None => e.render().to_string(),
    };
    let usage = usage.lines().find_map(|line| line.trim().strip_prefix("Usage: ")).map(|usage| format!("usage: {usage}; more with --help"));
    let usage = usage.unwrap_or_else(|| "see --help".to_owned());
    match e.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Error::usage("no command is given", "see the commands: --help"),
        ErrorKind::InvalidSubcommand => {
            let word = named(ContextKind::InvalidSubcommand);
            let (command, path) = command_before(&program, &word);
            let hint = match meant(command, &word) {
                Some(name) => format!("did you mean `{path} {name}`?"),
                None => of_a_sibling(&program, &word).unwrap_or_else(|| format!("the commands are {}", names(command).join(", "))),
            };
            Error::usage(format!("`{word}` is no command"), hint)
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = argument_list(e);
            // A flag that was given needs another one.
            let hint = if missing.starts_with("--") {
                let add = missing.replace("<DURATION>", "DURATION, such as 2h").replace(['<', '>'], "");
                format!("add {add}; more with --help")
            } else {
                usage
            };
            Error::usage(format!("missing: {missing}"), hint)
        }
        ErrorKind::InvalidValue if value.is_empty() => Error::usage(format!("{flag} needs a value"), format!("write {argument}")),
        ErrorKind::InvalidValue => {
            let (meant, values) = (named(ContextKind::SuggestedValue), named(ContextKind::ValidValue));
            let hint = if meant.is_empty() {
                format!("the values are {values}")
            } else {
                format!("did you mean `{meant}`? The values are {values}")
            };
            Error::usage(format!("{flag}: `{value}` is no value of it"), hint)
        }
        ErrorKind::ValueValidation => {
            let why = e.source().map(ToString::to_string).unwrap_or_default();
            let why = if why.contains("digit") { "is not a whole number".to_owned() } else { format!("is not valid: {why}") };
            Error::usage(format!("{flag}: `{value}` {why}"), format!("write {argument}, see --help"))
        }
        ErrorKind::UnknownArgument if flag.starts_with('-') => {
            let suggested = named(ContextKind::SuggestedArg);
            let suggested = suggested.split(' ').next().filter(|flag| !flag.is_empty()).map(str::to_owned);
            let hint = match suggested.or_else(|| flag_meant(&program, &flag)) {
                Some(meant) => format!("did you mean `{meant}`? More with --help"),
                None => hyphens::hint(command_before(&program, &flag).0, &flag),
            };
            Error::usage(format!("there is no flag {flag}"), hint)
        }
        ErrorKind::UnknownArgument => surplus(&program, &argument, usage),
        ErrorKind::ArgumentConflict => conflict(&program, e, usage),
        _ => {
            let text = e.render().to_string();
            let line = text.lines().next().unwrap_or_default();
            Error::usage(line.strip_prefix("error: ").unwrap_or(line), usage)
        }
    }
}

/// The error for a word that the command does not take. It suggests quotes only if the word is one of several words of a text.
fn surplus(program: &Command, word: &str, usage: String) -> Error {
    let (command, _) = command_before(program, word);
    if command.get_positionals().any(clap::Arg::is_last_set) {
        return Error::usage(format!("`{word}` is surplus"), format!("what belongs to the started program follows --: -- {word}"));
    }
    let mut places = command.get_positionals().flat_map(|place| place.get_value_names().unwrap_or_default()).map(|name| name.as_str());
    let takes_text = places.any(|name| !["ID", "FILE", "NAME"].contains(&name));
    if takes_text && !word.contains(char::is_whitespace) {
        return Error::usage(format!("`{word}` is surplus; several words need quotes"), usage);
    }
    let hint = match flag_of_reason(command) {
        Some(flag) => format!("a reason follows {flag}: {}", with_flag_before(program, flag, word)),
        None => usage,
    };
    Error::usage(format!("`{word}` is surplus"), hint)
}

/// The flag for a reason, if the command has one.
fn flag_of_reason(command: &Command) -> Option<&'static str> {
    let has = |name: &str| command.get_arguments().any(|flag| flag.get_long() == Some(name));
    [("why", "--why"), ("note", "--note")].into_iter().find(|(name, _)| has(name)).map(|(_, flag)| flag)
}

/// The command line with a flag inserted before this word.
fn with_flag_before(program: &Command, flag: &str, word: &str) -> String {
    let given = words().map(|given| given.to_string_lossy().into_owned());
    let words = given.map(|given| if given == word { format!("{flag} {}", text::shell_quote(word)) } else { text::shell_quote(&given) });
    std::iter::once(program.get_name().to_owned()).chain(words).collect::<Vec<_>>().join(" ")
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

/// The flag that an unknown one probably misspells.
fn flag_meant(program: &Command, unknown: &str) -> Option<String> {
    let name = unknown.strip_prefix("--").filter(|name| name.chars().count() >= MIN_LETTERS)?;
    let (command, _) = command_before(program, unknown);
    // The flag for a reason has two names.
    if matches!(name, "why" | "note" | "reason")
        && let Some(flag) = flag_of_reason(command).filter(|flag| *flag != unknown)
    {
        return Some(flag.to_owned());
    }
    let known = program.get_arguments().filter(|flag| flag.is_global_set()).chain(command.get_arguments()).filter_map(Arg::get_long);
    known.filter(|known| spelling::is_close(name, known)).map(|known| format!("--{known}")).next()
}

/// The error for two arguments that exclude each other. A misspelt command also ends up here: its own argument is read as a command.
fn conflict(program: &Command, e: &clap::Error, usage: String) -> Error {
    let text = e.render().to_string();
    let mut lines = text.split("\n\n").next().unwrap_or_default().lines().map(str::trim);
    let message = lines.by_ref().collect::<Vec<_>>().join(" ");
    let command = first_word().filter(|_| message.starts_with("error: the subcommand "));
    match command.map(|word| (meant(program, &word).map(str::to_owned), word)) {
        Some((Some(name), word)) => {
            Error::usage(format!("`{word}` is no command"), format!("did you mean `{} {name}`?", program.get_name()))
        }
        Some((None, word)) => {
            let hint = of_a_sibling(program, &word).unwrap_or_else(|| format!("the commands are {}", names(program).join(", ")));
            Error::usage(format!("`{word}` is no command"), hint)
        }
        None => Error::usage(message.strip_prefix("error: ").unwrap_or(&message), usage),
    }
}

/// The hint for a command of another program, as in `relaunch cancel docs-42`, with the words behind it.
fn of_a_sibling(program: &Command, word: &str) -> Option<String> {
    let all: [(&str, &[&str]); 2] = [("ask-answer", &ask_answer_args::Command::NAMES), ("relaunch", &relaunch_args::COMMANDS)];
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

/// The arguments that are missing.
fn argument_list(e: &clap::Error) -> String {
    use clap::error::ContextValue;
    match e.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(all)) => all.join(", "),
        Some(other) => other.to_string(),
        None => "an argument".into(),
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
