//! A hook or a session that is killed while its dialog is open.

use super::{Attended, closed, made, touch, world};
use crate::support::{Signal, kill, signal, until};

#[test]
fn a_session_that_is_killed_withdraws_its_question() {
    let world = world();
    let session = Attended::begin(&world);
    session.goes(&[touch("one")]);
    let id = session.asks();
    processes_of(&session).into_iter().for_each(kill);
    let end = closed(&world, &id, "withdrawn");
    assert_eq!(end["closed"]["why"], "its session has ended");
}

#[test]
fn a_session_that_is_told_to_end_withdraws_its_question() {
    let world = world();
    let session = Attended::begin(&world);
    session.goes(&[touch("one")]);
    let id = session.asks();
    processes_of(&session).into_iter().for_each(|pid| signal(pid, Signal::TERM));
    closed(&world, &id, "withdrawn");
}

#[test]
fn without_its_hook_a_question_takes_no_answer() {
    let world = world();
    {
        let session = Attended::begin(&world);
        session.goes(&[touch("one")]);
        let id = session.asks();
        kill_hook(&world);
        let shown = world.ok("ask-answer", &["show", &id]);
        let command = shown.lines().map(str::trim).find(|line| line.starts_with("ask-answer ") && line.contains(" once ")).expect("it");
        let refused = world.run("ask-answer", &command.split(' ').skip(1).collect::<Vec<_>>());
        assert!(refused.code() == 4 && refused.words().contains("hook beside its dialog is gone"), "{}", refused.words());
        assert!(!refused.words().contains("--resume"), "the session lives: {}", refused.words());
        closed(&world, &id, "withdrawn");
        // The dialog is still open at the terminal, and decides.
        session.terminal.see(super::DIALOG);
        session.ends_dialog(&["1"]);
        session.told();
        assert!(made(&world, "one"));
    }
    assert!(world.names("pending").is_empty());
}

#[test]
fn a_watcher_withdraws_the_question_of_a_killed_hook() {
    let mut world = world();
    world.keep_watching();
    let session = Attended::begin(&world);
    session.goes(&[touch("one")]);
    let id = session.asks();
    kill_hook(&world);
    closed(&world, &id, "withdrawn");
    session.terminal.see(super::DIALOG);
    drop(session);
    assert!(world.launches().is_empty());
}

/// The processes of `claude` itself, without its terminal.
pub(super) fn processes_of(session: &Attended<'_>) -> Vec<i32> {
    let is_claude = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "claude");
    let found: Vec<i32> = session.world.processes(&session.session).into_iter().filter(is_claude).collect();
    assert!(!found.is_empty());
    found
}

pub(super) fn kill_hook(world: &crate::support::ClaudeWorld) {
    let hooks = until("the hook runs", || Some(world.processes("askbox hook")).filter(|hooks| !hooks.is_empty()));
    hooks.into_iter().for_each(kill);
    until("the hook is gone", || world.processes("askbox hook").is_empty());
}
