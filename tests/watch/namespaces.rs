//! Watchers in PID namespaces, as in containers that share a mailbox: none sees the processes of another. An agent that outlived its
//! supervisor is never joined by a second one.

use std::process::Command;

use crate::support::process::Running;
use crate::support::{Signal, Watcher, World, needs, signal, until};

/// A PID namespace of its own, with its own `/proc`.
const NAMESPACE: [&str; 5] = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];

/// The first agent ignores SIGTERM until the file `leave` is there. The next one says if it began before that.
const STUBBORN: &str = r#"
if mkdir "$AGENT_DIR/first" 2>/dev/null; then
  trap '' TERM
  log stubborn
  while [ ! -e "$AGENT_DIR/leave" ]; do sleep 0.05; done
  log left
  exit 1
fi
grep -q '^left' "$AGENT_DIR/log" || log beside
work"#;

fn in_a_namespace(world: &World, args: &[&str]) -> Command {
    let mut command = world.wrapped(&NAMESPACE.map(str::to_owned), "relaunch");
    command.args(args);
    command
}

fn watch_in_a_namespace(world: &World) -> Watcher {
    let watcher = world.start_as_watcher(&mut in_a_namespace(world, &["watch"]));
    watcher.says("watching ");
    watcher
}

/// Starts a run in a namespace of its own, and kills its supervisor. The agent goes on there, without a watcher.
fn left_behind(world: &World) -> Running {
    world.ask_and_answer("docs");
    // The first process of a namespace takes all others along, so it must not be the supervisor.
    let script = format!("{} sh -c 'relaunch docs & wait; exec sleep 1000'", NAMESPACE.join(" "));
    let place = Running::start(&mut world.shell_command(&script));
    until("the agent ignores SIGTERM", || world.logged("stubborn") == 1);
    let is_program = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "relaunch");
    let supervisor = world.processes("relaunch docs").into_iter().find(is_program).expect("the supervisor");
    signal(supervisor, Signal::KILL);
    place
}

fn why(world: &World) -> String {
    world.status("docs")["why"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_agent_elsewhere_that_does_not_end_parks_its_round() {
    needs!("root", "mount");
    let world = World::stepping(STUBBORN);
    let _place = left_behind(&world);
    let first = watch_in_a_namespace(&world);
    world.reaches("docs", "throttled");
    first.kill();
    let round = world.status("docs")["question_id"].as_str().expect("a round").to_owned();
    let record = world.in_mailbox(format!("runs/docs/{round}/1/run.json"));
    let mut run = world.json(&record);
    // Ten minutes are over.
    run["ended_at"] = "2026-01-01T00:00:00Z".into();
    run["retry_at"] = "2026-01-01T00:00:01Z".into();
    std::fs::write(&record, run.to_string()).unwrap();
    let _watcher = watch_in_a_namespace(&world);
    let parked = world.reaches("docs", "parked");
    assert_eq!(parked["failure"], "elsewhere");
    assert!(why(&world).ends_with("it has not ended within 10m"), "{}", why(&world));
    let refused = crate::support::output(&mut in_a_namespace(&world, &["retry", "docs"]));
    assert!(refused.status.code() == Some(4) && refused.stderr.contains("hint: end it there"), "{refused:?}");
    assert_eq!(world.state("docs"), "parked");
    std::fs::write(world.agent("leave"), "").unwrap();
    until("it has left", || world.logged("left") == 1);
    until("it is retried", || crate::support::output(&mut in_a_namespace(&world, &["retry", "docs"])).status.success());
    world.reaches("docs", "delivered");
    assert_eq!((world.logged("start "), world.logged("beside")), (2, 0), "{:#?}", world.log());
}

#[test]
fn a_watcher_elsewhere_waits_for_an_agent_that_it_cannot_see() {
    needs!("root", "mount");
    let world = World::stepping(STUBBORN);
    let _place = left_behind(&world);
    let _watcher = watch_in_a_namespace(&world);
    world.reaches("docs", "throttled");
    assert!(why(&world).contains("the agent of attempt 1 lives, but its supervisor does not: process "), "{}", why(&world));
    // A command waits no longer than the service, and says the same.
    let refused = crate::support::output(&mut in_a_namespace(&world, &["docs"]));
    assert_ne!(refused.status.code(), Some(0), "{refused:?}");
    assert_eq!(world.logged("start "), 1, "{:#?}", world.log());
    std::fs::write(world.agent("leave"), "").unwrap();
    world.reaches("docs", "delivered");
    assert_eq!((world.logged("start "), world.logged("beside"), world.logged("left")), (2, 0, 1), "{:#?}", world.log());
}
