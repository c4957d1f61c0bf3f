//! Every kind of answer reaches the agent.

use crate::support::ClaudeWorld;
use crate::support::claude::bash;
use serde_json::json;

#[test]
fn a_default_on_expiry_is_recorded_and_told_as_such() {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    world.api.on("so the default that was set applies", json!([{"text": "not tonight"}]));
    let round = world.ask("late", &["Deploy tonight?", "-t", "yes_no", "--timeout", "1s", "--default", "no"]);
    let status = world.wait_state("late", "delivered");
    assert_eq!(status["result"], "not tonight");
    let told = world.api.requests_with_text("so the default that was set applies")[0].model_text();
    assert!(told.contains("Nobody answered in time, so the default that was set applies: no"), "{told}");
    let closed = world.document(&format!("closed/late.{round}.json"));
    assert_eq!((&closed["answer"]["by"], &closed["answer"]["value"]), (&json!("default"), &json!("no")));
    // An answer that comes now is kept and never run.
    let late = world.run("ask-answer", &["late", "yes"]);
    assert_eq!(late.status.code(), Some(4), "{late:?}");
    assert_eq!(world.document(&format!("closed/late.{round}.json"))["late_answers"][0]["value"], "yes");
    assert_eq!(world.launches().len(), 1);
}

/// Everything that a shell, a terminal, a template or a JSON reader might trip over.
fn awkward(bytes: usize) -> String {
    let piece = "\"it's\" $(id) `id` \\ {answer} {question} \u{1b}[31mred\u{1b}[0m\t\u{202e}\u{2028}\u{85}ünï\u{1f980}\r\n";
    format!("begin\n{}end", piece.repeat(bytes / piece.len() + 1))
}

#[test]
fn a_longer_answer_goes_by_a_file_that_the_agent_may_read() {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    let round = world.ask("huge", &["Tell me everything"]);
    let answer = awkward(600 << 10);
    assert!(answer.len() > askbox::run::prompt::answer_text::INLINE_ANSWER);
    let file = world.in_mailbox(format!("runs/huge/{round}/1/answer.txt"));
    let file = file.to_str().expect("UTF-8").to_owned();
    let read = json!({"tool": "Read", "input": {"file_path": file, "offset": 1, "limit": 3}});
    world.api.on("The user's answer is", json!([read, bash(&format!("tail -c 9 '{file}'")), {"text": "read it"}]));
    world.run_with("ask-answer", &["huge", "-"], answer.as_bytes()).ok();
    world.wait_state("huge", "delivered");
    let told = world.api.requests_with_text("The user's answer is")[0].model_text();
    assert!(told.contains(&format!("The user's answer is {} bytes long; read it from {file}", answer.len())), "{told}");
    assert!(!told.contains("$(id)"), "{}", told.len());
    assert!(std::fs::read(&file).expect("the file") == answer.as_bytes());
    let results = world.api.turns().pop().expect("a turn").tool_results();
    assert!(results[0].contains("$(id) `id`"), "{results:?}");
    assert!(results[1].ends_with("end"), "{results:?}");
}

#[test]
fn an_agent_that_does_not_ask_again_is_shown_to_the_person() {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    for (id, asks_again) in [("mute", false), ("again", true)] {
        world.ask(id, &["Which one?"]);
        let again = bash(&format!("ask-post 'Which one, the walnut or the oak?' -w {id}"));
        let steps = if asks_again { json!([again, {"text": "asked"}]) } else { json!([{"text": "There are two."}]) };
        world.api.on(&format!("Which ones are there for {id}?"), steps);
        world.ok("ask-answer", &["ask-back", id, &format!("Which ones are there for {id}?")]);
    }
    let status = world.wait_state("mute", "delivered");
    assert!(status["why"].as_str().is_some_and(|why| why.contains("ended without asking its question again")), "{status}");
    assert_eq!(status["result"], "There are two.");
    let status = world.wait_status("again", "asked again", |s| s["state"] == "pending" && world.rounds("closed", "again").len() == 1);
    assert!(status["why"].is_null(), "{status}");
}

