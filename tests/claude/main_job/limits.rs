//! A refusal of the model: another attempt would be refused too.

use serde_json::json;

use crate::support::ClaudeWorld;

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
