//! The listings of the two documents that describe such an agent, one a test: discover, describe, spawn, loop, return. Each compares what
//! the API received.

use crate::agent::scene::{Scene, blocks, system};
use serde_json::{Value, json};

const TESTER: &str = "Use this agent when you need to create, review, or improve unit tests and integration tests for Python backend code.";
const IMPLEMENTER: &str = "Use this agent when you need to implement backend Python code, CLI tools, API endpoints.";
const PROMPT: &str = "You are an elite Python backend testing specialist.\n\nTest what matters.";

fn with_agents() -> Scene {
    let scene = Scene::new();
    scene.define("backend-python-tester", &format!("description: {TESTER}\nmodel: inherit\ncolor: red"), PROMPT);
    scene.define("backend-python-implementer", &format!("description: {IMPLEMENTER}\ntools: Read, Write"), "You implement.");
    scene
}

fn task(kind: &str, prompt: &str) -> Value {
    json!({"tool": "Task", "input": {"subagent_type": kind, "description": "Create API endpoint tests", "prompt": prompt}, "text": "I'll use an agent."})
}

/// Discover and describe: each agent file is a line of the tool's description.
#[test]
fn the_description_of_task_names_each_agent_file() {
    let scene = with_agents();
    std::fs::write(scene.path(".claude/agents/README.txt"), "not an agent").unwrap();
    scene.begin(r#"I just wrote a new API endpoint. Can you create tests for it? @@[{"text":"ok"}]"#).ok();
    let request = &scene.turns()[0].body;
    let tool = &request["tools"][0];
    assert_eq!(tool["name"], "Task");
    let expected = format!(
        "Available agent types:\n\n- backend-python-implementer: {IMPLEMENTER}\n\n- backend-python-tester: {TESTER}\n\n- general-purpose: "
    );
    assert!(tool["description"].as_str().unwrap().contains(&expected), "{tool:#}");
    assert_eq!(tool["input_schema"]["required"], json!(["subagent_type", "prompt"]));
    assert_eq!((&request["max_tokens"], &request["model"]), (&json!(128_000), &json!("claude-sonnet-4-5")));
    assert_eq!(request["messages"].as_array().unwrap().len(), 1);
}

/// Spawn, loop and return: five requests, as the document lists them.
#[test]
fn an_agent_works_in_messages_of_its_own_and_returns_words() {
    let scene = with_agents();
    std::fs::write(scene.path("users.py"), "def users(): ...\n").unwrap();
    let inner = json!([
        {"text": "I'll read the endpoint implementation first.", "tool": "Read", "input": {"file_path": "users.py"}},
        {"text": "I've created comprehensive tests. All tests are passing."},
    ]);
    let prompt = format!("Create comprehensive tests for the new /api/users endpoint. @@{inner}");
    let steps = json!([task("backend-python-tester", &prompt), {"text": "The tests have been created!"}]);
    let result = scene.begin(&format!("Can you create tests for it? @@{steps}")).ok().result();
    assert_eq!(result["result"], "The tests have been created!");

    let turns = scene.turns();
    assert_eq!(turns.len(), 4);
    let (first, spawned, read, back) = (&turns[0], &turns[1], &turns[2], &turns[3]);
    assert_eq!(system(spawned), PROMPT);
    assert_eq!(spawned.body["model"], first.body["model"], "inherit");
    assert_eq!(spawned.messages().len(), 1, "fresh messages");
    assert_eq!(blocks(&spawned.messages()[0]), [json!({"type": "text", "text": prompt})]);
    let without_task: Vec<_> = first.tools().into_iter().filter(|tool| tool != "Task").collect();
    assert_eq!(spawned.tools(), without_task, "the same tools, but none to start agents");
    assert_eq!(read.tool_results(), ["     1\tdef users(): ...\n"]);
    assert_eq!((system(back), back.messages().len()), (system(first), 3));
    let result = &blocks(&back.messages()[2])[0];
    assert_eq!(result["content"], "I've created comprehensive tests. All tests are passing.", "only the conclusion returns");
    assert_eq!(result["tool_use_id"], blocks(&back.messages()[1])[1]["id"]);
    assert!(!back.body.to_string().contains("def users()"), "the steps of the agent stay with it");
}

#[test]
fn an_agent_starts_agents_only_if_its_definition_says_so() {
    let scene = Scene::new();
    scene.define("lead", "description: Leads\ntools: Task, Read", "You lead.");
    let inner = json!([task("general-purpose", r#"Look @@[{"text":"seen"}]"#), {"text": "led"}]);
    let steps = json!([task("lead", &format!("Lead @@{inner}")), {"text": "done"}]);
    scene.begin(&format!("x @@{steps}")).ok();
    let turns = scene.turns();
    assert_eq!((turns[1].tools(), turns[2].tools().contains(&"Task".to_owned())), (vec!["Task".into(), "Read".into()], false));
    assert_eq!(turns[3].tool_results(), ["seen"]);
    assert_eq!(turns[4].tool_results(), ["led"]);
}

#[test]
fn an_unknown_agent_is_an_error_that_names_the_known_ones() {
    let scene = with_agents();
    scene.begin(&format!("x @@{}", json!([task("nobody", "x"), {"text": "ok"}]))).ok();
    let told = &scene.turns()[1].tool_results()[0];
    assert!(told.contains("'nobody' not found") && told.contains("backend-python-tester, general-purpose"), "{told}");
}

#[test]
fn an_agent_is_stopped_after_thirty_rounds() {
    let scene = Scene::new();
    let rounds: Vec<Value> = (0..40).map(|n| json!({"tool": "TodoWrite", "input": {"todos": []}, "text": format!("round {n}")})).collect();
    let steps = json!([task("", &format!("x @@{}", json!(rounds))), {"text": "done"}]);
    scene.begin(&format!("x @@{steps}")).ok();
    let turns = scene.turns();
    assert_eq!(turns.len(), 1 + 30 + 1);
    let told = &turns[31].tool_results()[0];
    assert!(told.contains("number of turns (30)") && told.contains("round 29"), "{told}");
}

/// The hooks and the rules of the session count for its subagents.
#[test]
fn a_subagents_calls_pass_the_same_hooks() {
    let scene = Scene::new();
    let hook = r#"tee event | jq -c '[.tool_name, .agent_type]' >> seen; grep -q '"command":"rm x"' event && { echo 'no rm' >&2; exit 2; }; exit 0"#;
    scene.settings(&json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": hook}]}]}}));
    let inner = json!([{"tool": "Bash", "input": {"command": "rm x"}}, {"tool": "Bash", "input": {"command": "echo hi"}}, {"text": "ok"}]);
    scene.begin(&format!("x @@{}", json!([task("", &format!("x @@{inner}")), {"text": "done"}]))).ok();
    let told = scene.turns()[3].tool_results();
    assert_eq!(told, ["PreToolUse hook error: no rm", "hi"]);
    let seen = std::fs::read_to_string(scene.path("seen")).unwrap();
    assert_eq!(seen, "[\"Task\",null]\n[\"Bash\",\"general-purpose\"]\n[\"Bash\",\"general-purpose\"]\n");
}

/// The three prompts of the second document.
#[test]
fn a_subtask_finds_the_testing_framework() {
    let scene = Scene::new();
    std::fs::write(scene.path("pyproject.toml"), "[tool.pytest.ini_options]\n").unwrap();
    let inner = json!([
        {"tool": "Glob", "input": {"pattern": "*.toml"}},
        {"tool": "Read", "input": {"file_path": "pyproject.toml"}},
        {"text": "This project uses pytest."},
    ]);
    let steps = json!([task("general-purpose", &format!("Find the testing framework @@{inner}"))]);
    let result = scene.begin(&format!("Use a subtask to find what testing framework this project uses @@{steps}")).ok().result();
    assert_eq!(result["result"], "This project uses pytest.", "the parent knows only this");
    assert!(scene.turns()[2].tool_results()[0].ends_with("/pyproject.toml"));
    assert!(system(&scene.turns()[1]).contains("Complete the task, do not delegate further"));
}

#[test]
fn a_delegate_reads_all_files_and_summarizes() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path("agents")).unwrap();
    for name in ["a", "b"] {
        std::fs::write(scene.path(format!("agents/{name}.py")), format!("# does {name}\n")).unwrap();
    }
    let read = |name: &str| json!({"tool": "Read", "input": {"file_path": format!("agents/{name}.py")}});
    let inner = json!([
        {"tool": "Glob", "input": {"pattern": "agents/*.py"}},
        {"tools": [read("a"), read("b")]},
        {"text": "a does a, b does b"},
    ]);
    let steps = json!([task("general-purpose", &format!("Read all @@{inner}"))]);
    let outcome = scene.begin(&format!("Delegate: read all .py files in agents/ and summarize what each one does @@{steps}")).ok();
    assert_eq!(outcome.result()["result"], "a does a, b does b");
    let last = scene.turns()[3].clone();
    assert_eq!(last.tool_results()[1..], ["     1\t# does a\n", "     1\t# does b\n"]);
    assert_eq!(last.messages().len(), 5, "two results of one reply are one message");
}

#[test]
fn a_task_creates_a_file_that_the_parent_verifies() {
    let scene = Scene::new();
    let code = "def slugify(text: str) -> str:\n    return '-'.join(text.lower().split())\n";
    let inner = json!([{"tool": "Write", "input": {"file_path": "example/string_tools.py", "content": code}}, {"text": "created"}]);
    let verify = "cd example && python3 -c \"from string_tools import slugify; print(slugify('A b  C'))\"";
    let steps = json!([task("general-purpose", &format!("Create it @@{inner}")), {"tool": "Bash", "input": {"command": verify}}]);
    let outcome = scene.begin(&format!("Use a task to create string_tools.py, then verify it from the parent agent @@{steps}"));
    assert_eq!(outcome.ok().result()["result"], "a-b-c");
    assert_eq!(std::fs::read_to_string(scene.path("example/string_tools.py")).unwrap(), code);
}

mod promises {
    use super::*;

    #[test]
    fn an_agents_definition_limits_its_tools() {
        let scene = with_agents();
        let steps =
            json!([task("backend-python-implementer", r#"Do it @@[{"tool":"Bash","input":{"command":"touch no"}}]"#), {"text": "ok"}]);
        scene.begin(&format!("x @@{steps}")).ok();
        assert_eq!(scene.turns()[1].tools(), ["Read", "Write"]);
        assert_eq!(scene.turns()[2].tool_results(), ["No such tool available: Bash"]);
        assert!(!scene.path("no").exists());
    }
}
