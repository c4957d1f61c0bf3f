//! Killed before each system call of a turn with a tool: nothing is lost, and no effect is doubled unknowingly.

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicUsize, Ordering};

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
