//! The folder, the session and the task of a run stay its own, whatever happens around it.

use serde_json::json;

use crate::support::ClaudeWorld;
use crate::support::claude::bash;

const TOOLS: &str = "[runner.claude]\nallowed_tools = ['Bash(ask-post:*)', 'Bash(ask-from:*)', 'Bash(pwd)']\n";

#[test]
fn an_agent_in_a_deleted_folder_asks_from_another_one() {
    let mut world = ClaudeWorld::new();
    world.configure(TOOLS);
    world.keep_watching_from_the_start();
    world.add_script("ask-from", "mkdir gone && cd gone && rmdir ../gone && ask-post Begin? 2>&1 || true");
    world.api.on("Work as w.", json!([bash("ask-from nowhere"), bash("ask-post Begin?"), {"text": "asked"}]));
    world.api.on("User chose: yes", json!([bash("pwd"), {"text": "begun"}]));
    world.run("relaunch", &["run", "-w", "w", "--prompt", "Work as w."]).ok();
    let told = world.api.turns().pop().expect("a turn").tool_results();
    assert!(told[0].contains("working folder") && told[0].contains("hint: cd to a folder that exists"), "{told:?}");
    world.answer("w", "yes");
    assert_eq!(world.wait_state("w", "delivered")["result"], "begun");
    assert_eq!(world.api.turns().pop().expect("a turn").tool_results().pop().as_deref(), world.work().to_str());
}
