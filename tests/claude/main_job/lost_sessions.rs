//! An agent that dies after tool calls and leaves no transcript: the next attempt is told what was begun, whatever the round was to
//! bring.

use crate::support::claude::bash;
use crate::support::{ClaudeWorld, Signal, signal, until};
use serde_json::{Value, json};
use std::process::Stdio;

const EARLIER: &str = "An earlier attempt at this began and was cut off.";
const NO_TRANSCRIPT: &str = "env = { CLAUDE_CODE_SKIP_PROMPT_HISTORY = '1' }\n";

/// A mailbox whose agents may `work`, which must be done once, and `hold`, which waits to be killed.
#[track_caller]
fn world(relaunch: &str, runner: &str) -> ClaudeWorld {
    let world = ClaudeWorld::new();
    world.configure(&format!(
        "[relaunch]\nbackoff = '10ms'\n{relaunch}[runner.claude]\n{runner}allowed_tools = ['Bash(work:*)', 'Bash(hold:*)', 'Bash(ask-post:*)', \
         'Bash(relaunch spawn:*)']\n"
    ));
    world.add_script("work", "echo done >> work.log; echo worked");
    world.add_hold("hold");
    world
}

fn works_and_holds() -> Value {
    json!([bash("work"), bash("hold"), {"text": "never said"}])
}

/// Kills the workflow's agent, the one that was launched last, in the middle of `hold`. The next attempt only looks.
#[track_caller]
fn kill_it(world: &ClaudeWorld, id: &str) {
    world.wait_for_hold("hold");
    // The program may run before its supervisor has written that the agent called it.
    until("the call is seen", || world.events(id).iter().any(|e| e["type"] == "tool_call" && e["input"]["command"] == "hold"));
    world.api.on(EARLIER, json!([{"text": "looked first"}]));
    signal(world.launches().last().expect("a launch").pid, Signal::KILL);
}

/// Checks the message of the second attempt, and returns it.
#[track_caller]
fn told(world: &ClaudeWorld) -> String {
    let mut told = world.api.requests_with_text(EARLIER);
    assert_eq!(told.len(), 1);
    let text = told.remove(0).model_text();
    assert_eq!(text.matches(EARLIER).count(), 1, "{text}");
    assert!(text.contains("\n> Bash: {\"command\":\"work\"") && text.contains("\n> Bash, end not seen: {\"command\":\"hold\""), "{text}");
    assert!(text.contains("Look at what is there before you repeat any of this."), "{text}");
    let log = std::fs::read_to_string(world.work().join("work.log")).expect("a log");
    assert_eq!(log, "done\n");
    text
}

#[test]
fn a_task_says_what_a_deleted_session_had_begun() {
    let world = world("attempts = 1\n", "");
    world.api.on("Walk the walnut", works_and_holds());
    let mut run = world.command("relaunch");
    run.args(["run", "-w", "w", "--prompt", "Walk the walnut."]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = run.spawn().expect("it starts");
    world.wait_transcript("w", r#""command":"hold""#);
    kill_it(&world, "w");
    assert!(!run.wait().expect("it ends").success());
    let session = world.wait_state("w", "parked")["session_id"].as_str().expect("a session").to_owned();
    std::fs::remove_file(world.transcript_of(&session).expect("a transcript")).expect("removed");
    world.run("relaunch", &["retry", "w"]).ok();
    assert_eq!(world.status("w")["result"], "looked first");
    let text = told(&world);
    assert!(text.contains("Walk the walnut.\n\nAn earlier attempt"), "{text}");
}

#[test]
fn a_woken_parent_is_told_what_its_lost_session_had_begun() {
    let mut world = world("", NO_TRANSCRIPT);
    world.keep_watching_from_the_start();
    world.api.on("Work as root.", json!([bash("relaunch spawn -w leaf --prompt 'Work as leaf.'")]));
    world.api.on("Work as leaf.", json!([bash("ask-post 'Which?'"), {"text": "asked"}]));
    world.api.on("User chose: yes", json!([{"text": "the leaf is done"}]));
    world.api.on("leaf finished.", works_and_holds());
    world.run("relaunch", &["spawn", "-w", "root", "--prompt", "Work as root."]).ok();
    world.wait_state("leaf", "pending");
    world.answer("leaf", "yes");
    kill_it(&world, "root");
    world.wait_status("root", "woken again", |s| s["state"] == "delivered" && s["result"] == "looked first");
    assert_eq!(told(&world).matches("leaf finished.").count(), 1);
}

#[test]
fn an_attempt_that_did_nothing_is_not_mentioned() {
    let mut world = world("", &NO_TRANSCRIPT.replace('}', ", CLAUDE_CODE_MAX_RETRIES = '0' }"));
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: yes", json!([{"status": 529, "times": 1}, {"text": "through"}]));
    world.answer("w", "yes");
    let status = world.wait_state("w", "delivered");
    assert_eq!((&status["result"], &status["attempt"]), (&json!("through"), &json!(2)), "{status}");
    assert_eq!(world.api.requests_with_text(EARLIER).len(), 0);
}

mod promises {
    use super::*;

    #[test]
    fn an_answer_says_what_a_lost_session_had_begun() {
        for template in ["", "prompt = 'In our own words: {answer}'\n"] {
            let mut world = world(template, NO_TRANSCRIPT);
            world.keep_watching_from_the_start();
            world.ask("w", &["Begin?"]);
            world.api.on("User chose: yes", works_and_holds());
            world.answer("w", "yes");
            kill_it(&world, "w");
            assert_eq!(world.wait_state("w", "delivered")["result"], "looked first");
            let text = told(&world);
            assert_eq!(text.matches("User chose: yes").count(), 1, "{text}");
            assert_eq!(text.contains("In our own words: User chose: yes\n\nAn earlier attempt"), !template.is_empty(), "{text}");
            assert!(world.launches().iter().all(|launch| launch.args.contains("--session-id=")), "no session can be resumed");
        }
    }
}
