//! Calls of subagents inside the session that need a permission: held while the run lives, and the person reads whose call it is.

use serde_json::{Value, json};

use super::{ASK, begin, made, wait_until_it_asks, world_with};
use crate::support::ClaudeWorld;
use crate::support::claude::bash;
use crate::support::process::kill;

fn subagent(task: &str, prompt: &str) -> Value {
    json!({"tool": "Agent", "input": {"description": task, "prompt": prompt, "subagent_type": "general-purpose"}})
}

/// A run of `w` whose subagent goes through these steps. Then the run ends with `heard`.
#[track_caller]
fn run_with_subagent(config: &str, steps: &Value) -> ClaudeWorld {
    let world = world_with(&format!("{config}[relaunch]\nbackoff = '10ms'\n"));
    world.api.on("Sub work.", steps.clone());
    begin(&world, &json!([subagent("Write the note", "Sub work."), {"text": "heard"}]));
    world
}

/// Waits until the live run asks about a subagent's call with this command.
#[track_caller]
fn wait_until_it_holds(world: &ClaudeWorld, command: &str) -> Value {
    let line = format!("command: {command}\n");
    let is_it = || world.document("pending/w.json")["question"].as_str().is_some_and(|q| q.contains(&line));
    world.wait_status("w", "the question", |_| world.names("pending") == ["w.json"] && is_it());
    let asked = world.document("pending/w.json");
    assert!(asked["approval"].is_object() && world.names("running").len() == 1, "{asked}");
    asked
}

/// All results of calls that any agent of the run was told.
fn said(world: &ClaudeWorld) -> String {
    world.api.turns().iter().flat_map(|turn| turn.tool_results()).collect()
}

const NAMED: &str = "[approvals]\nask = ['Bash(note:*)']\nask_stopped = false\n[runner.claude]\nallowed_tools = ['Bash(note:*)']\n";

#[test]
fn a_call_of_a_subagent_is_made_once_it_is_allowed() {
    for config in ["", ASK, NAMED] {
        let world = run_with_subagent(config, &json!([bash("echo $(note one)"), {"text": "the subagent is done"}]));
        let asked = wait_until_it_holds(&world, "echo $(note one)");
        let text = asked["question"].as_str().expect("a text");
        let id = asked["tool_call"]["subagent"]["id"].as_str().expect("an id");
        assert!(text.contains(&format!("\nA subagent makes this call: general-purpose {id}\n")), "{text}");
        assert!(text.contains("\nThe agent says about the subagent: Write the note"), "{text}");
        assert!(made(&world).is_empty());
        world.answer("w", "once");
        world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "heard");
        assert_eq!((made(&world), world.launches().len()), (vec!["one".to_owned()], 1), "{config}");
        assert!(said(&world).contains("noted one") && said(&world).contains("the subagent is done"), "{}", said(&world));
    }
}

#[test]
fn a_refused_call_of_a_subagent_is_refused_in_the_persons_words() {
    let world = run_with_subagent("", &json!([bash("note one"), {"text": "left it"}]));
    wait_until_it_holds(&world, "note one");
    world.ok("ask-answer", &["decline", "w", "--note", "not on a Friday"]);
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "heard");
    assert!(said(&world).contains("The user refused this call. They say: not on a Friday"), "{}", said(&world));
    assert!(made(&world).is_empty());
}

#[test]
fn a_subagent_that_waited_too_long_leaves_the_call_to_its_agent() {
    let world = run_with_subagent("[limits]\nhold = '1s'\n", &json!([bash("note one"), {"text": "could not"}]));
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "heard");
    assert!(said(&world).contains("a subagent cannot wait for a person"), "{}", said(&world));
    assert!(made(&world).is_empty() && world.names("pending").is_empty());
    assert!(world.rounds("closed", "w").iter().any(|round| round["closed"]["state"] == "withdrawn"));
}

#[test]
fn without_a_hold_a_subagents_call_is_refused_at_once() {
    let world = run_with_subagent("[limits]\nhold = '0s'\n", &json!([bash("note one"), {"text": "could not"}]));
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "heard");
    assert!(said(&world).contains("a subagent cannot wait for a person"), "{}", said(&world));
    assert!(made(&world).is_empty() && world.rounds("closed", "w").len() == 1, "nobody was asked");
}

#[test]
fn a_stop_while_a_subagent_waits_withdraws_its_question() {
    let world = run_with_subagent("", &json!([bash("note one"), {"text": "never said"}]));
    wait_until_it_holds(&world, "note one");
    world.ok("relaunch", &["stop", "w"]);
    world.wait_state("w", "interrupted");
    assert!(world.names("pending").is_empty() && made(&world).is_empty());
}

#[test]
fn the_session_makes_the_call_of_a_subagent_that_was_killed() {
    for config in ["", ASK] {
        let world = run_with_subagent(config, &json!([bash("note one"), {"text": "never said"}]));
        wait_until_it_holds(&world, "note one");
        kill(world.only_process("relaunch supervise"));
        wait_until_it_asks(&world, 1);
        world.api.on("User chose: once", json!([bash("note one"), {"text": "done"}]));
        world.answer("w", "once");
        world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "done");
        assert_eq!(made(&world), ["one"], "{config}");
        let read = world.api.requests_with_text("User chose: once")[0].model_text();
        assert!(read.contains("A subagent of yours had asked for it, and was cut off."), "{read}");
    }
}

mod promises {
    use super::*;

    #[test]
    fn each_of_two_subagents_at_once_is_asked_about() {
        let world = world_with("[relaunch]\nbackoff = '10ms'\n");
        world.api.on("First work.", json!([bash("note one"), {"text": "first done"}]));
        world.api.on("Second work.", json!([bash("note two"), {"text": "second done"}]));
        let both = json!({"tools": [subagent("First", "First work."), subagent("Second", "Second work.")]});
        begin(&world, &json!([both, {"text": "heard"}]));
        let mut seen = Vec::new();
        for _ in 0..2 {
            let asked = world.wait_status("w", "a question", |_| {
                world.names("pending") == ["w.json"] && !seen.contains(&world.document("pending/w.json")["question_id"])
            });
            let document = world.document("pending/w.json");
            let text = document["question"].as_str().expect("a text").to_owned();
            let (command, task) = if text.contains("note one") { ("note one", "First") } else { ("note two", "Second") };
            assert!(text.contains(command) && text.contains(&format!("about the subagent: {task}")), "{text}\n{asked}");
            seen.push(document["question_id"].clone());
            world.answer("w", "once");
        }
        world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "heard");
        let mut lines = made(&world);
        lines.sort_unstable();
        assert_eq!(lines, ["one", "two"]);
    }
}
