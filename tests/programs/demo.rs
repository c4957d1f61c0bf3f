//! `askbox demo` shows the whole job on a machine that has only askbox's programs.

use crate::support::files::{copy_program, write_program};
use crate::support::{Terminal, World, needs, program, until};
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
fn the_demo_says_which_program_is_missing_or_of_another_version() {
    let world = world();
    let programs = world.path("programs");
    std::fs::create_dir(&programs).unwrap();
    let own = Path::new(program("askbox"));
    copy_program(own, &programs.join("askbox"));
    let ran = world.shell("TMPDIR=$PWD/tmp programs/askbox demo --auto");
    assert_eq!(ran.code(), 1);
    holds_in_order(&ran.stderr, &["error: ask-post is not beside this program", "hint: ", "cargo build"]);
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
    until_the_question(&terminal);
    terminal.press(&["3", "Enter"]);
    terminal.see("guide.md is ready; the answer was: link");
    terminal.see("Enter goes on");
    terminal.press(&["Enter"]);
    terminal.see("left=0");
    assert_eq!(folders(&world), [] as [PathBuf; 0]);
}

/// Goes on to the demo's own question.
#[track_caller]
fn until_the_question(terminal: &Terminal) {
    terminal.see("Enter goes on");
    terminal.press(&["Enter"]);
    until("two pauses", || (terminal.screen().matches("Enter goes on").count() == 2).then_some(()));
    terminal.press(&["Enter"]);
    terminal.see("esc later");
}

/// No file of the demo and no process of it is left.
#[track_caller]
fn nothing_is_left(world: &World) {
    let temporary = world.path("tmp");
    until("the demo's files are gone", || folders(world).is_empty().then_some(()));
    until("the demo's processes are gone", || {
        let uses = |process: &Path| {
            let read = |name: &str| String::from_utf8_lossy(&std::fs::read(process.join(name)).unwrap_or_default()).into_owned();
            read("cmdline").contains("relaunch\0watch") && read("environ").contains(temporary.to_str().unwrap())
        };
        let left = std::fs::read_dir("/proc").unwrap().flatten().any(|process| uses(&process.path()));
        (!left).then_some(())
    });
}

#[test]
fn a_demo_left_at_a_pause_or_a_question_leaves_nothing() {
    needs!("tmux");
    for (pause, key, status) in [(1, "q", 0), (1, "C-d", 0), (1, "C-c", 130), (2, "q", 0), (3, "C-c", 130)] {
        let world = world();
        let terminal = demo(&world);
        terminal.see("Enter goes on");
        match pause {
            1 => {}
            2 => {
                terminal.press(&["Enter"]);
                until("two pauses", || (terminal.screen().matches("Enter goes on").count() == 2).then_some(()));
            }
            _ => until_the_question(&terminal),
        }
        terminal.press(&[key]);
        if key == "q" {
            terminal.press(&["Enter"]);
        }
        let screen = terminal.see("left=");
        assert!(screen.contains(&format!("left={status}")), "{key} at pause {pause}: {screen}");
        assert!(!screen.contains("error:"), "{screen}");
        nothing_is_left(&world);
    }
}

#[test]
fn a_question_that_is_left_open_waits_and_is_shown_again() {
    needs!("tmux");
    let world = world();
    let terminal = demo(&world);
    until_the_question(&terminal);
    let kept_in = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().count();
    terminal.press(&["i", "my own words"]);
    terminal.see("│ my own words");
    terminal.press(&["Escape"]);
    terminal.see("The question waits. Enter shows it again");
    assert_eq!(kept_in(folders(&world)[0].join("drafts")), 1);
    terminal.press(&["Enter"]);
    terminal.see("│ my own words");
    terminal.press(&["Escape"]);
    terminal.see("The question waits. Enter shows it again");
    terminal.press(&["q", "Enter"]);
    terminal.see("left=0");
    assert_eq!(kept_in(world.home().join(".local/state/askbox/drafts")), 0, "a draft of the demo is not among the person's own");
    nothing_is_left(&world);
}

#[test]
fn a_demo_that_is_stopped_goes_on_in_the_foreground() {
    needs!("tmux");
    let world = world();
    let temporary = format!("TMPDIR={}", world.path("tmp").display());
    let terminal = Terminal::running(&world, (120, 200), &[&temporary, "PS1=$ "], &["sh"]);
    terminal.see("$");
    terminal.press(&["askbox demo; echo status=$?", "Enter"]);
    terminal.see("Enter goes on");
    terminal.press(&["C-z"]);
    terminal.see("Stopped");
    terminal.press(&["fg", "Enter"]);
    until("the demo is back", || terminal.screen().contains("\naskbox demo\n").then_some(()));
    terminal.press(&["Enter"]);
    terminal.see("2. A watcher waits");
    until("two pauses", || (terminal.screen().matches("Enter goes on").count() == 2).then_some(()));
    terminal.press(&["q", "Enter"]);
    terminal.see("its files are removed");
    nothing_is_left(&world);
}

