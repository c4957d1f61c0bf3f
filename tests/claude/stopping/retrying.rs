//! `relaunch run` without a watcher and an API that is overloaded for longer than the agent tries.

use super::*;
use crate::support::claude::version::needs_claude;
use serde_json::json;

#[test]
fn a_run_refused_twice_with_529_is_delivered() {
    needs_claude!(SameRequestAfterRefusal);
    let world = ClaudeWorld::new();
    let config = "[relaunch]\nbackoff = '200ms'\n[runner.claude]\nallowed_tools = ['Bash']\nenv = { CLAUDE_CODE_MAX_RETRIES = '0' }\n";
    world.configure(config);
    let steps = json!([{"status": 529, "times": 2}, {"text": "through"}]);
    world.api.on("Your process was interrupted", steps.clone());
    let outcome = crate::support::output(task(&world, "w", &steps).stdin(Stdio::null())).ok();
    assert_eq!(outcome.result()["text"], "through", "{outcome:?}");
    let status = world.status("w");
    assert_eq!((&status["state"], &status["attempt"], &status["result"]), (&json!("delivered"), &json!(3), &json!("through")));
    assert_eq!(world.launches().len(), 3);
    let throttled = outcome.events().into_iter().filter(|e| e["type"] == "result" && e["is_error"] == true).count();
    assert_eq!(throttled, 2, "each attempt is shown: {outcome:?}");
    let last = world.api.turns().pop().expect("a turn");
    assert_eq!(last.model_text().matches("The task of the walnut").count(), 1, "{}", last.model_text());
}
