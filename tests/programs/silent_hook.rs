//! `askbox hook` where it has nothing to say: in every session of a user it is called before a tool and with each prompt, so it is silent,
//! succeeds, and is quick.

use std::time::{Duration, Instant};

use crate::support::{World, feed, program, strace};
use serde_json::{Value, json};

const SESSION: &str = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
/// The most work that the hook may be for the processor.
const LIMIT: Duration = Duration::from_millis(20);
/// The longest that it may take on a machine with other work to do.
const ON_A_BUSY_MACHINE: Duration = Duration::from_millis(400);
/// How often it is tried at most.
const TRIES: usize = 100;

fn call(tool: &str, input: &Value) -> Value {
    json!({"hook_event_name": "PreToolUse", "session_id": SESSION, "cwd": "/", "tool_name": tool, "tool_use_id": "t1", "tool_input": input})
}

fn moment(name: &str) -> Value {
    json!({"hook_event_name": name, "session_id": SESSION, "cwd": "/", "prompt": "hello"})
}

/// An event about which the hook has nothing to say.
struct Quiet {
    what: &'static str,
    env: Vec<(&'static str, String)>,
    event: Value,
}

/// A mailbox of 200 waiting questions that the session knows, and such events.
fn quiet() -> (World, Vec<Quiet>) {
    let world = World::new();
    let batch: Vec<_> = (0..200).map(|n| json!({"workflow_id": format!("w{n}"), "question": "Which?"})).collect();
    world.run_with("ask-post", &["--batch", "--file", "-"], json!(batch).to_string().as_bytes()).ok();
    world.run_with("askbox", &["hook"], moment("UserPromptSubmit").to_string().as_bytes()).ok();
    let over = vec![("ASKBOX_RUN", format!("w0/{SESSION}/1")), ("ASKBOX_NONCE", SESSION.to_owned())];
    let question = json!({"questions": [{"question": "Which?", "header": "W", "options": [{"label": "a"}, {"label": "b"}]}]});
    let events = vec![
        ("a call of Bash", vec![], call("Bash", &json!({"command": "ls -l"}))),
        ("a call of AskUserQuestion", vec![], call("AskUserQuestion", &question)),
        ("a prompt", vec![], moment("UserPromptSubmit")),
        ("the end of a subagent", vec![], moment("PostToolUse")),
        ("an event of no interest", vec![], moment("Stop")),
        ("a call in a session with the environment of a run that is over", over, call("AskUserQuestion", &question)),
    ];
    (world, events.into_iter().map(|(what, env, event)| Quiet { what, env, event }).collect())
}

#[test]
fn outside_of_a_run_the_hook_is_silent_within_20_milliseconds() {
    let (world, events) = quiet();
    for Quiet { what, env, event } in events {
        let (mut work, mut time) = (Duration::MAX, Duration::MAX);
        for _ in 0..TRIES {
            let mut command = world.any_command("bash");
            // The shell prints the time of the hook alone, to the millisecond.
            command.args(["-c", "TIMEFORMAT='%3U %3S'; time \"$0\" hook", program("askbox")]);
            command.envs(env.iter().map(|(name, value)| (*name, value)));
            let begun = Instant::now();
            let outcome = feed(&mut command, event.to_string().as_bytes());
            time = time.min(begun.elapsed());
            assert_eq!((outcome.status.code(), outcome.stdout.as_str()), (Some(0), ""), "{what}: {outcome:?}");
            let seconds: Vec<f64> = outcome.stderr.split_whitespace().map(|word| word.parse().expect("nothing but its times")).collect();
            work = work.min(Duration::from_secs_f64(seconds.iter().sum()));
            if work <= LIMIT && time <= ON_A_BUSY_MACHINE {
                break;
            }
        }
        println!("{what}: {work:?} of work, in {time:?}");
        assert!(work <= LIMIT && time <= ON_A_BUSY_MACHINE, "{what}: {work:?} of work, in {time:?}");
    }
}

mod promises {
    use super::*;

    #[test]
    fn outside_of_a_run_the_hook_syncs_starts_and_reads_nothing() {
        let (world, events) = quiet();
        for Quiet { what, env, event } in events {
            let trace = world.path("trace");
            let before = strace(&["-f", "-qq", "-e", "signal=none", "-o", trace.to_str().expect("a path")]);
            let mut command = world.wrapped(&before, "askbox");
            command.arg("hook").envs(env.iter().map(|(name, value)| (*name, value)));
            feed(&mut command, event.to_string().as_bytes()).ok();
            let calls = std::fs::read_to_string(&trace).expect("a trace");
            let with = |words: &[&str]| calls.lines().filter(|line| words.iter().any(|word| line.contains(word))).count();
            // One is the start of the program itself.
            assert_eq!(with(&["fsync", "fdatasync", "connect(", "epoll_wait", "execve"]), 1, "{what}:\n{calls}");
            assert_eq!(with(&["pending/w", "getdents"]), 0, "{what}:\n{calls}");
            println!("{what}: {} system calls", calls.lines().count());
            assert!(calls.lines().count() < 200, "{what}: {} system calls\n{calls}", calls.lines().count());
        }
    }
}
