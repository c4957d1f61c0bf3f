//! A run has the permission mode of askbox's configuration, whatever the default of the agent program or of the user's settings is.

use serde_json::json;

use crate::support::ClaudeWorld;

#[test]
fn a_run_passes_its_permission_mode_or_leaves_it_to_the_user() {
    let mut world = ClaudeWorld::new();
    let settings = json!({"permissions": {"defaultMode": "acceptEdits"}});
    std::fs::create_dir_all(world.claude_config()).expect("the folder");
    std::fs::write(world.claude_config().join("settings.json"), settings.to_string()).expect("the user's settings");
    world.configure("[approvals]\nask_stopped = false\n");
    world.keep_watching_from_the_start();
    let file = world.work().join("made");
    let write = json!({"tool": "Write", "input": {"file_path": file, "content": "x"}});
    let run = |id: &str, choice: &str| {
        world.ask(id, &["Begin?"]);
        world.api.on(&format!("User chose: {choice}"), json!([write, {"text": "tried"}]));
        world.answer(id, choice);
        world.wait_state(id, "delivered");
    };
    run("one", "first");
    assert!(world.launches()[0].args.contains("--permission-mode default"), "{:?}", world.launches());
    assert!(!file.exists() && world.status("one")["live"]["refused"]["calls"] == 1, "{}", world.status("one"));
    world.configure("[runner.claude]\npermission_mode = ''\n");
    run("two", "second");
    assert!(!world.launches()[1].args.contains("--permission-mode"), "{:?}", world.launches());
    assert!(file.exists(), "{}", world.describe("two"));
}
