//! The agent's questions with a form: a person answers while the agent waits, or later in a message.

use super::*;
use crate::support::kill;

/// A form with one choice.
fn choice(message: &str) -> Value {
    let options = json!([{"const": "merge", "title": "merge", "description": "now"}, {"const": "keep", "title": "keep"}]);
    let field = json!({"type": "string", "title": "Branch", "oneOf": options});
    json!({"form": message, "schema": {"type": "object", "properties": {"q0": field}, "required": ["q0"]}})
}

/// The results of the agent's forms.
fn replies(world: &World) -> Vec<Value> {
    lines(world, "forms")
}

/// A world whose agent has this turn first, and has begun it.
fn asked(more: &str, runner: &str, list: &[Value]) -> (World, crate::support::Watcher) {
    let world = world(runner, more);
    turns(&world, list);
    let watcher = world.watch();
    world.ask_and_answer("acp-1");
    (world, watcher)
}

/// The question of the agent, once it is there.
fn question(world: &World) -> Value {
    until("it asks", || world.in_mailbox("pending/acp-1.json").exists());
    world.document("pending/acp-1.json")
}

#[test]
fn a_form_outlives_a_killed_supervisor() {
    let (world, _watcher) = asked("", "", &[json!([choice("Merge?"), {"say": "never"}]), json!([{"say": "merged"}])]);
    let waiting = question(&world);
    world.processes("relaunch supervise").into_iter().for_each(kill);
    world.closed("acp-1", "delivered", 1);
    assert_eq!(question(&world)["question_id"], waiting["question_id"]);
    world.ok("ask-answer", &["acp-1", "keep"]);
    world.closed("acp-1", "delivered", 2);
    assert!(told(&world)[1].contains("User chose: keep"), "{:?}", told(&world));
    assert!(world.processes("acp.py").is_empty());
}

#[test]
fn qwens_questions_are_answered_beside_the_outcome() {
    let questions = json!([
        {"question": "Merge or keep?", "header": "Branch", "options": [{"label": "merge", "description": "now"}, {"label": "keep"}]},
        {"question": "Which checks?", "multiSelect": true, "options": [{"label": "unit"}, {"label": "lint"}, {"label": "fuzz"}]},
        {"question": "In one word?"},
    ]);
    let (world, _watcher) = asked("", "", &[json!([{"questions": questions}, {"say": "thanks"}])]);
    let asked = question(&world);
    assert_eq!(asked["question"], "The agent `agent` asks:");
    world.ok("ask-answer", &["acp-1", "0=only after the release", "1=unit,fuzz", "2=walnut"]);
    world.closed("acp-1", "delivered", 2);
    let answers = json!({"0": "only after the release", "1": "unit, fuzz", "2": "walnut"});
    assert_eq!(replies(&world), [json!({"outcome": {"outcome": "selected", "optionId": "o1"}, "answers": answers})]);
}

#[test]
fn a_form_that_a_person_declines_is_declined() {
    let list = [json!([choice("Merge?"), {"questions": [{"question": "Keep?"}]}, {"say": "without it"}])];
    let (world, _watcher) = asked("", "", &list);
    let first = question(&world)["question_id"].clone();
    world.ok("ask-answer", &["decline", "acp-1", "--note", "not on a Friday"]);
    until("it asks again", || world.in_mailbox("pending/acp-1.json").exists() && question(&world)["question_id"] != first);
    world.ok("ask-answer", &["decline", "acp-1"]);
    world.closed("acp-1", "delivered", 3);
    assert_eq!(replies(&world), [json!({"action": "decline"}), json!({"outcome": {"outcome": "selected", "optionId": "o2"}})]);
    assert!(told(&world)[1].contains("not on a Friday"), "{:?}", told(&world));
}

#[test]
fn what_a_person_asks_back_about_a_form_is_told() {
    let (world, _watcher) = asked("", "", &[json!([choice("Merge?"), {"say": "cancelled"}]), json!([{"say": "I looked"}])]);
    question(&world);
    world.ok("ask-answer", &["ask-back", "acp-1", "Which branch?"]);
    world.closed("acp-1", "delivered", 2);
    assert_eq!(replies(&world), [json!({"action": "cancel"})]);
    let told = told(&world);
    assert!(told[1].contains("Your user asks back before they decide: Which branch?"), "{}", told[1]);
}

