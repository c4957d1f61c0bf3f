//! Killed before each system call of a turn with a tool: nothing is lost, and no effect is doubled unknowingly.

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::agent::scene::{SESSION, Scene};
use crate::support::{in_parallel, needs, output, strace};

/// Calls of the main thread that change something, or start the tool.
const CALLS: [&str; 12] =
    ["openat", "write", "fdatasync", "fsync", "flock", "ftruncate", "mkdir", "lseek", "clone3", "rename", "unlink", "read"];

const TASK: &str = r#"x @@[{"tool":"Bash","input":{"command":"echo once >> effects"}},{"tool":"Write","input":{"file_path":"w","content":"x"}},{"text":"all done"}]"#;

fn traced(scene: &Scene, before: &[String]) -> crate::support::Outcome {
    let mut command = scene.wrapped(before, "ask-agent");
    command.args(["--session-id", SESSION, "--dangerously-skip-permissions", "--output-format", "json"]).arg(TASK);
    output(&mut command)
}

mod promises {
    use super::*;

    /// A tool whose effect comes late, from a process below its shell. The model looks before it repeats the call.
    #[test]
    fn a_paid_tool_takes_effect_once_however_its_agent_is_killed() {
        let pay = r#"(sleep 0.1; echo paid >> effects; sleep 0.1); true"#;
        let look = "[ -e effects ] || echo paid >> effects";
        let bash = |command: &str| serde_json::json!({"tool": "Bash", "input": {"command": command}});
        let task = format!("x @@{}", serde_json::json!([bash(pay), bash(look), {"text": "all done"}]));
        let (unknown, running) = (AtomicUsize::new(0), AtomicUsize::new(0));
        in_parallel(4, &(0..100).collect::<Vec<u64>>(), |n| {
            let scene = Scene::new();
            let mut agent = scene.agent(&["--session-id", SESSION]).arg(&task).stdout(std::process::Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(n * 4));
            agent.kill().unwrap();
            agent.wait().unwrap();
            let next = scene.go_on();
            let next = if next.stderr.contains("No conversation found") || scene.turns().is_empty() { scene.begin(&task) } else { next };
            let told = scene.turns().last().unwrap().tool_results();
            unknown.fetch_add(usize::from(told[0].contains("the outcome is unknown")), Ordering::Relaxed);
            running.fetch_add(usize::from(told[0].contains("It still ran")), Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(400));
            let effects = std::fs::read_to_string(scene.path("effects")).unwrap_or_default();
            assert_eq!(effects, "paid\n", "killed after {} ms: {told:?}\n{next:?}", n * 4);
        });
        let (unknown, running) = (unknown.into_inner(), running.into_inner());
        eprintln!("of 100 kills, the outcome was unknown {unknown} times, and the tool still ran {running} times");
        assert!(unknown > 10 && running > 0, "unknown {unknown}, running {running}");
    }

    #[test]
    fn a_turn_killed_anywhere_goes_on_and_repeats_nothing_unseen() {
        needs!("strace");
        let scene = Scene::new();
        let trace = scene.path("trace");
        let set = format!("trace={}", CALLS.join(","));
        let out = traced(&scene, &strace(&["-qq", "-e", &set, "-e", "signal=none", "-o", trace.to_str().unwrap()]));
        assert!(out.status.success(), "{out:?}");
        let text = std::fs::read_to_string(&trace).unwrap();
        let count = |call: &str| text.lines().filter(|line| line.starts_with(&format!("{call}("))).count();
        let points: Vec<(&str, usize)> = CALLS.iter().flat_map(|call| (1..=count(call)).map(|n| (*call, n))).collect();
        let (killed, unknown, repeated) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        in_parallel(8, &points, |(call, n)| {
            let scene = Scene::new();
            let (trace, inject) = (format!("trace={call}"), format!("inject={call}:signal=KILL:when={n}"));
            let out = traced(&scene, &strace(&["-qq", "-e", &trace, "-e", &inject, "-e", "signal=none", "-o", "/dev/null"]));
            let was_killed = out.status.signal() == Some(9) || out.status.code() == Some(137);
            killed.fetch_add(usize::from(was_killed), Ordering::Relaxed);
            let when = format!("killed before {call} number {n}: {out:?}");
            let mut next = match scene.transcript().metadata() {
                // Nothing was written: the task is given again.
                Err(_) => scene.begin(TASK),
                Ok(about) if about.len() == 0 => scene.begin(TASK),
                Ok(_) => scene.go_on(),
            };
            if next.stderr.contains("No conversation found") {
                next = scene.begin(TASK);
            }
            assert_eq!(next.result()["result"], "all done", "{when}\n{next:?}");
            let effects = std::fs::read_to_string(scene.path("effects")).unwrap_or_default().lines().count();
            let told = scene.turns().last().unwrap().tool_results();
            let is_unknown = told[0].contains("the outcome is unknown");
            unknown.fetch_add(usize::from(is_unknown), Ordering::Relaxed);
            repeated.fetch_add(usize::from(effects > 1), Ordering::Relaxed);
            // The command ran once, or it may have run and the model knows.
            assert!(effects == 1 || (is_unknown && effects == 0), "{when}: {effects} effects, told {told:?}");
            assert_eq!(told.len(), 2, "{when}");
            assert_eq!(std::fs::read_to_string(scene.path("w")).unwrap(), "x", "{when}");
        });
        let (killed, unknown) = (killed.into_inner(), unknown.into_inner());
        eprintln!(
            "killed at {killed} of {} calls; the outcome was unknown {unknown} times, doubled {} times",
            points.len(),
            repeated.into_inner()
        );
        assert!(killed * 10 >= points.len() * 7 && unknown > 0, "killed {killed} of {}, unknown {unknown}", points.len());
    }
}
