//! `askbox demo` shows the whole job on a machine that has only askbox's programs.

use crate::support::files::{copy_program, write_program};
use crate::support::{Terminal, World, needs, program};
use std::path::{Path, PathBuf};

/// The demo's temporary folders are made below the scene's own, so that leftovers show.
fn world() -> World {
    let world = World::new();
    std::fs::create_dir(world.path("tmp")).unwrap();
    world
}

fn folders(world: &World) -> Vec<PathBuf> {
    std::fs::read_dir(world.path("tmp")).unwrap().map(|e| e.unwrap().path()).collect()
}

/// In order, each behind the one before.
#[track_caller]
fn holds_in_order(text: &str, pieces: &[&str]) {
    let mut at = 0;
    for piece in pieces {
        at += text[at..].find(piece).unwrap_or_else(|| panic!("no {piece:?} behind byte {at} of:\n{text}")) + piece.len();
    }
}

#[test]
fn the_demo_asks_exits_and_is_relaunched_with_the_answer_and_leaves_nothing() {
    let world = world();
    let ran = world.shell("TMPDIR=$PWD/tmp askbox demo --auto");
    assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    holds_in_order(
        &ran.stdout,
        &[
            "$ checkpoint save docs-42",
            "$ ask-post 'The new section",
            "QUESTION_POSTED:docs-42",
            "The agent has ended",
            "questions/pending/docs-42.json",
            "\"question\": \"The new section",
            "questions/checkpoints/docs-42.json",
            "\"next_action\": \"apply the choice to guide.md\"",
            "$ relaunch watch",
            "watching  ",
            "$ ask-answer list",
            "$ ask-answer docs-42 merge",
            "launched  docs-42  attempt 1",
            "I am a new process",
            "$ checkpoint show docs-42",
            "$ eval \"$(checkpoint env docs-42)\"",
            "guide.md is ready; the answer was: merge",
            "A failed request is reported in the log.\n   A failed request is tried again",
            "closed/docs-42.",
            "\"event\":\"posted\"",
            "\"event\":\"answered\"",
            "\"event\":\"claimed\"",
            "\"event\":\"delivered\"",
            "$ askbox init",
        ],
    );
    assert_eq!(folders(&world), [] as [PathBuf; 0]);
}

#[test]
fn a_kept_demo_is_a_mailbox_that_the_programs_can_read_and_that_was_run_once() {
    let world = world();
    let out = world.sh("TMPDIR=$PWD/tmp askbox demo --auto --keep");
    let root = folders(&world).remove(0);
    assert!(out.contains(&format!("export ASKBOX_DIR={}/questions", root.display())), "{out}");
    let mailbox = root.join("questions");
    let status = world.sh(&format!("relaunch status docs-42 --json --mailbox {}", mailbox.display()));
    assert_eq!(serde_json::from_str::<serde_json::Value>(&status).unwrap()["state"], "delivered");
    let audit = std::fs::read_to_string(mailbox.join("audit.jsonl")).unwrap();
    assert_eq!(audit.matches(r#""event":"claimed""#).count(), 1, "{audit}");
}

#[test]
fn the_demo_says_which_program_is_missing_or_of_another_version_instead_of_pretending() {
    let world = world();
    let programs = world.path("programs");
    std::fs::create_dir(&programs).unwrap();
    let own = Path::new(program("askbox"));
    copy_program(own, &programs.join("askbox"));
    let ran = world.shell("TMPDIR=$PWD/tmp programs/askbox demo --auto");
    assert_eq!(ran.code(), 1);
    holds_in_order(&ran.stderr, &["error: ask-post is not beside this program", "hint: ", "cargo build --release"]);
    for name in ["ask-post", "ask-answer", "checkpoint", "relaunch"] {
        copy_program(&own.with_file_name(name), &programs.join(name));
    }
    std::fs::remove_file(programs.join("checkpoint")).unwrap();
    write_program(&programs.join("checkpoint"), "#!/bin/sh\necho checkpoint 0.0.1\n");
    let ran = world.shell("TMPDIR=$PWD/tmp programs/askbox demo --auto");
    assert!(ran.stderr.contains("is `checkpoint 0.0.1`, not `checkpoint "), "{}", ran.stderr);
    assert_eq!(folders(&world), [] as [PathBuf; 0]);
}

/// The demo in a terminal, which stays open when the demo has ended.
#[track_caller]
fn demo(world: &World) -> Terminal<'_> {
    let temporary = format!("TMPDIR={}", world.path("tmp").display());
    Terminal::running(world, (120, 200), &[&temporary], &["sh", "-c", "trap : INT; askbox demo; echo left=$?; read wait"])
}

#[test]
fn at_a_terminal_the_user_chooses_and_the_agent_does_as_chosen() {
    needs!("tmux");
    let world = world();
    let terminal = demo(&world);
    terminal.see("? Answer:");
    terminal.press(&["Down", "Down", "Enter"]);
    terminal.see("guide.md is ready; the answer was: link");
    terminal.see("left=0");
    assert_eq!(folders(&world), [] as [PathBuf; 0]);
}

#[test]
fn a_demo_that_is_left_at_the_prompt_takes_its_watcher_along() {
    needs!("tmux");
    let world = world();
    let terminal = demo(&world);
    terminal.see("? Answer:");
    terminal.press(&["Escape"]);
    terminal.see("What now?");
    terminal.press(&["Enter"]);
    terminal.see("left=1");
    let root = folders(&world).remove(0);
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let read = |name: &str| String::from_utf8_lossy(&std::fs::read(process.path().join(name)).unwrap_or_default()).into_owned();
        let watches_here = read("cmdline").contains("relaunch\0watch") && read("environ").contains(root.to_str().unwrap());
        assert!(!watches_here, "{} is left", process.path().display());
    }
}

#[test]
fn a_typo_at_the_demos_prompt_is_asked_back_and_does_not_end_it() {
    needs!("tmux");
    let world = world();
    let terminal = demo(&world);
    terminal.see("or type;");
    terminal.press(&["merg", "Enter"]);
    terminal.see("open your editor");
    terminal.press(&["Enter"]);
    terminal.see("What do you mean?");
    terminal.press(&["Enter"]);
    terminal.see("guide.md is ready; the answer was: merge");
    terminal.see("left=0");
}

#[test]
fn a_demo_that_is_interrupted_while_its_agent_works_says_nothing_more_and_leaves_nothing() {
    needs!("tmux");
    for stage in ["agent     ", "I am a new process"] {
        let world = world();
        let terminal = demo(&world);
        if stage != "agent     " {
            terminal.see("? Answer:");
            terminal.press(&["Enter"]);
        }
        terminal.see(stage);
        terminal.press(&["C-c"]);
        let screen = terminal.see("left=130");
        assert!(!screen.contains("error:") && !screen.contains("are kept in"), "{screen}");
        assert_eq!(folders(&world), [] as [PathBuf; 0], "{screen}");
    }
}