#[test]
fn the_note_of_codex_takes_a_persons_own_words() {
    let options = json!([{"const": "a"}, {"const": "None of the above", "description": "Provide a different answer in the note field."}]);
    let note = json!({"type": "string", "title": "Note", "_meta": {"codex": {"questionId": "q", "role": "user_note"}}});
    let schema = json!({"properties": {"q": {"type": "string", "title": "Which?", "oneOf": options}, "q_note": note}, "required": ["q"]});
    let (world, _watcher) = asked("", "", &[json!([{"form": "Codex needs input.", "schema": schema}, {"say": "thanks"}])]);
    let asked = question(&world);
    assert_eq!(asked["options"], json!({"a": ""}), "{asked}");
    world.ok("ask-answer", &["acp-1", "neither of them"]);
    world.closed("acp-1", "delivered", 2);
    let content = json!({"q": "None of the above", "q_note": "neither of them"});
    assert_eq!(replies(&world), [json!({"action": "accept", "content": content})]);
}

#[test]
fn a_form_that_cannot_be_shown_is_cancelled_and_told() {
    let secret = json!({"properties": {"key": {"type": "string", "_meta": {"codex": {"isSecret": true}}}}});
    let huge = json!({"properties": {"x": {"type": "string", "title": "x".repeat(300 << 10)}}});
    let many: serde_json::Map<String, Value> = (0..2000).map(|n| (format!("f{n}"), json!({"type": "boolean"}))).collect();
    let forms = [
        json!({"form": "nested?", "schema": {"properties": {"x": {"type": "object"}}}}),
        json!({"form": "secret?", "schema": secret}),
        json!({"form": "huge?", "schema": huge}),
        json!({"form": "many?", "schema": {"properties": many}}),
        json!({"form": "none?"}),
        json!({"form": "address?", "params": {"mode": "url", "url": "https://shop.invalid/", "elicitationId": "e"}}),
        json!({"questions": "none"}),
    ];
    for form in forms {
        let (world, _watcher) = asked("", "", &[json!([form, {"say": "cancelled"}]), json!([{"say": "asked"}])]);
        world.closed("acp-1", "delivered", 1);
        let reply = replies(&world).remove(0);
        assert!(reply["action"] == "cancel" || reply["outcome"]["outcome"] == "cancelled", "{reply}");
        let told = told(&world);
        assert!(told[1].contains("nobody has answered or declined it") && told[1].contains("ask-post"), "{}", told[1]);
        assert_eq!((world.names("pending").len(), world.rounds("closed", "acp-1").len()), (0, 1), "nobody was asked");
    }
}

#[test]
fn too_many_forms_at_once_are_cancelled() {
    let mut many = choice("Merge?");
    many["times"] = 100.into();
    let (world, _watcher) = asked("", "", &[json!([many, {"say": "thanks"}]), json!([{"say": "done"}])]);
    let cancels = || lines(&world, "received").iter().filter(|line| line["result"]["action"] == "cancel").count();
    until("all but 16 are cancelled", || cancels() == 84);
    let mut last = Value::Null;
    for _ in 0..16 {
        until("it asks", || world.in_mailbox("pending/acp-1.json").exists() && question(&world)["question_id"] != last);
        last = question(&world)["question_id"].clone();
        world.ok("ask-answer", &["acp-1", "merge"]);
    }
    world.closed("acp-1", "delivered", 17);
    let given = replies(&world).iter().filter(|reply| reply["action"] == "accept").count();
    assert_eq!((replies(&world).len(), given), (100, 16));
}

#[test]
fn a_form_of_another_session_is_seen_by_nobody() {
    let mut other = choice("Merge?");
    other["params"] = json!({"sessionId": "other"});
    let (world, _watcher) = asked("", "", &[json!([other, {"say": "done"}])]);
    world.closed("acp-1", "delivered", 1);
    assert_eq!(replies(&world), [json!({"action": "cancel"})]);
    assert!(world.names("pending").is_empty());
}

