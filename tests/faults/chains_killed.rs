//! Chains under SIGKILL. A spawn is killed before each of its system calls, and so is a watcher that wakes a chain; watcher,
//! supervisor and agent are killed at each step of each level's wake-up. Every child is started once, every level is told once,
//! and the root's result arrives. The table in `chains_killed.md` beside this file holds what is seen. `ASKBOX_WRITE_DOCS=1` writes it anew.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{World, files, in_parallel, kill, names, needs, points_of_every_run, strace, until};
use serde_json::Value;

/// The system calls that change the mailbox, tell somebody, or decide who may.
const CALLS: [&str; 10] = ["open", "openat2", "write", "fsync", "renameat", "renameat2", "linkat", "unlinkat", "mkdirat", "flock"];

/// Every level but the leaf passes on what it starts; the leaf asks. `$spawn` is how a level calls it.
const LEVELS: &str = r#"
content() { sed -n 's/.*Its reply:\\n> \(.*\)\\n\\n\\nContinue.*/\1/p' "$told"; }
case $(cat "$told") in
*'What you started has ended.'*) reply="passed on: $(content)" ;;
*'User chose: '*) reply=$(sed -n 's/.*User chose: \([a-z]*\).*/\1/p' "$told") ;;
*) case $ASKBOX_WORKFLOW_ID in
  l3) reply=$(ask-post 'When?' -o may=May) ;;
  l2) reply=$(relaunch spawn -w l3 --prompt go) ;;
  l1) reply=$(relaunch spawn -w l2 --prompt go) ;;
  esac ;;
esac
say '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"true"}}]}}'
step tool
say '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":false,"content":"done"}]}}'
step before_result
result "$reply"
log "done $ASKBOX_RUN $session"
step result
"#;

/// A chain from `root` down to l3 that sleeps; its leaf's question is answered, and nobody watches.
fn answered(root: &str) -> World {
    let world = World::stepping(LEVELS);
    assert_eq!(world.ok("relaunch", &["spawn", "-w", root, "--prompt", "go"]), format!("SGN_PEND_STARTED ({root})\n"));
    world.ok("ask-answer", &["l3", "may"]);
    world
}

fn status(world: &World, workflow: &str) -> Value {
    serde_json::from_str(&world.run("relaunch", &["status", workflow, "--json"]).stdout).unwrap_or_default()
}

/// Starts of a workflow's agent.
fn starts(world: &World, workflow: &str) -> usize {
    world.logged(&format!("start {workflow}/"))
}

/// Waits for the root's end and for the end of all waits.
fn wait_for(world: &World, root: &str, when: &str) {
    until(&format!("{when}: the root's end"), || world.state(root) == "delivered");
    let waits = world.in_mailbox("awaits");
    until(&format!("{when}: no workflow waits any more"), || names(&waits).is_empty());
}

/// What must hold whoever was killed: each level of the chain had its first message and its news, each once.
#[track_caller]
fn woken_once(world: &World, levels: &[&str], when: &str) {
    world.assert_whole(when);
    let passed = "passed on: ".repeat(levels.len() - 1);
    assert_eq!(status(world, levels[0])["result"], format!("{passed}may"), "{when}");
    for folder in ["pending", "answered", "running", "parked", "quarantine"] {
        assert_eq!(world.names(folder), Vec::<String>::new(), "{when}: {folder}/ is not empty");
    }
    until(&format!("{when}: nothing of the runs lives"), || world.of_runs().is_empty());
    assert_eq!(world.logged("violation "), 0, "{when}: {:#?}", world.log());
    let shown: Vec<String> = world.log().into_iter().filter(|l| l.starts_with("shown ")).collect();
    for level in levels {
        let of_level: Vec<_> = shown.iter().filter(|l| l.starts_with(&format!("shown {level}/"))).collect();
        assert_eq!(of_level.len(), 2, "{when}: {level} was told {of_level:#?}");
    }
    let messages: BTreeSet<_> = shown.iter().map(|l| l.rsplit(' ').next()).collect();
    assert_eq!(messages.len(), shown.len(), "{when}: a message was shown twice: {shown:#?}");
}

/// Every point of a call: the name of a system call, and which of them.
fn points(trace: &str) -> Vec<(&'static str, usize)> {
    let count = |call: &str| trace.lines().filter(|l| l.starts_with(&format!("{call}("))).count();
    CALLS.iter().flat_map(|call| (1..=count(call)).map(|n| (*call, n))).collect()
}

fn tracing(out: &Path) -> Vec<String> {
    strace(&["-qq", "-e", &format!("trace={}", CALLS.join(",")), "-e", "signal=none", "-o", out.to_str().expect("a path")])
}

