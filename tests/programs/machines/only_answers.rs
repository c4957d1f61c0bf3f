//! A person who only answers: nothing was ever asked on this computer.

use std::os::unix::fs::PermissionsExt;

use super::two;
use crate::support::{Terminal, needs};

#[test]
fn the_doctor_of_a_computer_that_only_answers_finds_no_fault() {
    needs!("sshd", "ssh");
    let (here, _build) = two();
    let doctor = here.run("askbox", &["doctor"]);
    assert_eq!(doctor.code(), 0, "{}", doctor.stdout);
    assert!(doctor.stdout.contains("No problems found") && doctor.stdout.contains("from here one only answers"), "{}", doctor.stdout);
    here.ok("ask-post", &["-w", "own", "Which port?"]);
    let doctor = here.run("askbox", &["doctor"]);
    assert!(doctor.code() == 1 && doctor.stdout.contains("no_runner"), "{}", doctor.stdout);
    assert!(!doctor.stdout.contains("only answers"), "{}", doctor.stdout);
}

#[test]
fn an_agents_run_and_a_lone_machine_make_no_mailbox() {
    needs!("sshd", "ssh", "tmux");
    let (here, _build) = two();
    let terminal = Terminal::new(&here);
    terminal.press(&["clear; ASKBOX_RUN=w/q/1 askbox inbox; echo left=$?", "Enter"]);
    terminal.see("left=3");
    here.configure("# [peers.build]\n# ssh = 'build'\n");
    terminal.press(&["clear; ask-answer; echo left=$? twice", "Enter"]);
    terminal.see("left=3 twice");
    assert!(!here.mailbox().exists());
}

mod promises {
    use super::*;

    #[test]
    fn with_other_machines_the_inbox_opens_without_a_question_here() {
        needs!("sshd", "ssh", "tmux");
        let (here, build) = two();
        assert!(!here.mailbox().exists(), "a list makes no mailbox");
        // A question of this machine is none that another one has.
        let missing = here.run("ask-answer", &["docs-42", "merge"]);
        assert!(missing.code() == 3 && !here.mailbox().exists(), "{missing:?}");
        let terminal = Terminal::new(&here);
        terminal.press(&["clear; ask-answer; echo left=$?", "Enter"]);
        terminal.see("? help");
        assert!(!terminal.see("build:docs-42").contains("no watcher runs"), "nothing is launched here");
        terminal.press(&["Enter"]);
        terminal.see("esc later");
        terminal.press(&["1", "Enter"]);
        terminal.see("build:docs-42: answered: merge; accepted by build");
        terminal.press(&["q"]);
        terminal.see("left=0");
        assert_eq!(std::fs::metadata(here.mailbox()).unwrap().permissions().mode() & 0o777, 0o700);
        // An address opens the inbox as well.
        std::fs::remove_dir_all(here.mailbox()).unwrap();
        build.world.ok("ask-answer", &["undo", "docs-42"]);
        terminal.press(&["clear; ask-answer build:docs-42; echo left=$?", "Enter"]);
        terminal.see("build:docs-42 · by reviewer");
        terminal.press(&["Escape"]);
        terminal.see("? help");
        terminal.press(&["q"]);
        terminal.see("left=0");
    }
}
