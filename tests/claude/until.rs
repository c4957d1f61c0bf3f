//! The real agent waits for a file, and not for a person.

use serde_json::json;

use crate::support::ClaudeWorld;
use crate::support::claude::bash;

#[test]
fn an_agent_that_waits_for_a_file_is_started_when_it_is_there() {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    world.user_session(&json!([bash("ask-post -w build --until-file out.txt --timeout 1h"), {"text": "QUESTION_POSTED:build"}]));
    let waits = world.wait_state("build", "waiting");
    let file = world.work().join("out.txt").display().to_string();
    assert_eq!(waits["question"], format!("waits for the file {file}"));
    let has_come = format!("What it waited for has come: the file {file} is there. No person answered or decided anything.");
    world.api.on(&has_come, json!([{"text": "it is built"}]));
    std::fs::write(&file, "").expect("a file");
    let status = world.wait_state("build", "delivered");
    assert_eq!(status["result"], "it is built");
    let told = world.api.requests_with_text(&has_come);
    assert_eq!(told.len(), 1);
    assert!(!told[0].model_text().contains("User chose"), "{}", told[0].model_text());
    let round = world.only("closed", "build.").expect("a round");
    let answer = &world.json(round)["answer"];
    assert_eq!((&answer["by"], &answer["channel"], &answer["value"]), (&json!("event"), &json!("file"), &json!(file)));
}

#[test]
fn an_agent_whose_wait_is_over_in_vain_is_told_so() {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    world.api.on("What it waited for has not come in time", json!([{"text": "then without"}]));
    world.ask("vain", &["--until-file", "never.txt", "--timeout", "1s"]);
    assert_eq!(world.wait_state("vain", "delivered")["result"], "then without");
    let told = world.api.requests_with_text("What it waited for has not come in time")[0].model_text();
    let file = world.work().join("never.txt").display().to_string();
    assert!(told.contains(&format!("so the default that was set applies: the file {file} did not come in time")), "{told}");
}
