//! Requests for a permission: rules allow, a person decides, and otherwise nobody does.

use super::*;

const ASKS: &str = "echo ran >> $AGENT_DIR/effects";

fn effects(world: &World) -> usize {
    lines(world, "effects").len()
}

fn option(choice: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": choice}})
}

#[test]
fn several_options_of_one_kind_are_cancelled() {
    // kimi asks its user so.
    let options =
        r#"[{"optionId":"q0_opt_0","name":"merge","kind":"allow_once"},{"optionId":"q0_opt_1","name":"keep","kind":"allow_once"}]"#;
    let world = world(&format!("allowed_tools = [\"Bash\"]\nenv = {{ ACP_OPTIONS = '{options}' }}"), "");
    turns(&world, &[json!([{"run": ASKS, "ask": true}, {"say": "?"}]), json!([{"say": "done"}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    world.closed("acp-1", "delivered", 1);
    assert_eq!((lines(&world, "permissions"), effects(&world)), (vec![json!({"outcome": {"outcome": "cancelled"}})], 0));
    assert!(told(&world)[1].contains("no way to allow it once"));
}

#[test]
fn a_person_allows_a_held_call_of_an_acp_agent() {
    let world = world("", "");
    turns(&world, &[json!([{"run": ASKS, "ask": true}, {"say": "done"}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    until("it asks", || world.in_mailbox("pending/acp-1.json").exists());
    let question = world.document("pending/acp-1.json");
    assert!(question["question"].as_str().unwrap().contains(ASKS), "{question}");
    world.ok("ask-answer", &["acp-1", "once", "--round", &world.seen("acp-1")]);
    world.closed("acp-1", "delivered", 2);
    assert_eq!((lines(&world, "permissions"), effects(&world), told(&world).len()), (vec![option("o1")], 1, 1));
}

#[test]
fn a_call_that_waits_too_long_parks_and_runs_once_later() {
    let world = world("", "[limits]\nhold = \"200ms\"\n");
    turns(&world, &[json!([{"run": ASKS, "ask": true}]), json!([{"run": ASKS, "ask": true}, {"say": "done"}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    // The run has ended for its question, and no process is left.
    world.closed("acp-1", "delivered", 1);
    until("the agent is gone", || world.processes("acp.py").is_empty());
    assert_eq!((effects(&world), told(&world).len()), (0, 1));
    assert!(called(&world).contains(&"session/cancel".to_owned()));
    world.ok("ask-answer", &["acp-1", "once", "--round", &world.seen("acp-1")]);
    world.closed("acp-1", "delivered", 2);
    let told = told(&world);
    assert_eq!((told.len(), effects(&world)), (2, 1));
    assert!(told[1].contains("Make it again now") && told[1].contains("that was not your user's decision"), "{}", told[1]);
    assert!(told[1].contains(&format!("> {ASKS}")) || told[1].contains(ASKS), "{}", told[1]);
    assert_eq!(lines(&world, "permissions").last(), Some(&option("o1")));
    assert!(called(&world).contains(&"session/resume".to_owned()));
    assert_eq!(world.status("acp-1")["result"], "done");
}

#[test]
fn a_refusal_of_a_person_is_told_and_is_not_a_result() {
    let world = world("", "");
    turns(&world, &[json!([{"run": ASKS, "ask": true, "ends_turn": true}, {"say": "never"}]), json!([]), json!([{"say": "without it"}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    until("it asks", || world.in_mailbox("pending/acp-1.json").exists());
    world.ok("ask-answer", &["decline", "acp-1", "--note", "not on a Friday"]);
    world.closed("acp-1", "delivered", 2);
    let told = told(&world);
    assert_eq!((effects(&world), told.len(), world.status("acp-1")["result"].as_str()), (0, 3, Some("without it")));
    assert!(told[1].contains("not on a Friday"), "{}", told[1]);
    assert!(told[2].contains("nothing shows that your work is done"), "{}", told[2]);
}

#[test]
fn a_changed_call_of_an_acp_agent_is_proposed_to_it() {
    let world = world("", "");
    let other = format!("{ASKS} # changed");
    turns(
        &world,
        &[
            json!([{"run": ASKS, "ask": true}, {"say": "tried"}]),
            json!([{"run": other, "ask": true}, {"run": other, "ask": true}, {"say": "done"}]),
        ],
    );
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    until("it asks", || world.in_mailbox("pending/acp-1.json").exists());
    let asked = world.document("pending/acp-1.json")["question_id"].clone();
    fs::write(world.path("edited"), &other).unwrap();
    let edited = world.path("edited").display().to_string();
    world.ok("ask-answer", &["edit", "acp-1", "--input", &edited, "--round", &world.seen("acp-1"), "--note", "and no more"]);
    // The agent makes the changed call itself, and may make it once.
    until("it asks anew", || {
        world.in_mailbox("pending/acp-1.json").exists() && world.document("pending/acp-1.json")["question_id"] != asked
    });
    let decided = |world: &World| world.audited().iter().filter(|line| line["event"] == "allowed").count();
    assert_eq!((effects(&world), decided(&world)), (1, 1), "the changed call ran, and the second one of its kind waits");
    let told = told(&world);
    let words = told.last().expect("the proposal");
    assert!(words.contains("Your call was not made") && words.contains("# changed"), "{words}");
    assert!(words.ends_with("The user added: and no more"), "{words}");
    assert!(!words.contains("The result is that of the changed call"), "{words}");
    world.ok("ask-answer", &["acp-1", "once", "--round", &world.seen("acp-1")]);
    world.closed("acp-1", "delivered", 3);
    assert_eq!((effects(&world), decided(&world)), (2, 2));
}

mod promises {
    use super::*;

    #[test]
    fn a_rule_allows_a_call_once_and_never_always() {
        let world = world("allowed_tools = [\"Bash(true:*)\"]", "");
        turns(&world, &[json!([{"run": "true x", "ask": true}, {"quiet_call": "true y", "ask": true}, {"say": "done"}])]);
        let _watcher = world.watch();
        world.ask_and_answer("acp-1");
        world.closed("acp-1", "delivered", 1);
        assert_eq!(lines(&world, "permissions"), [option("o1"), option("o1")]);
        assert_eq!(told(&world).len(), 1);
    }

    #[test]
    fn a_call_that_nobody_permits_is_refused_and_told() {
        let world = world("", "[approvals]\nask_stopped = false\n");
        turns(&world, &[json!([{"run": ASKS, "ask": true}, {"say": "refused"}]), json!([{"say": "went on without"}])]);
        let _watcher = world.watch();
        world.ask_and_answer("acp-1");
        world.closed("acp-1", "delivered", 1);
        assert_eq!((lines(&world, "permissions"), effects(&world)), (vec![option("o2")], 0));
        let told = told(&world);
        assert!(told[1].contains("Not permitted in this unattended run."), "{}", told[1]);
        assert_eq!(world.status("acp-1")["result"], "went on without");
    }
}