#[test]
fn the_agent_may_read_the_checkpoint_that_its_prompt_names() {
    let mut world = ClaudeWorld::new();
    world.configure("[approvals]\nask_stopped = false\n");
    world.run_with("checkpoint", &["save", "cp"], b"{\"current_step\":\"the walnut\"}").ok();
    let outside = world.home().join("secret.txt");
    std::fs::write(&outside, "nobody's business").expect("a file");
    world.ask("cp", &["Go on?"]);
    let read = |path: &std::path::Path| json!({"tool": "Read", "input": {"file_path": path}});
    let checkpoint = world.in_mailbox("checkpoints/cp.json");
    world.api.on("User chose: yes", json!([read(&checkpoint), read(&outside), {"text": "read it"}]));
    world.keep_watching();
    world.answer("cp", "yes");
    world.wait_state("cp", "delivered");
    let results = world.api.turns().pop().expect("a turn").tool_results();
    assert!(results[0].contains("the walnut"), "{results:?}");
    assert!(results[1].contains("Not permitted in this unattended run"), "{results:?}");
}

mod promises {
    use super::*;

    #[test]
    fn a_batch_arrives_with_each_question_beside_its_answer() {
        let mut world = ClaudeWorld::new();
        let batch = json!({"questions": [
            {"id": "db", "question": "Which database?", "options": {"pg": "PostgreSQL", "sqlite": "One file"}},
            {"id": "days", "question": "Which days?", "type": "multi_choice", "options": {"mon": "", "tue": "", "wed": ""}},
            {"question": "Anything else?"}
        ]});
        let file = world.work().join("batch.json");
        std::fs::write(&file, batch.to_string()).expect("a file");
        world.user_session(&json!([bash("ask-post -w trip --file batch.json"), {"text": "asked"}]));
        world.api.on("User chose:", json!([{"text": "done"}]));
        world.keep_watching();
        let keys: Vec<String> = world.document("pending/trip.json")["questions"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|q| q["id"].as_str().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(keys[..2], ["db", "days"]);
        let third = if keys[2].is_empty() { "q3" } else { &keys[2] };
        world.run("ask-answer", &["trip", "db=pg", "days=mon", "days=wed", &format!("{third}=no; $(echo boo)")]).ok();
        world.wait_state("trip", "delivered");
        let told = world.api.requests_with_text("User chose:")[0].model_text();
        let expected = format!(
            "User chose:\n- Which database? (db): pg\n- Which days? (days): mon, wed\n- Anything else? ({third}): no; $(echo boo)\nContinue"
        );
        assert!(told.contains(&expected), "{told}");
    }

    #[test]
    fn a_declined_question_reaches_the_agent_as_a_refusal() {
        let mut world = ClaudeWorld::new();
        world.keep_watching_from_the_start();
        world.ask("no", &["May I drop the table?", "-t", "yes_no"]);
        world.api.on("The user declined to answer", json!([{"text": "then not"}]));
        world.run("ask-answer", &["decline", "no", "--note", "ask the DBA first"]).ok();
        let status = world.wait_state("no", "delivered");
        assert_eq!(status["result"], "then not");
        let told = world.api.requests_with_text("The user declined to answer")[0].model_text();
        assert!(told.contains("Do not guess an answer") && told.contains("They say: ask the DBA first"), "{told}");
        assert!(!told.contains("User chose"), "{told}");
    }

    #[test]
    fn an_answer_of_200_kilobytes_arrives_byte_for_byte() {
        let mut world = ClaudeWorld::new();
        world.keep_watching_from_the_start();
        let round = world.ask("long", &["Tell me all"]);
        let answer = awkward(200 << 10);
        world.api.on("User chose:\n> begin", json!([{"text": "read it"}]));
        world.run_with("ask-answer", &["long", "-"], answer.as_bytes()).ok();
        world.wait_state("long", "delivered");
        let requests = world.api.requests_with_text("User chose:\n> begin");
        assert_eq!(requests.len(), 1);
        // Each line is quoted, and nothing else is changed.
        let quoted = askbox::run::words::inserted::quoted(&answer);
        assert!(requests[0].model_text().contains(&format!("User chose:\n{quoted}\nContinue")), "it was changed on its way");
        assert_eq!(world.document(&format!("closed/long.{round}.json"))["answer"]["value"], answer.as_str());
    }
}
