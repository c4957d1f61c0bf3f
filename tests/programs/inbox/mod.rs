//! The interactive inbox of `ask-answer`, in a real terminal.
//!
//! - `after_sending`: what is said behind an answer that was sent
//! - `answering`: one question: options, words, several answers, batches
//! - `first_question`: the moving picture of README
//! - `following`: what changes while it is on the screen
//! - `habits`: keys that mean something else in other programs
//! - `idle`: what it does while nothing changes: nothing
//! - `kept`: nothing that was typed is lost
//! - `leaving`: the key that leaves, within a word
//! - `looks`: what is seen first, approvals, colours, wide characters
//! - `monkey`: lines for other programs, typed into it at random moments
//! - `many`: sizes of screens and numbers of questions
//! - `sessions`: the sessions of agent programs, read and prompted
//! - `small`: small screens, and groups that are longer than the screen
//! - `pictures`: the pictures of the guide, and `cells`, which draws them

mod after_sending;
mod answering;
mod cells;
mod first_question;
mod following;
mod habits;
mod idle;
mod kept;
mod leaving;
mod looks;
mod many;
mod monkey;
mod pictures;
mod sessions;
mod shell_lines;
mod small;

use crate::support::{Terminal, World, kill, names};
use serde_json::Value;

/// Opens the inbox on a clean screen.
fn open(terminal: &Terminal<'_>) -> String {
    terminal.press(&["clear; ask-answer; echo left=$?", "Enter"]);
    terminal.see("? help")
}

/// Opens the inbox on one question.
fn open_question(terminal: &Terminal<'_>, id: &str) -> String {
    terminal.press(&[&format!("clear; ask-answer {id}; echo left=$?"), "Enter"]);
    terminal.see("esc later")
}

/// The process of the inbox on a terminal.
fn process(world: &World) -> i32 {
    let pids = world.sh("pgrep -x askbox -P $(tmux -S ./tmux list-panes -F '#{pane_pid}')");
    pids.trim().parse().expect("one process")
}

/// Kills the inbox, and gives the terminal back to the shell: raw mode is still on.
fn kill_inbox(world: &World, terminal: &Terminal<'_>) {
    kill(process(world));
    // The words may go on in the next line.
    terminal.see("=137");
    terminal.press(&["clear; stty sane; echo sane=$?", "C-j"]);
    terminal.see("sane=0");
}

/// The answer that lies in the mailbox.
fn answer(world: &World, id: &str) -> Value {
    world.json(format!("m/answered/{id}.json"))["answer"].clone()
}

/// The drafts that were kept. One that is being written does not count.
fn drafts(world: &World) -> Vec<String> {
    let folder = world.home().join(".local/state/askbox/drafts");
    names(&folder).iter().filter_map(|name| std::fs::read_to_string(folder.join(name)).ok()).collect()
}

/// The number of the line that holds a text.
#[track_caller]
fn line_of(screen: &str, text: &str) -> usize {
    screen.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("no {text:?} in\n{screen}"))
}
