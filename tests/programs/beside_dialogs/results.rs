//! The result of a run wakes the session that started it: once, with the command that prints the result, and without the words of an agent.
//! `tests/claude/attended/woken.rs` does the same with the real `claude`.

use std::process::Command;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::SESSION;
use crate::support::{Outcome, World, feed, output, program, until};

/// A world whose agent says a secret at the end, or fails, once it may.
fn world() -> World {
    let world = World::new().with_scripted_agent();
    world.configure("[live]\nenabled = true\n[relaunch]\nattempts = 1\n");
    world.make_mailbox();
    for id in ["one", "two"] {
        world.agent_does(id, &format!("while [ ! -e $AGENT_DIR/{id}.goes ]; do sleep 0.02; done; echo the secret of {id}"));
    }
    world.agent_does("fails", "while [ ! -e $AGENT_DIR/fails.goes ]; do sleep 0.02; done; echo HOPELESS");
    world
}

fn goes_on(world: &World, id: &str) {
    std::fs::write(world.agent(&format!("{id}.goes")), "").unwrap();
}

/// The output of the hook at this moment of the session.
fn hook(world: &World, moment: &str, attended: &str) -> Outcome {
    let event = json!({"hook_event_name": moment, "session_id": SESSION, "transcript_path": "/t.jsonl", "cwd": world.work()});
    let mut command = world.any_command(program("askbox"));
    command.arg("hook").env("CLAUDE_CODE_SESSION_ATTENDED", attended);
    feed(&mut command, event.to_string().as_bytes())
}

/// A command in the shell of the session.
fn in_session(world: &World, args: &[&str]) -> Command {
    let mut command = world.command("relaunch");
    command.args(args).env("CLAUDE_CODE_SESSION_ID", SESSION);
    command
}

fn starts(world: &World, id: &str, more: &[&str]) -> Outcome {
    output(&mut in_session(world, &[&["spawn", "-w", id, "--prompt", "Work."], more].concat()))
}

/// When the file that wakes the session was changed last.
fn changed(world: &World) -> SystemTime {
    std::fs::metadata(world.in_mailbox(format!("looked/{SESSION}.wake"))).unwrap().modified().unwrap()
}

/// Waits until the end of a run is in the audit and has woken the session, which follow the move of its document.
#[track_caller]
fn is_told(world: &World, id: &str, event: &str, since: SystemTime) {
    until("the end is in the audit", || world.audit(id).iter().any(|other| other == event));
    until("the session is woken", || changed(world) != since);
}

#[track_caller]
fn is_silent(world: &World, why: &str) {
    let silent = hook(world, "FileChanged", "1");
    assert!(silent.code() == 0 && silent.words().is_empty(), "{why}: {}", silent.words());
}

fn awaited_in(world: &World, id: &str) -> Value {
    world.document(&format!("workflows/{id}.json"))["awaited_in"].clone()
}

#[test]
fn a_look_without_a_result_leaves_the_session_waiting() {
    let world = world();
    hook(&world, "SessionStart", "1").ok();
    starts(&world, "one", &["--background"]).ok();
    assert_eq!(output(&mut in_session(&world, &["resume", "one", "--timeout", "1s"])).stdout, "SGN_PEND_ONGOING\n");
    assert_eq!(output(&mut in_session(&world, &["wait", "one", "--timeout", "1s"])).code(), 6);
    assert_eq!(awaited_in(&world, "one"), SESSION);
    let before = changed(&world);
    goes_on(&world, "one");
    until("the session is woken", || changed(&world) != before);
    assert_eq!(hook(&world, "FileChanged", "1").code(), 2);
}

#[test]
fn a_run_that_fails_or_ended_too_early_wakes_all_the_same() {
    let world = world();
    hook(&world, "SessionStart", "1").ok();
    let before = changed(&world);
    starts(&world, "fails", &["--background"]).ok();
    goes_on(&world, "fails");
    is_told(&world, "fails", "parked", before);
    let woken = until("the session is woken", || Some(hook(&world, "FileChanged", "1")).filter(|woken| woken.code() == 2));
    let words = "- fails: its run failed or was stopped, and waits for a person (relaunch resume fails)";
    assert!(woken.stderr.contains(words), "{}", woken.words());
    // A foreground run that leaves its workflow asking: the result comes with the answer.
    world.agent_does("asks", "ask-post 'Which?' -o a -o b >/dev/null; echo asked");
    output(&mut in_session(&world, &["run", "-w", "asks", "--prompt", "Work."])).ok();
    assert_eq!(awaited_in(&world, "asks"), SESSION);
    world.agent_does("asks", "echo the secret of asks");
    let before = changed(&world);
    world.ok("ask-answer", &["asks", "a"]);
    assert_eq!(changed(&world), before, "an answer to a run is no result");
    world.run("relaunch", &["asks"]).ok();
    until("the session is woken", || changed(&world) != before);
    let woken = hook(&world, "FileChanged", "1");
    assert!(woken.code() == 2 && woken.stderr.contains("- asks: its run finished (relaunch resume asks)"), "{}", woken.words());
}

