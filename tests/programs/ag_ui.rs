//! Questions in the words of AG-UI, and answers from its resume entries.

use serde_json::{Value, json};

use crate::support::{World, approval_question};

/// The interrupts of the open questions.
#[track_caller]
fn interrupts(world: &World) -> Vec<Value> {
    world.sh("ask-answer list --format ag-ui").lines().map(|line| serde_json::from_str(line).expect("an interrupt")).collect()
}

/// The interrupt of this workflow.
#[track_caller]
fn interrupt(world: &World, workflow: &str) -> Value {
    let all = interrupts(world);
    all.into_iter().find(|one| one["metadata"]["askbox"]["workflow_id"] == workflow).unwrap_or_else(|| panic!("{workflow} is not listed"))
}

fn entry(interrupt: &Value, payload: &Value) -> Value {
    json!({"interruptId": interrupt["id"], "status": "resolved", "payload": payload})
}

/// Brings resume entries, and returns the exit status and what was said.
fn resume(world: &World, entries: &Value) -> (i32, String) {
    std::fs::write(world.path("resume.json"), entries.to_string()).unwrap();
    let ran = world.shell("ask-answer --file resume.json");
    (ran.code(), ran.words())
}

fn answer_of(world: &World, workflow: &str) -> Value {
    world.document(&format!("answered/{workflow}.json"))["answer"].clone()
}

fn ask_about_push(world: &World) {
    world.make_mailbox();
    let mut call = approval_question("ship", "May the agent call Bash?\n    command: git push\nIn the folder /work");
    call["approval"]["editable"] = json!({"field": "command", "text": "git push"});
    call["tool_call"] = json!({"name": "Bash", "id": "toolu_7"});
    std::fs::write(world.in_mailbox("pending/ship.json"), call.to_string()).unwrap();
}