fn killing((call, n): (&str, usize)) -> Vec<String> {
    let inject = format!("inject={call}:signal=KILL:when={n}");
    strace(&["-qq", "-e", &format!("trace={call}"), "-e", &inject, "-e", "signal=none", "-o", "/dev/null"])
}

#[test]
fn a_watcher_killed_at_every_syscall_wakes_every_level_once() {
    needs!("strace");
    let levels = ["l2", "l3"];
    let reference = || {
        let world = answered("l2");
        let trace = world.path("trace");
        let watcher = world.start_watcher_behind(&tracing(&trace));
        wait_for(&world, "l2", "unkilled");
        woken_once(&world, &levels, "unkilled");
        watcher.kill();
        points(&std::fs::read_to_string(&trace).expect("a trace"))
    };
    let points = points_of_every_run(reference);
    let kills = AtomicUsize::new(0);
    in_parallel(8, &points, |point| {
        let when = format!("watcher killed before {} number {}", point.0, point.1);
        let world = answered("l2");
        let mut watcher = world.start_watcher_behind(&killing(*point));
        until(&when, || watcher.process.has_ended() || !watcher.said("delivered  l2").is_empty());
        kills.fetch_add(usize::from(watcher.process.has_ended()), Ordering::Relaxed);
        drop(watcher);
        let _second = world.start_watcher();
        wait_for(&world, "l2", &when);
        woken_once(&world, &levels, &when);
    });
    let kills = kills.into_inner();
    eprintln!("watcher: killed at {kills} of {} points", points.len());
    assert!(kills * 10 >= points.len() * 8, "only {kills} of {} points were reached", points.len());
}

/// The root spawns a child that just replies. `wrap` stands before its first `relaunch spawn`; where the file `repeats` is there,
/// it calls again if it got no line. What it is given goes to the log.
const SPAWNS: &str = r#"
case $ASKBOX_WORKFLOW_ID in
root)
  if grep -q 'What you started has ended' "$told"; then
    log "given $(cat "$told")"
  else
    out=$($(cat "$AGENT_DIR/wrap") relaunch spawn --prompt go 2>>"$AGENT_DIR/errors")
    [ -n "$out" ] || [ ! -e "$AGENT_DIR/repeats" ] || out=$(relaunch spawn --prompt go 2>>"$AGENT_DIR/errors")
    log "given $out"
  fi
  result over ;;
*) result 'the reply' ;;
esac
"#;

/// One run with a spawn that is killed there. Whether it was, and whether the root was told in doubt.
fn spawn_killed(point: Option<(&str, usize)>, repeats: bool) -> (bool, bool) {
    let when = format!("spawn killed before {point:?}, repeats: {repeats}");
    let world = World::stepping(SPAWNS);
    // Behind the fence only a caller would be killed.
    world.configure("\n[fence]\nmode = \"off\"");
    let wrap = match point {
        Some(point) => killing(point).join(" "),
        None => tracing(&world.agent("trace")).join(" "),
    };
    std::fs::write(world.agent("wrap"), wrap).expect("wrap");
    if repeats {
        std::fs::write(world.agent("repeats"), "").expect("a file");
    }
    world.make_mailbox();
    let _watcher = world.start_watcher();
    world.ok("relaunch", &["spawn", "-w", "root", "--prompt", "go"]);
    let children = || world.log().iter().filter(|l| l.starts_with("start ") && !l.starts_with("start root/")).count();
    wait_for(&world, "root", &when);
    world.assert_whole(&when);
    world.assert_children_are_named(&when);
    let given: Vec<String> = world.log().into_iter().filter(|l| l.starts_with("given ")).collect();
    let replies: Vec<_> = given.iter().filter(|g| g.contains("the reply")).collect();
    let started = given[0].contains("the reply") || given.get(1).is_some_and(|g| !g.contains("was never started"));
    assert!(started || given[0] == "given ", "{when}: {given:#?}");
    assert_eq!(children(), usize::from(started), "{when}: {:#?}", world.log());
    let in_doubt = replies.len() == 2;
    if in_doubt {
        assert!(replies[1].contains("(You may have seen this: "), "{when}: told twice: {given:#?}");
    } else {
        assert_eq!(replies.len(), usize::from(started), "{when}: {given:#?}");
    }
    if point.is_none() {
        assert!(!in_doubt && given.len() == 1 && !given[0].contains("You may"), "{given:#?}");
    }
    (given.len() == 2 || !started || repeats, in_doubt)
}