#[test]
fn a_demo_whose_terminal_is_closed_leaves_nothing_behind() {
    needs!("tmux");
    for stopped in [false, true] {
        let world = world();
        let temporary = format!("TMPDIR={}", world.path("tmp").display());
        let terminal = Terminal::running(&world, (120, 200), &[&temporary, "PS1=$ "], &["sh"]);
        terminal.see("$");
        terminal.press(&["askbox demo", "Enter"]);
        terminal.see("Enter goes on");
        terminal.press(&["Enter"]);
        until("two pauses", || (terminal.screen().matches("Enter goes on").count() == 2).then_some(()));
        if stopped {
            terminal.press(&["C-z"]);
            terminal.see("Stopped");
        }
        assert_eq!(folders(&world).len(), 1);
        drop(terminal);
        nothing_is_left(&world);
    }
}

/// A shell that stays keeps the signal from the demo, whose reading ends all the same.
#[test]
fn a_demo_whose_terminal_just_closes_leaves_nothing() {
    needs!("tmux");
    let world = world();
    let temporary = format!("TMPDIR={}", world.path("tmp").display());
    let stays = "trap '' HUP; askbox demo; echo left=$? > left";
    let terminal = Terminal::running(&world, (120, 200), &[&temporary], &["sh", "-c", stays]);
    terminal.see("Enter goes on");
    terminal.press(&["Enter"]);
    until("two pauses", || (terminal.screen().matches("Enter goes on").count() == 2).then_some(()));
    drop(terminal);
    nothing_is_left(&world);
    until("the demo has ended", || std::fs::read_to_string(world.path("left")).is_ok_and(|left| left == "left=129\n").then_some(()));
}

#[test]
fn a_demo_whose_terminal_closes_in_its_inbox_leaves_nothing() {
    needs!("tmux");
    for stays in ["trap '' HUP; askbox demo; echo left=$? > left", "askbox demo"] {
        let world = world();
        let temporary = format!("TMPDIR={}", world.path("tmp").display());
        let terminal = Terminal::running(&world, (120, 200), &[&temporary], &["sh", "-c", stays]);
        until_the_question(&terminal);
        terminal.press(&["i", "half a thought"]);
        terminal.see("half a thought");
        drop(terminal);
        nothing_is_left(&world);
        let drafts = world.home().join(".local/state/askbox/drafts");
        assert!(std::fs::read_dir(&drafts).is_err(), "a draft of the demo stays in {}", drafts.display());
    }
}

#[test]
fn a_typo_at_the_demos_prompt_is_asked_back_and_does_not_end_it() {
    needs!("tmux");
    let world = world();
    let terminal = demo(&world);
    until_the_question(&terminal);
    terminal.press(&["i", "merg", "Enter"]);
    terminal.see("Is this one of the options?");
    terminal.press(&["1", "Enter"]);
    terminal.see("guide.md is ready; the answer was: merge");
    terminal.see("Enter goes on");
    terminal.press(&["Enter"]);
    terminal.see("left=0");
}

#[test]
fn a_demo_interrupted_while_its_agent_works_leaves_nothing() {
    needs!("tmux");
    for stage in ["agent     ", "I am a new process"] {
        let world = world();
        let terminal = demo(&world);
        if stage != "agent     " {
            until_the_question(&terminal);
            terminal.press(&["1", "Enter"]);
        }
        terminal.see(stage);
        terminal.press(&["C-c"]);
        let screen = terminal.see("left=130");
        assert!(!screen.contains("error:") && !screen.contains("are kept in"), "{screen}");
        assert_eq!(folders(&world), [] as [PathBuf; 0], "{screen}");
    }
}

mod promises {
    use super::*;

    #[test]
    fn the_demo_asks_exits_is_relaunched_and_leaves_nothing() {
        let world = world();
        let ran = world.shell("TMPDIR=$PWD/tmp askbox demo --auto");
        assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
        assert!(!ran.stdout.contains("with claude "), "a script has no shortcomings of a version of claude: {}", ran.stdout);
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
                "$ askbox setup",
            ],
        );
        assert_eq!(folders(&world), [] as [PathBuf; 0]);
    }

    #[test]
    fn a_kept_demo_is_a_readable_mailbox_that_was_run_once() {
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
}
