//! Refusals for good, of the model or of the agent program: another attempt would be refused too.

use serde_json::json;

use crate::support::ClaudeWorld;
use crate::support::claude::version::needs_claude;

#[test]
fn an_agent_that_refuses_to_start_is_parked_with_its_reason() {
    needs_claude!(StartupFailureResults);
    let mut world = ClaudeWorld::new();
    world.configure("[runner.claude]\nenv = { HTTPS_PROXY = 'not a url' }\n");
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    world.answer("w", "yes");
    let status = world.wait_state("w", "parked");
    assert!(status["why"].as_str().is_some_and(|why| why.starts_with("the agent did not start (proxy_invalid): ")), "{status}");
    assert_eq!((&status["failure"], world.launches().len()), (&json!("setup"), 1), "{status}");
    world.configure("");
    world.api.on("User chose: yes", json!([{"text": "begun"}]));
    world.run("relaunch", &["retry", "w"]).ok();
    assert_eq!(world.wait_state("w", "delivered")["result"], "begun");
}

mod promises {
    use super::*;

    #[test]
    fn a_refusal_of_the_model_parks_the_run_at_once() {
        let mut world = ClaudeWorld::new();
        world.keep_watching_from_the_start();
        world.ask("w", &["Begin?"]);
        let refuses = json!({"text": "I cannot help with that.", "refuses": true});
        world.api.on("User chose: yes", json!([refuses, refuses, refuses, refuses]));
        world.answer("w", "yes");
        let status = world.wait_state("w", "parked");
        assert_eq!((&status["failure"], world.launches().len()), (&json!("refusal"), 1), "{status}");
    }
}