#[test]
fn a_spawn_killed_at_every_syscall_starts_one_child() {
    needs!("strace");
    let world = World::stepping(SPAWNS);
    world.configure("\n[fence]\nmode = \"off\"");
    let trace = world.agent("trace");
    std::fs::write(world.agent("wrap"), tracing(&trace).join(" ")).expect("wrap");
    world.make_mailbox();
    world.ok("relaunch", &["spawn", "-w", "root", "--prompt", "go"]);
    let points = points(&std::fs::read_to_string(&trace).expect("a trace"));
    spawn_killed(None, false);
    let cases: Vec<_> = points.iter().flat_map(|p| [(*p, false), (*p, true)]).collect();
    let (kills, doubts) = (AtomicUsize::new(0), AtomicUsize::new(0));
    in_parallel(8, &cases, |(point, repeats)| {
        let (killed, in_doubt) = spawn_killed(Some(*point), *repeats);
        kills.fetch_add(usize::from(killed), Ordering::Relaxed);
        doubts.fetch_add(usize::from(in_doubt), Ordering::Relaxed);
    });
    let (kills, doubts) = (kills.into_inner(), doubts.into_inner());
    eprintln!("spawn: killed at {kills} of {} points; told in doubt {doubts} times", cases.len());
    assert!(kills * 10 >= cases.len() * 8, "only {kills} of {} points were reached", cases.len());
    assert!((1..cases.len() / 8).contains(&doubts), "told in doubt {doubts} times");
}

/// Where an agent can be held while its level is woken, and what that is in words.
const STEPS: [(&str, &str); 5] = [
    ("spawned", "it is launched and has read nothing"),
    ("began", "its session began, the model has the message"),
    ("tool", "a tool runs"),
    ("before_result", "its turn is nearly over"),
    ("result", "its result was told"),
];

const VICTIMS: [(&str, [bool; 3]); 4] = [
    ("watcher", [true, false, false]),
    ("supervisor", [false, true, false]),
    ("agent", [false, false, true]),
    ("all three (a reboot)", [true; 3]),
];

/// Wakes the chain of three, and kills these processes at this step of this level. Returns what happened, in words.
fn at_step(level: &str, step: &str, (victims, [watch, supervisor, agent]): (&str, [bool; 3])) -> String {
    let when = format!("{victims} killed while {level} is at {step}");
    let world = answered("l1");
    let held = format!("{level}.{step}");
    world.hold(&held);
    let watcher = world.start_watcher();
    let pids = world.held(&held);
    if step == "result" {
        let told = |(path, bytes): (std::path::PathBuf, Vec<u8>)| {
            path.ends_with("events.jsonl") && String::from_utf8_lossy(&bytes).contains("\"type\":\"result\"")
        };
        until(&when, || files(&world.in_mailbox("runs").join(level)).into_iter().filter(|f| told((f.0.clone(), f.1.clone()))).count() == 2);
    }
    let _first = if watch {
        watcher.kill();
        None
    } else {
        Some(watcher)
    };
    if supervisor {
        kill(pids[1]);
    }
    if agent {
        kill(pids[0]);
    }
    world.let_go(&held);
    let _second = watch.then(|| world.start_watcher());
    wait_for(&world, "l1", &when);
    woken_once(&world, &["l1", "l2", "l3"], &when);
    for other in ["l1", "l2", "l3"].iter().filter(|l| **l != level) {
        assert_eq!(starts(&world, other), 2, "{when}: {other} was launched for nothing: {:#?}", world.log());
    }
    match (starts(&world, level), world.logged(&format!("continued {level}/"))) {
        (2, 0) => "one launch".to_owned(),
        (3, 0) => "that level is launched again, and only then told".to_owned(),
        (3, 1) => "that level goes on in the same session and is not told again".to_owned(),
        other => panic!("{when}: {other:?}: {:#?}", world.log()),
    }
}

mod promises {
    use super::*;

    #[test]
    fn a_chain_wakes_once_with_any_process_killed_at_any_step() {
        let cases: Vec<_> = STEPS
            .iter()
            .flat_map(|step| VICTIMS.iter().flat_map(move |victims| ["l3", "l2", "l1"].map(|level| (step, victims, level))))
            .enumerate()
            .collect();
        let seen = Mutex::new(Vec::new());
        in_parallel(8, &cases, |(n, (step, victims, level))| {
            let what = at_step(level, step.0, **victims);
            seen.lock().expect("rows").push((n / 3, format!("| {} | {} | {what} |\n", victims.0, step.1)));
        });
        // The same on each of the three levels: one row.
        let rows: BTreeSet<_> = seen.into_inner().expect("rows").into_iter().collect();
        let table: String = rows.into_iter().map(|(_, row)| row).collect();
        let table = format!("| killed | when, on the leaf's, the middle's and the root's level | what happens |\n|---|---|---|\n{table}");
        crate::faults::crashes::is_the_table_of("tests/faults/chains_killed.md", &table);
    }
}
