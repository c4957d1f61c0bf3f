//! The questions of other machines in the inbox of a terminal.
//!
//! | file | content |
//! |---|---|
//! | `answering.rs` | what is seen there is answered from here, and its machine decides |
//! | `away.rs` | machines that are not reached, or say nothing, and configurations that are wrong |
//! | `undecided.rs` | answers that nobody has confirmed, and the end of the inbox |
//! | `looks.rs` | the host on every screen, the filter, and what an enemy sends |
//! | `postgres.rs` | the same through a database |

mod answering;
mod away;
mod looks;
#[cfg(feature = "sync")]
mod postgres;
mod undecided;

use crate::support::files::write_program;
use crate::support::machine::configure;
use crate::support::{Machine, Terminal, World};

/// The machine of a person, and one other machine that asks `docs-42`.
fn two() -> (World, Machine) {
    let here = World::new();
    here.make_mailbox();
    let build = Machine::new(&here, "build");
    ask(&build, "docs-42");
    configure(&here, &[&build]);
    (here, build)
}

fn ask(machine: &Machine, workflow: &str) {
    machine.world.ok("ask-post", &["-w", workflow, "Merge the sections?", "-o", "merge=Yes", "-o", "drop=No", "--asked-by", "reviewer"]);
}

/// Has this script on the machine instead of `ask-answer`, which is `$real` in it.
fn behind(here: &World, machine: &Machine, script: &str) {
    let program = machine.world.path("played");
    write_program(&program, &format!("#!/bin/sh\nreal=ask-answer\n{script}\n"));
    here.configure(&format!("{}program = '{}'\n", machine.section(), program.display()));
}

/// Opens the inbox on a clean screen, and waits until it shows this.
#[track_caller]
fn open(terminal: &Terminal<'_>, words: &str) -> String {
    terminal.press(&["clear; ask-answer; echo left=$?", "Enter"]);
    terminal.see("? help");
    terminal.see(words)
}

/// Opens the chosen question.
#[track_caller]
fn enter(terminal: &Terminal<'_>) -> String {
    terminal.open_chosen();
    terminal.screen()
}

/// The drafts that were kept, by the names of their files.
fn drafts(world: &World) -> Vec<(String, String)> {
    let folder = std::fs::read_dir(world.home().join(".local/state/askbox/drafts")).into_iter().flatten().flatten();
    folder.map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read_to_string(entry.path()).unwrap())).collect()
}