#[test]
fn a_form_beside_an_open_question_is_told_with_its_answer() {
    let list = [json!([{"run": "ask-post -w acp-1 'First?' -o a=A"}, choice("Merge?"), {"say": "asked"}]), json!([{"say": "done"}])];
    let (world, _watcher) = asked("", "allowed_tools = [\"Bash(ask-post:*)\"]", &list);
    world.closed("acp-1", "delivered", 1);
    assert_eq!((question(&world)["question"].as_str(), replies(&world)), (Some("First?"), vec![json!({"action": "cancel"})]));
    world.ok("ask-answer", &["acp-1", "a"]);
    world.closed("acp-1", "delivered", 2);
    let told = told(&world);
    assert!(told[1].contains("wanted to ask your user something as well: \"agent\". Nobody was asked"), "{}", told[1]);
}

mod promises {
    use super::*;

    #[test]
    fn a_form_of_an_acp_agent_is_answered_while_it_waits() {
        let (world, _watcher) = asked("", "", &[json!([choice("Merge or keep?"), {"say": "thanks"}])]);
        let question = question(&world);
        let text = question["question"].as_str().unwrap();
        assert_eq!(text, "The agent `agent` asks, for itself or for an MCP server: Merge or keep?\nBranch");
        assert_eq!((&question["elicited_by"], &question["options"]["merge"]), (&"agent".into(), &"now".into()), "{question}");
        world.ok("ask-answer", &["acp-1", "merge"]);
        world.closed("acp-1", "delivered", 2);
        assert_eq!(replies(&world), [json!({"action": "accept", "content": {"q0": "merge"}})]);
        assert_eq!((told(&world).len(), world.status("acp-1")["result"].as_str()), (1, Some("thanks")));
    }

    #[test]
    fn a_form_that_waits_too_long_parks_and_is_told_later() {
        let list = [json!([choice("Merge or keep?"), {"say": "never"}]), json!([choice("Merge or keep?"), {"say": "merged"}])];
        let (world, _watcher) = asked("[limits]\nhold = \"200ms\"\n", "", &list);
        world.closed("acp-1", "delivered", 1);
        until("the agent is gone", || world.processes("acp.py").is_empty());
        assert!(called(&world).contains(&"session/cancel".to_owned()));
        let waiting = question(&world);
        world.ok("ask-answer", &["acp-1", "merge", "--note", "before noon"]);
        world.closed("acp-1", "delivered", 2);
        let told = told(&world);
        assert!(told[1].contains("User chose: merge") && told[1].contains("before noon"), "{}", told[1]);
        assert!(told[1].contains("your user did not do that") && told[1].contains("If you had asked yourself"), "{}", told[1]);
        // It asked exactly the same again, and was given the answer at once.
        assert_eq!(replies(&world).last(), Some(&json!({"action": "accept", "content": {"q0": "merge"}})));
        assert_eq!((told.len(), world.status("acp-1")["result"].as_str()), (2, Some("merged")));
        let ids = world.rounds("closed", "acp-1").iter().filter(|round| round["elicited_by"] == "agent").count();
        assert_eq!((ids, &waiting["elicited_by"]), (1, &"agent".into()), "the person was asked once");
    }

    #[test]
    fn an_answer_is_given_to_a_form_only_once() {
        let list = [json!([choice("Merge?")]), json!([choice("Merge?"), choice("Merge?"), {"say": "done"}])];
        let (world, _watcher) = asked("[limits]\nhold = \"0s\"\n", "", &list);
        let first = question(&world)["question_id"].clone();
        until("the run has ended", || world.processes("acp.py").is_empty());
        world.ok("ask-answer", &["acp-1", "merge"]);
        until("it asks again", || world.in_mailbox("pending/acp-1.json").exists() && question(&world)["question_id"] != first);
        assert_eq!(replies(&world).iter().filter(|reply| reply["action"] == "accept").count(), 1);
    }
}
