//! A supervisor that holds a tool call is killed before each of its system calls, from the person's answer to the end of the run. The
//! call is made at most once, and no agent is told that the call was not made if it was.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Running, World, in_parallel, needs, strace, until};

/// The system calls that change something, or decide who may.
const CALLS: [&str; 10] = ["write", "fsync", "renameat", "renameat2", "linkat", "unlinkat", "mkdirat", "flock", "openat2", "utimensat"];

/// An agent whose first launch makes a call that needs a permission. A later launch only ends its turn.
const AGENT: &str = r#"
if [ -e "$AGENT_DIR/asked" ]; then work; finish; fi
: >"$AGENT_DIR/asked"
call='{"type":"assistant","cwd":"/work","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"note one"}}]}}'
printf '%s\n' "$call" >>"$transcript"
say "$call"
say '{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"note one"},"tool_use_id":"t1"}}'
while IFS= read -r reply; do
  case $reply in
  *'"behavior":"allow"'*) echo made >>"$AGENT_DIR/made"; break ;;
  *'"behavior":"deny"'*) break ;;
  esac
done
say '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":false,"content":"done"}]}}'
result done
"#;

/// A run that holds the call, and the process of its supervisor.
fn holding() -> (World, crate::support::Watcher, i32) {
    let world = World::stepping(AGENT);
    world.ask_and_answer("docs");
    let watcher = world.watch();
    until("the question", || world.in_mailbox("pending/docs.json").exists() && world.document("pending/docs.json")["approval"].is_object());
    let supervisor = until("the supervisor", || world.processes("relaunch supervise").first().copied());
    (world, watcher, supervisor)
}

/// Attaches strace to the thread that attends to the agent.
fn trace(supervisor: i32, args: &[&str]) -> Running {
    let pid = supervisor.to_string();
    let words = strace(&[&["-qq", "-e", "signal=none", "-p", &pid], args].concat());
    let tracer = Running::start(std::process::Command::new(&words[0]).args(&words[1..]));
    let is_traced = || {
        let status = std::fs::read_to_string(format!("/proc/{supervisor}/status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"))
    };
    until("strace is attached", is_traced);
    tracer
}

/// Allows the call, and waits until everything has come to its end.
#[track_caller]
fn allow(world: &World, when: &str) {
    world.ok("ask-answer", &["docs", "once", "--round", &world.seen("docs")]);
    until(when, || {
        let done = world.rounds("closed", "docs").len() == 2 && world.names("running").is_empty() && world.names("answered").is_empty();
        done && world.of_runs().is_empty()
    });
}

/// The texts that agents were told, without the bookkeeping around them.
fn told(world: &World) -> Vec<String> {
    let names = std::fs::read_dir(world.agent("")).expect("the agent's folder").map(|entry| entry.expect("an entry").path());
    names.filter(|path| path.display().to_string().contains("/told.")).map(|path| std::fs::read_to_string(path).expect("a text")).collect()
}

fn made(world: &World) -> usize {
    std::fs::read_to_string(world.agent("made")).unwrap_or_default().lines().count()
}

fn points(trace: &str) -> Vec<(&'static str, usize)> {
    let mut seen = [0; CALLS.len()];
    let calls = trace.lines().filter_map(|line| CALLS.iter().position(|call| line.starts_with(&format!("{call}("))));
    let number = |call: usize| {
        seen[call] += 1;
        (CALLS[call], seen[call])
    };
    calls.map(number).collect()
}

#[test]
fn a_supervisor_killed_while_it_allows_a_call_says_the_truth() {
    needs!("strace");
    let (world, watcher, supervisor) = holding();
    let (file, set) = (world.path("trace"), format!("trace={}", CALLS.join(",")));
    let mut tracer = trace(supervisor, &["-e", &set, "-o", file.to_str().expect("a path")]);
    allow(&world, "unkilled");
    assert_eq!((made(&world), told(&world).len()), (1, 1), "{:#?}", told(&world));
    tracer.wait();
    drop(watcher);
    let points = points(&std::fs::read_to_string(&file).expect("a trace"));
    let (kills, unsure, unmade) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    in_parallel(8, &points, |(call, n)| {
        let when = format!("killed before {call} number {n}");
        let (world, _watcher, supervisor) = holding();
        let inject = format!("inject={call}:signal=KILL:when={n}");
        let _tracer = trace(supervisor, &["-e", &format!("trace={call}"), "-e", &inject, "-o", "/dev/null"]);
        allow(&world, &when);
        let told = told(&world);
        kills.fetch_add(usize::from(told.len() > 1), Ordering::Relaxed);
        let says = |words: &str| told.iter().any(|text| text.contains(words));
        let made = made(&world);
        assert!(made <= 1, "{when}: it was made {made} times");
        assert!(made == 0 || !says("The call was not made."), "{when}: {told:#?}");
        unsure.fetch_add(usize::from(says("the call may have been made")), Ordering::Relaxed);
        unmade.fetch_add(usize::from(says("The call was not made.")), Ordering::Relaxed);
        assert_eq!(world.logged("violation "), 0, "{when}");
        world.assert_whole(&when);
    });
    let (kills, unsure, unmade) = (kills.into_inner(), unsure.into_inner(), unmade.into_inner());
    let reached =
        format!("{} points: {kills} times another agent was told, {unsure} times that nobody knows, {unmade} times not made", points.len());
    eprintln!("{reached}");
    assert!(points.len() >= 20 && unsure >= 1 && unmade >= 1, "{reached}");
}