#[test]
fn a_session_that_was_resumed_is_told_at_its_start_or_woken() {
    let world = world();
    hook(&world, "SessionStart", "1").ok();
    starts(&world, "one", &["--background"]).ok();
    starts(&world, "two", &["--background"]).ok();
    let before = changed(&world);
    goes_on(&world, "one");
    is_told(&world, "one", "delivered", before);
    // Nobody was there to be woken. The session goes on under the same id.
    let start = hook(&world, "SessionStart", "1").ok().stdout;
    assert!(start.contains("one: its run finished (relaunch resume one)") && start.contains("watchPaths"), "{start}");
    is_silent(&world, "it was told at the start");
    let before = changed(&world);
    goes_on(&world, "two");
    is_told(&world, "two", "delivered", before);
    let woken = hook(&world, "FileChanged", "1");
    assert!(woken.code() == 2 && !woken.stderr.contains("- one:") && woken.stderr.contains("- two:"), "{}", woken.words());
}

#[test]
fn only_a_live_session_outside_of_runs_waits_for_results() {
    let world = world();
    starts(&world, "one", &["--background"]).ok();
    assert_eq!(awaited_in(&world, "one"), Value::Null, "the session does not want to be woken");
    hook(&world, "SessionStart", "0").ok();
    starts(&world, "two", &["--background"]).ok();
    assert_eq!(awaited_in(&world, "two"), Value::Null, "nobody attends it");
    ["one", "two"].iter().for_each(|id| goes_on(&world, id));
    ["one", "two"].iter().for_each(|id| drop(world.reaches(id, "delivered")));
}

mod promises {
    use super::*;

    #[test]
    fn the_result_of_a_run_is_told_once_to_the_session_that_waits() {
        let world = world();
        hook(&world, "SessionStart", "1").ok();
        starts(&world, "one", &["--background"]).ok();
        assert_eq!(awaited_in(&world, "one"), SESSION);
        let before = changed(&world);
        goes_on(&world, "one");
        world.reaches("one", "delivered");
        until("the session is woken", || changed(&world) != before);
        let unattended = hook(&world, "FileChanged", "0");
        assert!(unattended.code() == 0 && unattended.words().is_empty(), "in `claude -p` this would block a prompt");
        let woken = hook(&world, "FileChanged", "1");
        assert!(woken.code() == 2 && woken.stderr.contains("- one: its run finished (relaunch resume one)"), "{}", woken.words());
        assert!(!woken.words().contains("secret"), "an agent's words could be taken for the user's: {}", woken.words());
        is_silent(&world, "it was told");
        assert!(hook(&world, "UserPromptSubmit", "1").ok().stdout.is_empty(), "nor with the next prompt");
        let read = output(&mut in_session(&world, &["resume", "one"])).ok().stdout;
        assert_eq!(read, "the secret of one\n");
        is_silent(&world, "it was read");
    }

    #[test]
    fn a_result_that_the_command_prints_wakes_nobody() {
        let world = world();
        hook(&world, "SessionStart", "1").ok();
        goes_on(&world, "one");
        let before = changed(&world);
        assert_eq!(starts(&world, "one", &[]).ok().stdout, "the secret of one\n");
        assert_eq!(awaited_in(&world, "one"), Value::Null);
        // It waits for a while, and then for the rest.
        assert_eq!(starts(&world, "two", &["--timeout", "1s"]).ok().stdout, "SGN_PEND_STARTED (two)\n");
        assert_eq!(awaited_in(&world, "two"), SESSION);
        let mut looks = in_session(&world, &["resume", "two", "--timeout", "1m"]);
        let looking = looks.stdout(std::process::Stdio::piped()).spawn().unwrap();
        until("the command waits for the result", || awaited_in(&world, "two").is_null());
        goes_on(&world, "two");
        let printed = looking.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&printed.stdout), "the secret of two\n");
        assert_eq!(changed(&world), before, "the session has read both results");
        is_silent(&world, "it has read both");
        // Another session that looks does not take the news away.
        assert_eq!(world.run("relaunch", &["resume", "one"]).ok().stdout, "the secret of one\n");
    }
}
