//! A question of AskUserQuestion may hold headers, descriptions and previews, and in the extended form text and numbers.

use serde_json::{Value, json};

use crate::claude::native::asking::{ask, question, run_that_asks, told, wait_until_it_asks, which_database};
use crate::support::ClaudeWorld;
use crate::support::claude::bash;

#[test]
fn a_preview_is_shown_and_the_chosen_one_comes_back() {
    let preview = "+-----+\n| top |\n+-----+";
    let options =
        json!([{"label": "Top", "description": "above", "preview": preview}, {"label": "Side", "description": "beside", "preview": "|"}]);
    let asked = json!([{"question": "Which layout?", "header": "Layout", "multiSelect": false, "options": options}]);
    let world = run_that_asks(&json!([ask(&asked), {"text": "done"}]));
    let shown = world.ok("ask-answer", &["show", "w"]);
    assert!(shown.contains("| | top |") && shown.contains("above"), "{shown}");
    world.ok("ask-answer", &["w", "Top", "--note", "with a border"]);
    assert_eq!(world.wait_state("w", "delivered")["result"], "done");
    let told = told(&world).concat();
    for words in ["\"Which layout?\"=\"Top\"", preview, "with a border"] {
        assert!(told.contains(words), "{words} is missing: {told}");
    }
}

#[test]
fn headers_and_descriptions_of_a_batch_are_shown() {
    let part = |text: &str, header: &str| {
        let mut part = question(text, false, &["Yes", "No"]);
        part["header"] = header.into();
        part
    };
    let asked = json!([part("Publish now?", "Publish"), part("Delete the branch?", "Branch")]);
    let world = run_that_asks(&json!([ask(&asked), {"text": "done"}]));
    let document = world.document("pending/w.json");
    assert_eq!((&document["questions"][0]["header"], &document["questions"][1]["header"]), (&json!("Publish"), &json!("Branch")));
    let shown = world.ok("ask-answer", &["show", "w"]);
    assert!(shown.contains("Yes it is") && shown.contains("Delete the branch?"), "{shown}");
    assert!(world.ok("ask-answer", &["list"]).contains("Publish · Branch"), "{}", world.ok("ask-answer", &["list"]));
    world.ok("ask-answer", &["w", "q1=No", "q2=Yes"]);
    world.wait_state("w", "delivered");
    let told = told(&world).concat();
    assert!(told.contains("\"Publish now?\"=\"No\"") && told.contains("\"Delete the branch?\"=\"Yes\""), "{told}");
}

/// A run whose agent has the extended form of the tool, because the operator switched it on.
#[track_caller]
fn extended(input: &Value) -> ClaudeWorld {
    let mut world = ClaudeWorld::new();
    world.configure("[runner.claude]\nenv = { CLAUDE_CODE_QUESTION_EXTENDED = '1' }\n");
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: begin", json!([{"tool": "AskUserQuestion", "input": input}, {"text": "done"}]));
    world.answer("w", "begin");
    wait_until_it_asks(&world);
    world
}

#[test]
fn a_number_and_a_text_are_questions_of_these_types() {
    let number = json!({"question": "How many workers?", "header": "Workers", "kind": "number", "min": 1, "max": 16, "step": 1,
        "defaultValue": 4, "unit": "processes", "options": [], "multiSelect": false});
    let text = json!({"question": "Which name?", "header": "Name", "kind": "text", "placeholder": "walnut", "description": "It becomes a folder.",
        "options": [], "multiSelect": false});
    let choice = json!({"question": "Which licence?", "header": "Licence", "options": [{"label": "MIT"}, {"label": "Apache"}], "multiSelect": false});
    let world = extended(&json!({"title": "Before I begin", "questions": [number, text, choice]}));
    let document = world.document("pending/w.json");
    assert_eq!(document["question"], "Before I begin");
    let types: Vec<_> = document["questions"].as_array().expect("a batch").iter().map(|q| q["type"].clone()).collect();
    assert_eq!(types, [json!("number"), json!("text"), json!(null)]);
    let shown = world.ok("ask-answer", &["show", "w"]);
    for words in ["Answer: a whole number from 1 to 16, in processes", "(4 is suggested)", "It becomes a folder.", "(for example: walnut)"]
    {
        assert!(shown.contains(words), "{words} is missing: {shown}");
    }
    let refused = world.run("ask-answer", &["w", "q1=many", "q2=walnut", "q3=MIT"]);
    assert!(refused.code() == 5 && refused.stderr.contains("`many` is not a number"), "{refused:?}");
    let refused = world.run("ask-answer", &["w", "q1=17", "q2=walnut", "q3=MIT"]);
    assert!(refused.code() == 5 && refused.stderr.contains("`17` is not a whole number from 1 to 16"), "{refused:?}");
    world.ok("ask-answer", &["w", "q1=8", "q2=hazel", "q3=MIT"]);
    assert_eq!(world.wait_state("w", "delivered")["result"], "done");
    let told = told(&world).concat();
    for words in ["\"How many workers?\"=\"8\"", "\"Which name?\"=\"hazel\"", "\"Which licence?\"=\"MIT\""] {
        assert!(told.contains(words), "{words} is missing: {told}");
    }
}

#[test]
fn a_single_number_is_answered_with_a_number() {
    let number =
        json!({"question": "How many?", "header": "Many", "kind": "number", "min": 0, "max": 1, "options": [], "multiSelect": false});
    let world = extended(&json!({"questions": [number]}));
    assert_eq!(world.document("pending/w.json")["type"], "number");
    for outside in ["some", "2", "-0.1"] {
        assert_eq!(world.run("ask-answer", &["w", outside]).code(), 5, "{outside}");
    }
    world.answer("w", "0.5");
    world.wait_state("w", "delivered");
    assert!(told(&world).concat().contains("\"How many?\"=\"0.5\""));
}

#[test]
fn a_question_after_a_command_in_the_background_is_not_lost() {
    // The first is refused, because runs have no background tasks; the second leaves a process of its own behind.
    let behind = json!({"tool": "Bash", "input": {"command": "echo worked; tail -f /dev/null", "run_in_background": true}});
    let detached = bash("(tail -f /dev/null >/dev/null 2>&1 &) ; echo worked");
    for begins in [behind, detached] {
        let mut world = ClaudeWorld::new();
        world.configure("[runner.claude]\nallowed_tools = ['Bash']\nenv = { BASH_DEFAULT_TIMEOUT_MS = '1000' }\n");
        world.keep_watching_from_the_start();
        world.ask("w", &["Begin?"]);
        world.api.on("User chose: begin", json!([begins, ask(&which_database()), {"text": "done"}]));
        world.answer("w", "begin");
        wait_until_it_asks(&world);
        let requests = world.api.turns().len();
        world.answer("w", "SQLite");
        assert_eq!(world.wait_state("w", "delivered")["result"], "done");
        let told = told(&world).concat();
        assert!(told.contains("\"Which database?\"=\"SQLite\"") && !told.contains("internal error"), "{told}");
        assert_eq!(world.api.turns().len(), requests + 1);
    }
}
