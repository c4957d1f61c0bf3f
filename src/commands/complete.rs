//! Completions for a shell, from the mailbox: ids of workflows, and the keys of a question's options.
//!
//! The scripts of `askbox init --completions` call `askbox complete -- WORDS`; the last word is still being typed. If anything fails,
//! nothing is offered.

use std::path::Path;

use crate::commands::args::programs;
use askbox_cli::args::ask_answer_args::Command;
use askbox_cli::program;
use askbox_mailbox::overview::waiting;
use askbox_mailbox::{Folder, Kind, Mailbox, Result, WorkflowId, list, read_question, text};

/// The maximum number of words that are offered.
const MOST: usize = 200;
const LONGEST_DESCRIPTION: usize = 60;

/// The commands of `ask-answer` that name a waiting question.
const OF_WAITING: [&str; 5] = ["show", "edit", "decline", "ask-back", "cancel"];

/// The commands of `checkpoint` that name a workflow.
const OF_CHECKPOINTS: [&str; 8] = ["save", "get", "set", "step", "show", "env", "path", "rm"];

/// A word and its description.
type Offer = (String, String);

/// Prints each word and its description on a line, with a tab in between.
pub fn run(words: &[String]) -> Result<u8> {
    let Ok(mailbox) = Mailbox::locate(None).and_then(Mailbox::open) else { return Ok(0) };
    for (word, description) in offers(&mailbox, words).into_iter().take(MOST) {
        program::print_value(&format!("{}\t{}", text::one_line(&word), text::excerpt(&description, LONGEST_DESCRIPTION)))?;
    }
    Ok(0)
}

fn offers(mailbox: &Mailbox, words: &[String]) -> Vec<Offer> {
    let Some((typed, before)) = words.split_last() else { return Vec::new() };
    let Some((program, before)) = before.split_first() else { return Vec::new() };
    let program = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some(described) = programs().into_iter().find(|command| command.get_name() == program) else { return Vec::new() };
    let (words, flag) = without_flags(&described, before);
    let offers = match (program, words.as_slice(), flag) {
        ("ask-post", _, Some("workflow")) => checkpoints(mailbox),
        ("relaunch", ["approve"], Some("revoke" | "list")) | ("relaunch", ["spawn" | "run"], Some("workflow")) => open(mailbox),
        (_, _, Some(_)) => Vec::new(),
        ("ask-answer", [], _) => waiting(mailbox),
        ("ask-answer", [command], _) if OF_WAITING.contains(command) => waiting(mailbox),
        ("ask-answer", ["undo"], _) => in_folder(mailbox, Folder::Answered),
        ("ask-answer", [id], _) => options(mailbox, id),
        ("checkpoint", [command], _) if OF_CHECKPOINTS.contains(command) => checkpoints(mailbox),
        ("relaunch", [] | ["prompt" | "done" | "exec"], _) => ids_in(mailbox, &[Folder::Answered, Folder::Running, Folder::Parked]),
        ("relaunch", ["retry" | "drop"], _) => in_folder(mailbox, Folder::Parked),
        ("relaunch", ["stop"], _) => in_folder(mailbox, Folder::Running),
        ("relaunch", ["logs" | "events" | "wait" | "resume"], _) => ids_in(mailbox, &[Folder::Running, Folder::Parked, Folder::Answered]),
        ("relaunch", ["status"], _) | ("askbox", ["doctor" | "tree" | "history"], _) => open(mailbox),
        ("askbox", ["inbox"], _) => waiting(mailbox),
        _ => Vec::new(),
    };
    offers.into_iter().filter(|(word, _)| word.starts_with(typed.as_str())).collect()
}

