//! A run says which calls were refused, with the line of the configuration that permits them, and which replies were not enough.

use serde_json::json;

use crate::support::ClaudeWorld;
use crate::support::claude::bash;

#[test]
fn a_run_with_refused_calls_says_which_line_permits_them() {
    let mut world = ClaudeWorld::new();
    world.configure("[approvals]\nask_stopped = false\n");
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    let write = json!({"tool": "Write", "input": {"file_path": world.work().join("a"), "content": "x"}});
    world.api.on("User chose: begin", json!([bash("touch b"), bash("touch c"), write, {"text": "nothing was allowed"}]));
    world.answer("w", "begin");
    world.wait_state("w", "delivered");
    assert_eq!(world.status("w")["live"]["refused"], json!({"calls": 3, "rules": ["Bash(touch:*)", "Write"]}));
    let words = world.ok("relaunch", &["status", "w"]);
    assert!(words.contains("refused    3 calls that nobody had permitted; to permit them, in "), "{words}");
    let line = r#"allowed_tools = ["Bash(ask-post:*)", "Bash(checkpoint:*)", "Bash(touch:*)", "Write"]"#;
    assert!(words.contains(line), "{words}");
    assert!(words.contains(r#"ask = ["Bash(touch:*)", "Write"]"#), "{words}");
    // That very line permits them.
    world.configure(&format!("[runner.claude]\n{line}\n"));
    world.ask("w", &["Again?"]);
    world.api.on("User chose: again", json!([bash("touch b"), {"text": "done"}]));
    world.answer("w", "again");
    world.wait_status("w", "done", |s| s["state"] == "delivered" && s["result"] == "done");
    assert!(world.work().join("b").exists() && world.status("w")["live"]["refused"].is_null());
}

#[test]
fn replies_that_are_cut_or_too_long_do_not_wait_for_the_api() {
    let mut world = ClaudeWorld::new();
    world.configure("[relaunch]\nattempts = 1\n");
    world.keep_watching_from_the_start();
    let half = json!({"text": "half a", "stop": "max_tokens"});
    let error = json!({"type": "invalid_request_error", "message": "prompt is too long: 208310 tokens > 200000 maximum"});
    let full = json!({"status": 400, "body": json!({"type": "error", "error": error}).to_string()});
    for (workflow, steps, class) in [("half", json!(vec![half; 9]), "agent"), ("full", json!(vec![full; 9]), "too_long")] {
        world.ask(workflow, &["Begin?"]);
        world.api.on(&format!("User chose: {workflow}"), steps);
        world.answer(workflow, workflow);
        world.wait_state(workflow, "parked");
        assert_eq!(world.status(workflow)["failure"], class, "{:#}", world.status(workflow));
    }
}
