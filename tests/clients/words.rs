//! What a model is told of an answer: one table, and the same words from the programs and from both clients.

use askbox_mailbox::{Answer, AnswerValue, Question};
use askbox_run::words::{self, AskAgain};
use serde_json::{Value, json};

use crate::clients::client::{Client, project};
use crate::support::{World, needs};

fn table() -> (String, Value) {
    let file = project().join("tests/clients/words.json");
    let table = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    (file.display().to_string(), table)
}

/// The answer of a case, as an approval or a question of the programs has it.
fn answer(case: &Value) -> Answer {
    let note = case["note"].as_str().map(str::to_owned);
    let edited = case["says"]["ran"].as_str().map(str::to_owned);
    match case["value"].as_str() {
        None | Some("deny") => Answer::declined(note, "ann", "inbox"),
        Some(value) => Answer { note, edited, ..Answer::value(AnswerValue::Text(value.into()), "ann", "inbox") },
    }
}

#[test]
fn the_programs_say_the_words_of_the_table() {
    let (_, table) = table();
    for case in table["calls"].as_array().unwrap().iter().filter(|case| case["says"]["unclear"].is_null()) {
        let (says, answer) = (&case["says"], answer(case));
        let expected = |name: &str| says[name].as_str().map(str::to_owned);
        if let Some(refusal) = expected("refusal") {
            let asked = answer.note.as_deref().filter(|_| case["asks_back"] == true);
            let words = asked.map_or_else(|| words::refused(&answer), |asked| words::asks_back(asked, AskAgain::ByTheCall));
            assert_eq!(words, refusal, "{case}");
            continue;
        }
        assert_eq!(words::beside_allowance(case["name"].as_str().unwrap(), false, &answer), expected("beside"), "{case}");
        let instead = answer.edited.as_deref().map(|ran| words::make_this_instead(ran) + &words::user_added(&answer));
        assert_eq!(instead, expected("instead"), "{case}");
    }
    for case in table["questions"].as_array().unwrap() {
        let answer = answer(case);
        let words = match (&answer.value, &answer.note) {
            (Some(_), _) => words::user_added(&answer).trim_start().to_owned(),
            (None, Some(asked)) if case["asks_back"] == true => words::asks_back(asked, AskAgain::WithItsTool),
            (None, _) => words::declined(&answer),
        };
        let says = &case["says"];
        assert_eq!(words, says["no_answer"].as_str().or(says["beside"].as_str()).unwrap_or_default(), "{case}");
    }
    for (title, expected) in table["waits_behind"].as_object().unwrap() {
        let earlier: Question = serde_json::from_value(json!({"workflow_id": "w", "question": title})).unwrap();
        assert_eq!(&words::waits_behind(Some(&earlier), words::CALL_LATER), expected, "{title}");
    }
}

#[test]
fn both_clients_say_the_words_of_the_table() {
    needs!("node");
    let (file, table) = table();
    let world = World::new();
    let count = table["calls"].as_array().unwrap().len().to_string();
    assert_eq!(Client::Python.ok(&world, "words", &[&file]).trim(), count);
    let source = Client::Node.sources().join("lib/words.js").display().to_string();
    assert_eq!(Client::Node.ok(&world, "words", &[&file, &source]).trim(), count);
}