#[test]
fn a_resume_answers_each_question_as_it_was_listed() {
    let world = World::new();
    ask_about_push(&world);
    world.sh("ask-post -w go 'Go on?' -t yes_no; ask-post -w why 'Why?'; ask-post -w no 'Sure?' -t yes_no");
    world.sh(r#"ask-post -w two --file - <<'E'
{"question": "", "questions": [{"id": "db", "question": "Which?", "options": {"pg": "P", "lite": "S"}}, {"id": "n", "question": "How many?", "type": "number"}]}
E"#);
    let of = |workflow: &str, payload: Value| entry(&interrupt(&world, workflow), &payload);
    let cancelled = json!({"interruptId": interrupt(&world, "no")["id"], "status": "cancelled"});
    let entries = [of("go", json!(true)), of("why", json!("because")), of("two", json!({"db": "pg", "n": 3})), cancelled];
    let (status, said) = resume(&world, &json!({"threadId": "t", "runId": "r", "resume": entries}));
    assert_eq!(status, 0, "{said}");
    assert_eq!([answer_of(&world, "go")["value"].clone(), answer_of(&world, "why")["value"].clone()], ["yes", "because"]);
    assert_eq!(answer_of(&world, "two")["value"], json!({"db": "pg", "n": "3"}));
    assert_eq!(answer_of(&world, "no")["outcome"], "declined");
    // The call is changed and allowed, as a person does it.
    let edited = json!({"approved": true, "editedArgs": {"command": "git push --dry-run"}});
    let ship = of("ship", edited);
    let (status, said) = resume(&world, &ship);
    let allows = "ship: answered: edited, which allows this in place of \"Bash: git push\": git push --dry-run";
    assert!(status == 0 && said.contains(allows), "{status}: {said}");
    assert_eq!(answer_of(&world, "ship")["edited"], "git push --dry-run");
    // The same entry once more changes nothing.
    let (status, said) = resume(&world, &ship);
    assert!(status == 4 && said.contains("ship"), "{status}: {said}");
}

#[test]
fn a_resume_that_does_not_fit_answers_nothing_of_it() {
    let world = World::new();
    ask_about_push(&world);
    world.sh("ask-post -w go 'Go on?' -t yes_no; ask-post -w why 'Why?'");
    let ship = interrupt(&world, "ship");
    for payload in [
        json!(true),
        json!({"approved": "yes"}),
        json!({"approved": true, "always": true}),
        json!({"approved": true, "editedArgs": {"command": "ls", "timeout": 5}}),
        json!({"approved": true, "editedArgs": {}}),
        json!({"approved": false, "editedArgs": {"command": "ls"}}),
        Value::Null,
    ] {
        let (status, said) = resume(&world, &json!([entry(&ship, &payload)]));
        assert!(status == 5 && said.contains("payload: "), "{payload}: {status}: {said}");
    }
    for (id, status) in [("ship", 5), ("ship/019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e44", 5), ("../x/1:0123456789abcdef0123456789abcdef", 5)] {
        assert_eq!(resume(&world, &json!([{"interruptId": id, "status": "resolved", "payload": true}])).0, status, "{id}");
    }
    for wrong in [json!([]), json!({}), json!("x"), json!({"resume": 1}), json!([{"interruptId": ship["id"], "status": "maybe"}])] {
        assert_eq!(resume(&world, &wrong).0, 5, "{wrong}");
    }
    // The other entries count all the same, and the question that was changed since is not answered.
    let why = interrupt(&world, "why");
    let mut changed = world.document("pending/ship.json");
    changed["question"] = json!("May the agent call Bash?\n    command: git push\nIn the folder /etc");
    std::fs::write(world.in_mailbox("pending/ship.json"), changed.to_string()).unwrap();
    let entries = [entry(&ship, &json!({"approved": true})), entry(&why, &json!("because"))];
    let (status, said) = resume(&world, &json!(entries));
    assert!(status == 4 && said.contains("was changed after it was shown to you"), "{status}: {said}");
    assert_eq!(world.names("answered"), ["why.json"]);
    world.refused(2, "ask-answer --file resume.json --note x");
    world.refused(2, "ask-answer list --format ag-ui --json");
}

#[test]
fn a_status_has_the_state_in_the_words_of_a2a_too() {
    let world = World::new();
    world.sh("ask-post -w go 'Go on?' -t yes_no");
    let state = || {
        let status: Value = serde_json::from_str(&world.sh("relaunch status go --json")).unwrap();
        (status["state"].as_str().unwrap().to_owned(), status["a2a_state"].as_str().unwrap().to_owned())
    };
    let is = |ours: &str, theirs: &str| (ours.to_owned(), theirs.to_owned());
    assert_eq!(state(), is("pending", "TASK_STATE_INPUT_REQUIRED"));
    world.sh("ask-answer go yes");
    assert_eq!(state(), is("answered", "TASK_STATE_SUBMITTED"));
    world.sh("relaunch prompt go");
    assert_eq!(state(), is("delivered", "TASK_STATE_COMPLETED"));
}

mod promises {
    use super::*;

    #[test]
    fn each_kind_of_question_is_an_interrupt_with_a_schema() {
        let world = World::new();
        ask_about_push(&world);
        world.sh(
        "ask-post -w go 'Go on?' -t yes_no; ask-post -w why 'Why?' --context because; ask-post -w n 'How many?' -t number --min 1 --max 9",
    );
        world.sh("ask-post -w db 'Which?' -o pg=Postgres -o lite=SQLite --no-free-text --timeout 2h --default pg");
        world.sh("ask-post -w wait 'Built?' --until-file /tmp/there");
        let reason = |workflow| interrupt(&world, workflow)["reason"].clone();
        assert_eq!([reason("ship"), reason("go"), reason("why")], ["tool_call", "confirmation", "input_required"]);
        let ship = interrupt(&world, "ship");
        assert_eq!(
            (&ship["toolCallId"], ship["message"].as_str().unwrap().lines().nth(1)),
            (&json!("toolu_7"), Some("    command: git push"))
        );
        assert_eq!(ship["responseSchema"]["properties"]["editedArgs"]["properties"], json!({"command": {"type": "string"}}));
        assert_eq!(interrupt(&world, "go")["responseSchema"], json!({"type": "boolean"}));
        assert_eq!(interrupt(&world, "n")["responseSchema"], json!({"type": "number", "minimum": 1.0, "maximum": 9.0}));
        let db = interrupt(&world, "db");
        assert_eq!(db["responseSchema"]["oneOf"][1], json!({"const": "lite", "title": "SQLite"}));
        assert!(db["expiresAt"].is_string() && interrupt(&world, "why")["expiresAt"].is_null(), "{db}");
        assert_eq!(interrupt(&world, "why")["metadata"]["askbox"]["context"], "because");
        assert_eq!(interrupts(&world).len(), 5, "nobody is asked about a wait for a file");
    }
}
