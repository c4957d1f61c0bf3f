//! The two other prompts of the lesson on subagents, verbatim. The first one is in `child.rs`.

use serde_json::json;

use crate::support::ClaudeWorld;
use crate::support::claude::bash;

#[test]
fn a_child_that_read_many_files_returns_its_summary_only() {
    let mut world = ClaudeWorld::new();
    world.configure("[runner.claude]\ntask_tool = false\nallowed_tools = ['Bash(relaunch spawn:*)']\n");
    world.keep_watching_from_the_start();
    std::fs::create_dir(world.work().join("agents")).expect("a folder");
    for name in ["loop", "tools"] {
        std::fs::write(world.work().join(format!("agents/{name}.py")), format!("# walnut of {name}\n")).expect("a file");
    }
    let prompt = "Delegate: read all .py files in agents/ and summarize what each one does";
    let read = |name: &str| json!({"tool": "Read", "input": {"file_path": world.work().join(format!("agents/{name}.py"))}});
    let summary = "loop.py runs the model, tools.py its tools.";
    world.api.on("Read agents/*.py and summarize each.", json!([read("loop"), read("tools"), {"text": summary}]));
    world.api.on(prompt, json!([bash("relaunch spawn -w child --prompt 'Read agents/*.py and summarize each.'"), {"text": "Two files."}]));
    assert_eq!(world.run("relaunch", &["spawn", "-w", "main", "--prompt", prompt]).ok().stdout, "Two files.\n");
    let turns = world.api.turns();
    let (main, child): (Vec<_>, Vec<_>) = turns.iter().partition(|turn| turn.model_text().contains(prompt));
    assert_eq!((main.len(), child.len()), (2, 3));
    assert!(child[2].body.to_string().contains("walnut of loop") && child[2].body.to_string().contains("walnut of tools"));
    assert_eq!(main[1].tool_results(), [summary]);
    assert!(main.iter().all(|turn| !turn.body.to_string().contains("walnut")), "the parent's conversation stays clean");
}

#[test]
fn what_a_child_may_not_do_alone_goes_to_a_person() {
    let mut world = ClaudeWorld::new();
    world.configure("[limits]\nhold = '1s'\n[runner.claude]\nallowed_tools = ['Bash(relaunch spawn:*)', 'Bash(cat:*)']\n");
    world.keep_watching_from_the_start();
    let prompt = "Use a task to create s06_subagent/example/string_tools.py with a slugify(text: str) function, then verify it from the parent agent";
    let file = world.work().join("s06_subagent/example/string_tools.py");
    let write = json!({"tool": "Write", "input": {"file_path": file, "content": "def slugify(text: str):\n    return text.lower().replace(' ', '-')\n"}});
    world.api.on("Create string_tools.py.", json!([write]));
    world.api.on(prompt, json!([bash("relaunch spawn -w child --prompt 'Create string_tools.py.'")]));
    assert_eq!(world.run("relaunch", &["spawn", "-w", "main", "--prompt", prompt]).ok().stdout, "SGN_PEND_STARTED (main)\n");
    let asked = world.document("pending/child.json");
    assert!(asked["question"].as_str().is_some_and(|q| q.contains("May the agent call Write?") && q.contains("def slugify")), "{asked}");
    assert!(!file.exists());
    world.wait_status("child", "asking", |s| s["state"] == "pending" && world.names("running").is_empty());
    let requests = world.api.turns().len();
    world.api.on("User chose: once", json!([write, {"text": "Created."}]));
    let verify = bash("cat s06_subagent/example/string_tools.py");
    world.api.on("child finished. Its reply:", json!([verify, {"text": "Verified."}]));
    world.answer("child", "once");
    world.wait_status("main", "its end", |s| s["state"] == "delivered" && s["result"] == "Verified.");
    assert!(world.api.turns().last().expect("a turn").tool_results().concat().contains("def slugify(text: str):"));
    assert_eq!(world.api.turns().len(), requests + 4, "the call again, its end; the parent's look, its end");
    assert_eq!(world.launches().len(), 4);
}
