//! Three documents say this of a child: it has its own system prompt and no Task tool, it has thirty rounds, and it can be seen and
//! stopped while it works.

use crate::support::ClaudeWorld;
use crate::support::claude::bash;
use serde_json::{Value, json};

/// The agent file of the page on how agents are started, verbatim.
const TESTER: &str = "---
name: backend-python-tester
description: Use this agent when you need to create tests...
model: inherit
color: red
---

You are an elite Python backend testing specialist...
[Detailed system prompt instructions]
";

#[test]
fn a_child_has_its_agents_prompt_and_returns_its_last_text() {
    let mut world = ClaudeWorld::new();
    world.configure("[runner.claude]\ntask_tool = false\nallowed_tools = ['Bash(relaunch spawn:*)']\n");
    world.keep_watching_from_the_start();
    world.sh("mkdir -p .claude/agents");
    std::fs::write(world.work().join(".claude/agents/backend-python-tester.md"), TESTER).expect("a file");
    // "Dynamic Tool Description Building"
    let described = world.run("askbox", &["agents", "describe"]).ok().stdout;
    assert!(described.contains("- backend-python-tester: Use this agent when you need to create tests..."), "{described}");

    let task = "Create comprehensive tests for the new /api/users endpoint that was just implemented.";
    let done = "I've created comprehensive tests for the /api/users endpoint in test_users.py.";
    world.api.on("Can you create tests for it?", json!([bash(&format!("relaunch spawn --agent backend-python-tester --prompt '{task}'"))]));
    world.api.on(task, json!([{"text": done}]));
    let prompt = "I just wrote a new API endpoint. Can you create tests for it?";
    assert_eq!(world.run("relaunch", &["spawn", "--prompt", prompt]).ok().stdout, format!("{done}\n"));
    let turns = world.api.turns();
    let (main, child): (Vec<_>, Vec<_>) = turns.iter().partition(|t| t.model_text().contains(prompt));
    assert_eq!((main.len(), child.len()), (2, 1));
    assert_eq!(main[1].tool_results(), [done], "returned as the tool's result");
    assert!(child[0].body["system"].to_string().contains("You are an elite Python backend testing specialist..."));
    assert!(!main[0].body["system"].to_string().contains("elite"));
    for turn in &turns {
        let tools = turn.tools();
        assert!(tools.iter().any(|t| t == "Read") && !tools.iter().any(|t| t == "Task" || t == "Agent"), "{tools:?}");
    }
}

#[test]
fn by_default_an_agent_keeps_its_task_tool() {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    world.api.on("look", json!([{"text": "seen"}]));
    world.run("relaunch", &["spawn", "--prompt", "look"]).ok();
    assert!(world.api.turns()[0].tools().iter().any(|t| t == "Agent"));
}

#[test]
fn after_thirty_rounds_a_child_is_cut_off_with_what_it_had() {
    let mut world = ClaudeWorld::new();
    world.configure("[runner.claude]\ntask_tool = false\nallowed_tools = ['Bash(relaunch spawn:*)']\n[limits]\nturns = 30\n");
    world.keep_watching_from_the_start();
    // The lesson's own prompt.
    let prompt = "Use a subtask to find what testing framework this project uses";
    let mut steps = vec![json!({"text": "It looks like pytest.", "tool": "Bash", "input": {"command": "echo 0"}})];
    steps.extend((1..40).map(|n| bash(&format!("echo {n}"))));
    world.api.on("Find the testing framework.", Value::Array(steps));
    world.api.on(prompt, json!([bash("relaunch spawn -w child --prompt 'Find the testing framework.'")]));
    world.run("relaunch", &["spawn", "-w", "main", "--prompt", prompt]).ok();
    let turns = world.api.turns();
    let rounds =
        turns.iter().filter(|t| t.model_text().contains("Find the testing framework.") && !t.model_text().contains(prompt)).count();
    assert_eq!(rounds, 30, "for _ in range(30)");
    let result = turns.iter().rev().find(|t| t.model_text().contains(prompt)).expect("the parent's turn").tool_results().join("\n");
    assert!(result.contains("parked (child): cut off at its limit of turns, not finished. What it had written:"), "{result}");
    assert!(result.contains("It looks like pytest."), "{result}");
}

#[test]
fn a_stop_of_a_child_lets_the_call_in_flight_end() {
    let mut world = ClaudeWorld::new();
    world.configure("[runner.claude]\nallowed_tools = ['Bash']\n");
    world.add_hold("hold");
    world.keep_watching_from_the_start();
    let task = "fix the import in src/X.py";
    world.api.on(task, json!([{"text": "I begin with unrelated modules.", "tool": "Bash", "input": {"command": "hold"}}, bash("echo more"), {"text": "never said"}]));
    world.run("relaunch", &["spawn", "--background", "-w", "child", "--prompt", task]).ok();
    world.wait_for_hold("hold");
    // The program may run before its supervisor has written that the agent called it.
    let seen = || Some(world.events("child")).filter(|events| events.iter().any(|e| e["type"] == "tool_call"));
    let events = crate::support::until("the call is seen", seen);
    assert!(!events.iter().any(|e| e["type"] == "tool_result"), "{events:#?}");
    let stopped = std::thread::scope(|scope| {
        let stop = scope.spawn(|| world.run("relaunch", &["stop", "--json", "child"]).ok().json());
        // The call in flight is allowed to finish, once the run knows that it is to stop.
        crate::support::until("the stop", || world.audit("child").iter().any(|event| event == "stop_requested"));
        world.release("hold");
        stop.join().expect("it stopped")
    });
    assert_eq!(stopped["type"], "interrupted", "{stopped}");
    assert!(stopped["text"].as_str().is_some_and(|t| t.contains("I begin with unrelated modules.")), "{stopped}");
    assert!(stopped["tool_calls"][0]["text"].as_str().is_some_and(|t| t.contains("released")), "finished, not cut: {stopped}");
    assert!(!world.api.turns().iter().any(|t| t.tool_results().join("").contains("more")), "no further call ran");
    assert_eq!(world.status("child")["state"], "interrupted");
}

#[test]
fn a_parent_that_ends_with_spawns_line_waits_for_its_child() {
    let mut world = ClaudeWorld::new();
    world.configure("[runner.claude]\nallowed_tools = ['Bash(relaunch spawn:*)', 'Bash(ask-post:*)']\n");
    world.keep_watching_from_the_start();
    // claude puts the exit status in front of a tool's result.
    let line = "Exit code 1\nparked (leaf): it ended its turn with `SGN_UNHANDLED`, but it waits for nothing: it has no open question and started no agent that goes on";
    world
        .api
        .on("pass it on", json!([bash("relaunch spawn -w leaf --prompt 'count the guests'"), {"text": line}, {"text": "Twelve, then."}]));
    world.api.on("count the guests", json!([{"text": "SGN_UNHANDLED"}, {"text": "Twelve will come."}]));
    assert_eq!(world.run("relaunch", &["spawn", "-w", "root", "--prompt", "pass it on"]).ok().stdout, "SGN_PEND_STARTED (root)\n");
    assert_eq!(world.api.requests_with_text("pass it on")[1].tool_results(), [line]);
    world.wait_state("root", "awaiting");
    world.run("relaunch", &["retry", "leaf"]);
    assert_eq!(world.wait_state("root", "delivered")["result"], "Twelve, then.");
    assert!(world.api.turns().last().expect("a turn").model_text().contains("Twelve will come."));
}
