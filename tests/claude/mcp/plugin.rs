//! The server that the plugin brings: it is there once the plugin is, its tools ask for no permission, and subagents ask with it.

use serde_json::{Value, json};

use crate::support::claude::bash;
use crate::support::shown::{blocks, page};
use crate::support::{ClaudeWorld, Terminal, until};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// The plugin in the repository.
const PLUGIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/plugin");
/// The tools that ask, save a state and look.
const ASKS_AND_LOOKS: [&str; 6] = ["ask_user", "check_answer", "list_questions", "load_checkpoint", "run_status", "save_checkpoint"];

/// The name that `claude` gives to a tool of the plugin's server.
fn tool(name: &str) -> String {
    format!("mcp__plugin_askbox_askbox__{name}")
}

/// A script step: the model loads these tools.
fn load(names: &[&str]) -> Value {
    let names: Vec<_> = names.iter().map(|name| tool(name)).collect();
    json!({"tool": "ToolSearch", "input": {"query": format!("select:{}", names.join(",")), "max_results": 10}})
}

fn call(name: &str, input: &Value) -> Value {
    json!({"tool": tool(name), "input": input})
}

fn which_colour() -> Value {
    json!({"question": "Which colour?", "workflow_id": "sub", "options": [{"label": "red"}, {"label": "blue"}]})
}