/// The words without flags and their values, and the flag whose value is being typed.
fn without_flags<'w>(program: &'w clap::Command, before: &'w [String]) -> (Vec<&'w str>, Option<&'w str>) {
    let (mut command, mut words, mut awaits_value) = (program, Vec::new(), None);
    let mut only_words = false;
    for word in before {
        if awaits_value.take().is_some() {
            continue;
        }
        match word.strip_prefix('-').filter(|_| !only_words) {
            Some("-") => only_words = true,
            Some(flag) => awaits_value = flag_with_value(program, command, flag),
            None => {
                command = command.find_subcommand(word).filter(|_| words.is_empty()).unwrap_or(command);
                words.push(word.as_str());
            }
        }
    }
    (words, awaits_value)
}

/// The long name of this flag, if the next word is its value.
fn flag_with_value<'c>(program: &'c clap::Command, command: &'c clap::Command, flag: &str) -> Option<&'c str> {
    let is_it = |arg: &&clap::Arg| match flag.strip_prefix('-') {
        Some(long) => arg.get_long() == Some(long),
        None => flag.chars().count() == 1 && arg.get_short() == flag.chars().next(),
    };
    let known = command.get_arguments().chain(program.get_arguments()).find(is_it)?;
    known.get_action().takes_values().then(|| known.get_long().unwrap_or_default())
}

/// The waiting questions with their titles, in the order of the list.
fn waiting(mailbox: &Mailbox) -> Vec<Offer> {
    let row = |pending: waiting::Pending| {
        let title = pending.document.map(|document| document.typed.title()).unwrap_or_default();
        (pending.workflow.to_string(), title)
    };
    waiting::pending(mailbox, row).unwrap_or_default()
}

/// Everything that is not over.
fn open(mailbox: &Mailbox) -> Vec<Offer> {
    waiting(mailbox).into_iter().chain(ids_in(mailbox, &[Folder::Answered, Folder::Running, Folder::Parked])).collect()
}

fn ids_in(mailbox: &Mailbox, folders: &[Folder]) -> Vec<Offer> {
    folders.iter().flat_map(|folder| in_folder(mailbox, *folder)).collect()
}

fn checkpoints(mailbox: &Mailbox) -> Vec<Offer> {
    let ids = list::workflows(mailbox, Folder::Checkpoints).unwrap_or_default();
    ids.into_iter().map(|id| (id.to_string(), "checkpoint".to_owned())).collect()
}

fn in_folder(mailbox: &Mailbox, folder: Folder) -> Vec<Offer> {
    let ids: Vec<WorkflowId> = match folder {
        Folder::Answered => list::workflows(mailbox, folder).unwrap_or_default(),
        _ => list::round_names(mailbox, folder).map(|round| round.workflow).collect(),
    };
    ids.into_iter().map(|id| (id.to_string(), folder.name().to_owned())).collect()
}

/// The keys of the options of a workflow's question, if it asks only one.
fn options(mailbox: &Mailbox, id: &str) -> Vec<Offer> {
    let Ok(document) = id.parse().and_then(|id: WorkflowId| read_question::pending(mailbox, &id)) else { return Vec::new() };
    let parts = document.typed.parts();
    let [part] = parts.as_slice() else { return Vec::new() };
    match part.kind() {
        Kind::YesNo => ["yes", "no"].map(|word| (word.to_owned(), String::new())).into(),
        _ => part.options.0.iter().map(|choice| (choice.key.clone(), choice.description.clone())).collect(),
    }
}

/// The shell code that asks for these words. It stands below the completions that are made from the programs' arguments.
pub fn script(shell: clap_complete::Shell) -> String {
    match shell {
        clap_complete::Shell::Bash => BASH.replace("COMMANDS", &Command::NAMES.join("|")),
        clap_complete::Shell::Zsh => ZSH.into(),
        clap_complete::Shell::Fish => FISH.into(),
        _ => String::new(),
    }
}

// In zsh and fish, the completions of clap offer the commands only for the first word.
const BASH: &str = include_str!("completions.bash");
const ZSH: &str = include_str!("completions.zsh");
const FISH: &str = include_str!("completions.fish");
