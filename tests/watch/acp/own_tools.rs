//! askbox's own tools, which the agent is offered as an MCP server.

use super::*;
use crate::support::files::copy_program;
use crate::support::{kill, program};

/// A call of `ask_user`. `ask` says how the agent asks for a permission first.
fn ask_user(ask: &str, more: Value) -> Value {
    let mut input = json!({"question": "Merge or keep?", "options": [{"label": "merge"}, {"label": "keep"}]});
    more.as_object().unwrap().iter().for_each(|(key, value)| input[key] = value.clone());
    json!({"mcp": "ask_user", "input": input, "ask": ask})
}

/// The texts of the tools' results.
fn results(world: &World) -> Vec<String> {
    lines(world, "mcp").iter().map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

/// The servers that the requests of this method name.
fn servers(world: &World, method: &str) -> Vec<Value> {
    let received = lines(world, "received");
    received.iter().filter(|line| line["method"] == method).map(|line| line["params"]["mcpServers"].clone()).collect()
}

/// The question of a workflow, once it is there.
fn pending(world: &World, workflow: &str) -> Value {
    until("it asks", || world.in_mailbox(format!("pending/{workflow}.json")).exists());
    world.document(&format!("pending/{workflow}.json"))
}

#[test]
fn a_question_of_the_tool_outlives_its_run() {
    let world = world("preset = \"codex\"", "");
    turns(&world, &[json!([ask_user("codex", json!({})), {"say": "never"}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    let asked = pending(&world, "acp-1");
    world.processes("relaunch supervise").into_iter().for_each(kill);
    until("nobody is left", || world.processes("acp.py").is_empty() && world.processes("askbox mcp").is_empty());
    assert_eq!(pending(&world, "acp-1")["question_id"], asked["question_id"]);
    world.ok("ask-answer", &["acp-1", "merge"]);
    until("the answer is told", || told(&world).iter().any(|text| text.contains("User chose: merge")));
    world.closed("acp-1", "delivered", 2);
    assert_eq!((told(&world).iter().filter(|text| text.contains("User chose: merge")).count(), results(&world).len()), (1, 0));
}

#[test]
fn a_title_alone_permits_no_tool_of_askbox() {
    let world = world("preset = \"qwen\"", "");
    turns(&world, &[json!([ask_user("qwen", json!({})), {"say": "done"}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    let asked = pending(&world, "acp-1");
    assert_eq!((&asked["approval"]["tool"], results(&world).len()), (&"mcp__askbox__ask_user".into(), 0), "{asked}");
    // The operator may permit it.
    world.reconfigure("[runner.agent]", "[runner.agent]\nallowed_tools = [\"mcp__askbox__ask_user\"]");
    turns(&world, &[json!([]), json!([ask_user("qwen", json!({})), {"say": "done"}])]);
    world.ask_and_answer("acp-2");
    assert_eq!(pending(&world, "acp-2")["question"], "Merge or keep?");
}

#[test]
fn a_rule_of_the_operator_holds_a_tool_of_askbox() {
    let world = world("preset = \"codex\"", "[approvals]\nask = [\"mcp__askbox\"]\n");
    turns(&world, &[json!([ask_user("codex", json!({}))])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    assert_eq!(pending(&world, "acp-1")["approval"]["tool"], "mcp__askbox__ask_user");
}

#[test]
fn without_the_program_no_tools_of_askbox_are_offered() {
    let world = world("", "");
    let bin = world.path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    ["relaunch", "askbox-acp", "ask-post", "checkpoint"].iter().for_each(|name| copy_program(program(name).as_ref(), &bin.join(name)));
    let watcher = world.start_as_watcher(world.any_command(bin.join("relaunch")).arg("watch"));
    watcher.says("watching ");
    world.ask_and_answer("acp-1");
    world.closed("acp-1", "delivered", 1);
    assert_eq!(servers(&world, "session/new"), [json!([])]);
    let notes = events(&world, "acp-1", 1).iter().filter(|event| event.to_string().contains("`askbox` is not installed")).count();
    assert_eq!(notes, 1);
}

#[test]
fn a_runner_may_offer_no_tools_of_askbox() {
    for runner in ["mcp = false", "preset = \"pi\""] {
        let world = world(runner, "");
        let _watcher = world.watch();
        world.ask_and_answer("acp-1");
        world.closed("acp-1", "delivered", 1);
        assert_eq!(servers(&world, "session/new"), [json!([])], "{runner}");
    }
}

mod promises {
    use super::*;

    #[test]
    fn a_tool_of_askbox_asks_in_the_run_and_hears_the_answer() {
        let world = world("preset = \"codex\"", "");
        let steps = [ask_user("codex", json!({})), ask_user("codex", json!({"workflow_id": "sub"})), json!({"say": "thanks"})];
        turns(&world, &[json!(steps)]);
        let _watcher = world.watch();
        world.ask_and_answer("acp-1");
        let asked = pending(&world, "acp-1");
        assert_eq!((&asked["question"], &asked["approval"]), (&"Merge or keep?".into(), &Value::Null), "no person permits the call");
        assert_eq!(asked["cwd"], world.work().display().to_string(), "{asked}");
        world.ok("ask-answer", &["acp-1", "merge"]);
        let below = pending(&world, "sub");
        let (run, session) = (world.status("acp-1")["run"].clone(), asked["session_id"].clone());
        assert_eq!((&below["parent"], &below["session_id"], session.is_string()), (&"acp-1".into(), &session, true), "{below} {run}");
        let starts = lines(&world, "starts");
        assert_eq!((starts.len(), &below["asked_in"]["run"]), (1, &starts[0]), "{below}");
        let seen = world.ok("ask-answer", &["show", "sub"]);
        assert!(seen.contains("within acp-1") && !seen.contains("not proven"), "{seen}");
        world.ok("ask-answer", &["sub", "keep"]);
        until("the run is over", || world.status("acp-1")["result"] == "thanks");
        let results = results(&world);
        assert!(results[0].contains("merge") && results[1].contains("keep"), "{results:?}");
        let allowed = json!({"outcome": {"outcome": "selected", "optionId": "o1"}});
        assert_eq!((lines(&world, "permissions"), told(&world).len()), (vec![allowed.clone(), allowed], 1));
        assert!(lines(&world, "mcp")[0]["tools"].as_array().unwrap().contains(&"save_checkpoint".into()));
    }

    #[test]
    fn a_tool_of_askbox_that_waits_too_long_ends_the_turn() {
        let world = world("preset = \"codex\"", "[mcp]\nwait = \"100ms\"\n");
        turns(&world, &[json!([ask_user("codex", json!({})), {"say": "I have asked."}]), json!([{"say": "It is merged."}])]);
        let _watcher = world.watch();
        world.ask_and_answer("acp-1");
        world.closed("acp-1", "delivered", 1);
        assert!(results(&world)[0].contains("QUESTION_POSTED:acp-1"), "{:?}", results(&world));
        world.ok("ask-answer", &["acp-1", "merge"]);
        world.closed("acp-1", "delivered", 2);
        assert!(told(&world)[1].contains("User chose: merge"), "{:?}", told(&world));
        let (new, resumed) = (servers(&world, "session/new"), servers(&world, "session/resume"));
        assert_eq!((new.len(), resumed.len(), &new[0][0]["name"], &resumed[0][0]["name"]), (1, 1, &"askbox".into(), &"askbox".into()));
        assert_ne!(new[0][0]["env"], resumed[0][0]["env"], "each attempt has a secret of its own");
    }
}
