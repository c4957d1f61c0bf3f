//! Completions for a shell, from the mailbox: ids of workflows, and the keys of a question's options.
//!
//! The scripts of `askbox init --completions` call `askbox complete -- WORDS`; the last word is still being typed. If anything fails,
//! nothing is offered.

use std::path::Path;

use askbox_cli::args::ask_answer_args::Command;
use askbox_cli::program;
use askbox_mailbox::documents::asked::Kind;
use askbox_mailbox::error::Result;
use askbox_mailbox::id::WorkflowId;
use askbox_mailbox::listing::list;
use askbox_mailbox::text;
use askbox_mailbox::{Folder, Mailbox, read_question};

/// The maximum number of words that are offered.
const MOST: usize = 200;
const LONGEST_DESCRIPTION: usize = 60;

/// The commands of `ask-answer` that name a waiting question.
const OF_WAITING: [&str; 5] = ["show", "edit", "decline", "ask-back", "cancel"];

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
    let before: Vec<&str> = before.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    let program = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let offers = match (program, before.as_slice()) {
        ("ask-answer", []) => waiting(mailbox),
        ("ask-answer", [command]) if OF_WAITING.contains(command) => waiting(mailbox),
        ("ask-answer", ["undo"]) => in_folder(mailbox, Folder::Answered),
        ("ask-answer", [id]) => options(mailbox, id),
        ("relaunch", []) => {
            [Folder::Answered, Folder::Running, Folder::Parked].into_iter().flat_map(|folder| in_folder(mailbox, folder)).collect()
        }
        ("relaunch", ["retry" | "drop"]) => in_folder(mailbox, Folder::Parked),
        ("relaunch", ["stop" | "logs" | "wait"]) => in_folder(mailbox, Folder::Running),
        ("relaunch", ["status"]) => {
            let folders = [Folder::Answered, Folder::Running, Folder::Parked].into_iter().flat_map(|folder| in_folder(mailbox, folder));
            waiting(mailbox).into_iter().chain(folders).collect()
        }
        _ => Vec::new(),
    };
    offers.into_iter().filter(|(word, _)| word.starts_with(typed.as_str())).collect()
}

/// The waiting questions with their titles, in the order of the list.
fn waiting(mailbox: &Mailbox) -> Vec<Offer> {
    let row = |pending: list::Pending| {
        let title = pending.document.map(|document| document.typed.title()).unwrap_or_default();
        (pending.workflow.to_string(), title)
    };
    list::pending(mailbox, row).unwrap_or_default()
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
#[must_use]
pub fn script(shell: clap_complete::Shell) -> String {
    match shell {
        clap_complete::Shell::Bash => BASH.replace("COMMANDS", &Command::names().collect::<Vec<_>>().join("|")),
        clap_complete::Shell::Zsh => ZSH.into(),
        clap_complete::Shell::Fish => FISH.into(),
        _ => String::new(),
    }
}

// In zsh and fish, the completions of clap offer the commands only for the first word.
const BASH: &str = r#"
_askbox_from_mailbox() {
    local word at behind offered
    case ${1##*/} in ask-answer) _ask__answer "$@" ;; relaunch) _relaunch "$@" ;; esac
    # Behind the id of a question, a command's name would be an answer.
    for ((at = 1; at < COMP_CWORD; at++)); do
        case ${COMP_WORDS[at]} in --mailbox|--by) ((at++)) ;; -*) ;; *) behind=1 ;; esac
    done
    if [[ ${1##*/} == ask-answer && -n $behind ]]; then
        offered=("${COMPREPLY[@]}") COMPREPLY=()
        for word in "${offered[@]}"; do
            case $word in COMMANDS) ;; *) COMPREPLY+=("$word") ;; esac
        done
    fi
    while IFS=$'\t' read -r word _; do
        COMPREPLY+=("$(printf '%q' "$word")")
    done < <(askbox complete -- "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
}
complete -F _askbox_from_mailbox -o bashdefault -o default ask-answer relaunch
"#;

const ZSH: &str = r#"
_askbox_from_mailbox() {
    local -a found
    local line
    for line in "${(@f)$(askbox complete -- "${(@)words[1,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    (( $#found )) && _describe -V 'mailbox' found
    _${service:-${words[1]:t}} "$@"
}
if (( $+functions[compdef] )); then
    compdef _askbox_from_mailbox ask-answer relaunch
fi
"#;

const FISH: &str = r"
for program in ask-answer relaunch
    complete -c $program -f -k -a '(askbox complete -- (commandline -opc) (commandline -ct) 2>/dev/null)'
end
";
