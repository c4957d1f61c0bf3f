//! A process on the other side is stopped by a signal (Ctrl-Z, SIGSTOP), or hangs while it holds a lock: no command waits for it without
//! end, and each says which process it is.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use crate::support::process::is_alive;
use crate::support::{Running, Signal, World, asleep, files, in_parallel, needs, quickly, signal, until};

/// A run whose agent is in a tool call and whose supervisor is stopped by SIGSTOP; the supervisor's pid.
fn with_stopped_supervisor() -> (World, crate::support::Watcher, i32) {
    let world = World::stepping("work");
    world.hold("tool");
    world.ask_and_answer("docs");
    let watcher = world.watch();
    let [_, supervisor] = world.held("tool");
    // It has read the tool call, and writes nothing.
    let is_noted =
        |(path, bytes): (&PathBuf, &Vec<u8>)| path.ends_with("events.jsonl") && String::from_utf8_lossy(bytes).contains("\"tool_call\"");
    until("the tool call is noted", || files(&world.in_mailbox("runs/docs")).iter().any(is_noted));
    asleep(supervisor);
    signal(supervisor, Signal::STOP);
    until("the supervisor is stopped", || stat_of(supervisor).contains(") T "));
    (world, watcher, supervisor)
}

fn stat_of(pid: i32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default()
}

#[test]
fn a_killed_stopped_supervisor_leaves_a_run_to_be_stopped() {
    let (world, _watcher, supervisor) = with_stopped_supervisor();
    let mut stop = world.command("relaunch");
    let mut stop = Running(stop.args(["stop", "docs", "--grace", "1h"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    // The request is there, and the supervisor is gone before it can act on it.
    let round = world.only("running", "docs.").unwrap().file_stem().unwrap().to_str().unwrap().replacen("docs.", "docs/", 1);
    world.appears(&format!("runs/{round}/1/stop.json"));
    signal(supervisor, Signal::KILL);
    until("the command that waited has ended", || stop.has_ended());
    world.run("relaunch", &["stop", "docs"]);
    world.reaches("docs", "interrupted");
    assert_eq!((world.logged("start "), world.of_runs().len()), (1, 0));
    assert!(!is_alive(supervisor));
}

/// Commands that change something of the workflow `docs`, which has a pending question and a checkpoint.
const COMMANDS: [&str; 11] = [
    "ask-post --supersede Which? -w docs",
    "ask-post --wait 1s Which? -w docs",
    "ask-answer docs a",
    "ask-answer decline docs",
    "ask-answer cancel docs",
    "checkpoint save docs --step two",
    "checkpoint rm docs",
    "relaunch other",
    "relaunch prompt other",
    "relaunch stop docs",
    "askbox gc --keep 0s",
];
/// Commands that only look, and need no lock.
const LOOKS: [&str; 8] = [
    "askbox doctor",
    "relaunch resume --timeout 1s docs",
    "ask-answer list",
    "ask-answer show docs",
    "checkpoint show docs",
    "relaunch status",
    "relaunch status docs --json",
    "askbox tree",
];

#[test]
fn every_command_ends_when_a_stopped_process_holds_its_lock() {
    needs!("flock");
    let world = World::new();
    world.make_mailbox();
    world.ok("ask-post", &["-w", "docs", "How?", "-o", "a=A"]);
    world.ok("checkpoint", &["save", "docs", "--step", "one"]);
    world.ask_and_answer("other");
    for old in ["one", "two", "three", "four"] {
        world.ok("ask-post", &["-w", old, "?"]);
        world.ok("ask-answer", &["cancel", old]);
    }
    let script = "for n in $(seq 0 255); do exec {fd}<>m/locks/$(printf %02x $n); flock $fd; done; touch held; exec sleep 1000";
    let mut holder = world.any_command("bash");
    let holder = Running::start(holder.args(["-c", script]));
    until("the locks are held", || world.path("held").exists() && stat_of(holder.pid()).contains("(sleep)"));
    signal(holder.pid(), Signal::STOP);
    for look in LOOKS {
        let less_than_a_lock_is_waited_for = Duration::from_secs(15);
        let out = quickly(look, less_than_a_lock_is_waited_for, || world.shell(look));
        assert!(out.status.success() || look == "askbox doctor", "{look}: {out:?}");
    }
    in_parallel(COMMANDS.len(), &COMMANDS, |command| {
        // It ends: a shell that does not is a failure.
        let out = world.shell(command);
        let named = out.stderr.contains(&format!("by process {} (sleep), which a signal has stopped", holder.pid()));
        assert!(out.code() == 1 && named || command == &"relaunch stop docs" && out.code() == 4, "{command}: {out:?}");
    });
    signal(holder.pid(), Signal::CONT);
    holder.kill();
    world.ok("ask-answer", &["docs", "a"]);
}

mod promises {
    use super::*;

    #[test]
    fn a_stopped_supervisor_is_continued_when_its_run_is_to_stop() {
        let (world, _watcher, supervisor) = with_stopped_supervisor();
        let out = world.run("relaunch", &["stop", "docs", "--now"]).ok();
        assert!(out.stderr.contains(&format!("process {supervisor} (relaunch), which a signal has stopped; it is continued")), "{out:?}");
        assert!(out.stdout.contains("stopped docs; go on with"), "{out:?}");
        assert_eq!((world.state("docs").as_str(), world.of_runs().len()), ("interrupted", 0));
    }
}