/// The event that tells a session about its servers and tools when it starts.
#[track_caller]
fn init(world: &ClaudeWorld, args: &[&str]) -> Value {
    let said = world.prompt_stream(r#"@@[{"text":"done"}]"#, args).ok().stdout;
    let events = said.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    events.into_iter().find(|event| event["subtype"] == "init").expect("an init event")
}

#[track_caller]
fn assert_has_the_server(init: &Value, how: &str) {
    let server = &init["mcp_servers"][0];
    assert_eq!((&server["name"], &server["status"]), (&json!("plugin:askbox:askbox"), &json!("connected")), "{how}: {init}");
    let tools: Vec<&str> = init["tools"].as_array().expect("tools").iter().filter_map(Value::as_str).collect();
    for name in ASKS_AND_LOOKS.iter().chain(&["stop_run"]) {
        assert!(tools.contains(&tool(name).as_str()), "{how}: {name} is missing: {tools:?}");
    }
    assert!(!tools.contains(&tool("answer_question").as_str()), "{how}: no agent may answer");
}

#[test]
fn each_way_to_install_the_plugin_brings_its_server() {
    assert_has_the_server(&init(&ClaudeWorld::new(), &["--plugin-dir", PLUGIN]), "--plugin-dir");

    let world = ClaudeWorld::new();
    world.ok("askbox", &["setup", "--yes", "--only", "plugin"]);
    assert_has_the_server(&init(&world, &[]), "askbox setup");

    let world = ClaudeWorld::new();
    for args in [&["plugin", "marketplace", "add", ROOT][..], &["plugin", "install", "askbox@askbox"]] {
        crate::support::output(world.claude().args(args)).ok();
    }
    let init = init(&world, &[]);
    assert_has_the_server(&init, "a marketplace");
    let commands = init["slash_commands"].to_string() + &init["skills"].to_string();
    for name in ["askbox:inbox", "askbox:answer", "askbox:tree", "askbox:stop", "askbox:ask-the-user", "askbox:questions-of-agents"] {
        assert!(commands.contains(name), "{name} is not listed: {commands}");
    }
}

#[test]
fn the_command_of_the_guide_to_mcp_adds_the_server() {
    let world = ClaudeWorld::new();
    let typed = blocks(&page("docs/guide-mcp.md")).remove(0).text;
    let words = typed.strip_prefix("claude ").expect("a command of Claude Code").split_whitespace();
    crate::support::output(world.claude().args(words)).ok();
    let server = &init(&world, &[])["mcp_servers"][0];
    assert_eq!((&server["name"], &server["status"]), (&json!("askbox"), &json!("connected")));
}

#[test]
fn without_the_programs_the_plugin_stops_no_session() {
    let world = ClaudeWorld::without_askbox();
    let mut command = world.claude();
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let outcome = crate::support::feed(
        command.args(crate::support::claude::MODE).args(["-p", "--plugin-dir", PLUGIN, "--output-format", "stream-json", "--verbose"]),
        br#"@@[{"text":"done"}]"#,
    )
    .ok();
    assert!(outcome.stdout.contains(r#""name":"plugin:askbox:askbox","status":"failed""#), "{outcome:?}");
    let told = world.api.turns().last().expect("a turn").model_text();
    assert!(told.contains("plugin:askbox:askbox (ENOENT)") && !told.contains("hook error"), "{told}");
}

#[test]
fn the_plugins_tools_need_no_permission_but_to_stop() {
    let world = ClaudeWorld::new();
    world.configure("[mcp]\nwait = \"0s\"");
    let of_workflow = json!({"workflow_id": "sub"});
    let steps = json!([
        load(&ASKS_AND_LOOKS),
        load(&["stop_run"]),
        call("ask_user", &which_colour()),
        call("check_answer", &of_workflow),
        call("list_questions", &json!({})),
        call("save_checkpoint", &json!({"workflow_id": "sub", "checkpoint": {"next_action": "paint"}})),
        call("load_checkpoint", &of_workflow),
        call("run_status", &of_workflow),
        call("stop_run", &of_workflow),
        {"text": "done"}
    ]);
    let said = world.prompt_stream(&format!("@@{steps}"), &["--plugin-dir", PLUGIN]).ok().stdout;
    let result: Value = serde_json::from_str(said.lines().last().expect("a result")).expect("JSON");
    let refused: Vec<&str> =
        result["permission_denials"].as_array().expect("a list").iter().filter_map(|call| call["tool_name"].as_str()).collect();
    assert_eq!(refused, [tool("stop_run")], "{result}");
    let results = world.api.turns().last().expect("a turn").tool_results();
    let told: Vec<&str> = results.iter().map(|told| told.trim()).filter(|told| !told.is_empty()).collect();
    let expected = ["QUESTION_POSTED:sub", "Nobody has answered yet", "sub: Which colour?", "saved: ", "\"next_action\"", "\"pending\""];
    assert!(expected.iter().zip(&told).all(|(words, told)| told.contains(words)), "{told:#?}");
    assert!(world.document("pending/sub.json").get("asked_by").is_none(), "the session itself asked");
}

#[test]
fn a_subagent_that_asks_with_the_tool_is_told_to_end() {
    let mut world = ClaudeWorld::new();
    world.configure("[mcp]\nwait = \"0s\"");
    world.keep_watching_from_the_start();
    let state = json!({"workflow_id": "sub", "checkpoint": {"next_action": "paint the walnut"}});
    let steps = json!([load(&["ask_user", "save_checkpoint"]), call("ask_user", &which_colour()), call("save_checkpoint", &state), {"text": "QUESTION_POSTED:sub"}]);
    world.api.on("Sub work.", steps);
    world.api.on("User chose: blue", json!([{"text": "painted"}]));
    let input = json!({"description": "work", "prompt": "Sub work.", "subagent_type": "general-purpose", "run_in_background": false});
    world.api.on("Do it all.", json!([{"tool": "Agent", "input": input}, {"text": "It has asked."}]));
    world.prompt_stream("Do it all.", &["--plugin-dir", PLUGIN]).ok();
    let question = world.document("pending/sub.json");
    assert!(question["asked_by"].as_str().is_some_and(|by| by.starts_with("general-purpose ")), "{question}");
    let told = world.api.requests_with_text("Do it all.").pop().expect("a turn").model_text();
    assert_eq!(told.matches("- sub: \"Which colour?\"").count(), 1, "the session was told: {told}");
    let requests = world.api.turns().len();
    world.answer("sub", "blue");
    assert_eq!(world.wait_state("sub", "delivered")["result"], "painted");
    assert_eq!((world.api.turns().len(), world.launches().len()), (requests + 1, 1));
    let resumed = world.api.requests_with_text("User chose: blue").pop().expect("a turn").model_text();
    assert!(resumed.contains("checkpoints/sub.json"), "{resumed}");
}

/// Claude Code declares tasks in the requests of the session itself, and not in the requests of its subagents (measured on 2.1.330).
#[test]
fn a_subagent_in_a_terminal_waits_with_its_call() {
    let mut world = ClaudeWorld::used_before();
    world.configure("[mcp]\nwait = \"10m\"");
    world.keep_watching_from_the_start();
    world.api.on("Sub work.", json!([load(&["ask_user"]), call("ask_user", &which_colour()), {"text": "sub ended"}]));
    let input = json!({"description": "work", "prompt": "Sub work.", "subagent_type": "general-purpose"});
    world.api.on("Do it all.", json!([{"tool": "Agent", "input": input}, {"text": "It works."}, {"text": "It has ended."}]));
    let program = world.claude_program().display().to_string();
    let terminal =
        Terminal::running(&world, (120, 50), &["TERM=screen"], &[&program, "--plugin-dir", PLUGIN, "--permission-mode", "default"]);
    terminal.see("❯");
    terminal.say("Do it all.");
    until("the question", || world.in_mailbox("pending/sub.json").exists());
    assert!(world.document("pending/sub.json").get("to_session").is_none(), "no task");
    terminal.see("It works.");
    let requests = world.api.turns().len();
    world.answer("sub", "blue");
    terminal.see("It has ended.");
    let told = world.api.requests_with_text("Sub work.").into_iter().rev().find_map(|turn| turn.tool_results().pop()).expect("a result");
    assert!(told.starts_with("Your question \"Which colour?\": User chose: blue"), "{told}");
    assert_eq!((world.api.turns().len(), world.launches().len()), (requests + 2, 0), "one for the subagent, one for the session");
}

#[test]
fn a_run_of_a_plugins_owner_asks_with_its_tool_once() {
    let mut world = ClaudeWorld::new();
    world.ok("askbox", &["setup", "--yes", "--only", "plugin"]);
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    let asked = json!({"question": "Which colour?", "options": [{"label": "red"}, {"label": "blue"}]});
    world.api.on("User chose: begin", json!([load(&["ask_user"]), call("ask_user", &asked), bash("echo built"), {"text": "built"}]));
    world.answer("w", "begin");
    world.wait_status("w", "asking", |s| s["state"] == "pending" && world.names("running").is_empty());
    assert_eq!(world.document("pending/w.json")["tool_call"]["name"], tool("ask_user"));
    let requests = world.api.turns().len();
    world.answer("w", "blue");
    assert_eq!(world.wait_state("w", "delivered")["result"], "built");
    let turn = &world.api.turns()[requests];
    let told = turn.tool_results().pop().expect("a result");
    assert!(told.starts_with("Your question \"Which colour?\": User chose: blue\n(answered by ann"), "{told}");
    assert_eq!((world.launches().len(), world.names("pending").len(), world.rounds("closed", "w").len()), (2, 0, 2), "asked once");
    let news = world.api.turns().last().expect("a turn").model_text();
    assert!(!news.contains("askbox: "), "the plugin's hooks are silent in a run: {news}");
}
