//! The choice of a session's user in AskUserQuestion is the answer to the question that was shown: `askbox hook` hands it on.

use serde_json::{Value, json};

use crate::support::World;

const SESSION: &str = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

/// The input of AskUserQuestion for the question of `workflow`.
fn shown(world: &World, workflow: &str) -> Value {
    serde_json::from_str(&world.ok("ask-answer", &["show", workflow, "--format", "ask-user-question"])).expect("JSON")
}

/// The event after the tool: its input, and what the user chose for each question.
fn event(input: &Value, answers: &Value) -> Value {
    let response = json!({"questions": input["questions"], "answers": answers, "annotations": {}});
    json!({"hook_event_name": "PostToolUse", "session_id": SESSION, "cwd": "/", "tool_name": "AskUserQuestion", "tool_use_id": "t1",
        "tool_input": input, "tool_response": response})
}

/// The words that the session is told. Empty if there are none.
fn told(world: &World, event: &Value) -> String {
    let said = world.run_with("askbox", &["hook"], event.to_string().as_bytes()).ok().stdout;
    match serde_json::from_str::<Value>(&said) {
        Ok(said) => said["hookSpecificOutput"]["additionalContext"].as_str().expect("words").to_owned(),
        Err(_) => said,
    }
}

#[test]
fn an_answer_that_does_not_fit_is_kept_back_and_told() {
    let world = World::new();
    world.sh("ask-post -w w 'What is it?' 2>/dev/null");
    let said = told(&world, &event(&shown(&world, "w"), &json!({"What is it?": "Write an answer"})));
    assert!(said.contains("was not handed on to w") && said.contains("Hint: "), "{said}");
    for wrong in [json!({}), json!({"Another?": "x"}), json!("x"), Value::Null] {
        assert!(told(&world, &event(&shown(&world, "w"), &wrong)).contains("was not handed on"), "{wrong}");
    }
    assert_eq!((world.names("pending"), world.names("answered").len()), (vec!["w.json".to_owned()], 0));
}

#[test]
fn the_hook_answers_nothing_asked_elsewhere_or_twice() {
    let world = World::new();
    world.sh("ask-post -w w 'Which?' -o a=A -o b=B 2>/dev/null");
    let input = shown(&world, "w");
    let answers = json!({"Which?": "a"});
    let silent = |event: &Value, env: &str| {
        let outcome = world.shell(&format!("echo '{event}' | {env} askbox hook"));
        assert_eq!((outcome.code(), outcome.stdout.as_str()), (0, ""), "{event}");
    };
    let mut other = input.clone();
    other["questions"][0]["options"][0]["description"] = "Another".into();
    silent(&event(&other, &answers), "");
    let mut of_subagent = event(&input, &answers);
    of_subagent["agent_id"] = "a1".into();
    silent(&of_subagent, "");
    silent(&event(&input, &answers), &format!("ASKBOX_RUN=w/{SESSION}/1"));
    world.sh("ask-post -w twin 'Which?' -o a=A -o b=B 2>/dev/null");
    silent(&event(&input, &answers), "");
    world.sh("ask-answer cancel twin");
    let mut permits = world.document("pending/w.json");
    permits["approval"] = json!({"tool": "Bash", "sha256": "0".repeat(64)});
    std::fs::write(world.in_mailbox("pending/w.json"), permits.to_string()).expect("a file");
    silent(&event(&input, &answers), "");
    assert!(world.names("answered").is_empty());
}

mod promises {
    use super::*;

    #[test]
    fn the_users_choice_answers_the_question_that_was_shown() {
        let world = World::new();
        world.sh("ask-post -w w 'Which database?' -o pg=Postgres -o lite=SQLite 2>/dev/null; ask-post -w other 'Which name?' 2>/dev/null");
        let asked = event(&shown(&world, "w"), &json!({"Which database?": "pg"}));
        let said = told(&world, &asked);
        assert!(said.starts_with("askbox: this answer of your user was handed on. w: answered: pg."), "{said}");
        let answer = &world.document("answered/w.json")["answer"];
        let expected = (&json!("pg"), &json!("hook"), &json!("askbox hook"), &json!("ann"));
        assert_eq!((&answer["value"], &answer["through"], &answer["channel"], &answer["by"]), expected);
        assert_eq!(told(&world, &asked), "", "the question waits no more");
        assert_eq!(world.names("pending"), ["other.json"]);
        // Words of the user's own, a batch, and a refusal.
        let own = event(&shown(&world, "other"), &json!({"Which name?": "Walnut"}));
        assert!(told(&world, &own).contains("other: answered"), "{own}");
        let batch = json!([{"workflow_id": "b", "questions": [{"id": "one", "question": "First?", "options": [{"label": "x"}, {"label": "y"}]},
        {"id": "two", "question": "Second?", "options": [{"label": "x"}, {"label": "y"}]}]}]);
        world.run_with("ask-post", &["--batch", "--file", "-"], batch.to_string().as_bytes()).ok();
        told(&world, &event(&shown(&world, "b"), &json!({"First?": "x", "Second?": "y"})));
        assert_eq!(world.document("answered/b.json")["answer"]["value"], json!({"one": "x", "two": "y"}));
        world.sh("ask-post -w open 'What else?' 2>/dev/null");
        let said = told(&world, &event(&shown(&world, "open"), &json!({"What else?": "Decline to answer"})));
        assert!(said.contains("open: declined"), "{said}");
    }
}
