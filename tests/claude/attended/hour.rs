//! A person leaves a session, and answers its dialogs on a phone: a plan, a question and an edit, one after the other. The session goes on.
//!
//! `ASKBOX_WRITE_DOCS=1 tests/run claude attended::hour` draws the pictures of `docs/guide-live.md`.

use serde_json::{Value, json};

use super::{Attended, world};
use crate::support::{browser_script, needs, until};

const PLAN: &str = "\
# Export the orders as CSV

1. Add `export.py`, which writes one line for each order.
2. Quote a field only where it needs quotes.
3. Test an empty list, and a name with a comma.

The old report stays as it is.
";

const BEFORE: &str =
    "import csv\n\n\ndef export(orders, out):\n    for order in orders:\n        out.write(f\"{order.id};{order.name}\\n\")\n";
const OLD: &str = "    for order in orders:\n        out.write(f\"{order.id};{order.name}\\n\")\n";
const NEW: &str = "    writer = csv.writer(out)\n    for order in orders:\n        writer.writerow([order.id, order.name])\n";

const SEPARATOR: &str = "Which separator does the file get?";

fn separators() -> Value {
    let options = json!([
        {"label": "Comma", "description": "What most programs expect"},
        {"label": "Semicolon", "description": "What a German spreadsheet expects"},
    ]);
    json!({"tool": "AskUserQuestion", "input": {"questions": [
        {"question": SEPARATOR, "header": "CSV", "multiSelect": false, "options": options}
    ]}})
}

#[test]
fn a_plan_a_question_and_an_edit_are_answered_on_a_phone() {
    needs!("chromium", "node");
    let mut world = world();
    world.keep_watching();
    let page = world.serve_page();
    let file = world.work().join("export.py");
    std::fs::write(&file, BEFORE).expect("a file");
    let edit = json!({"tool": "Edit", "input": {"file_path": file, "old_string": OLD, "new_string": NEW}});
    let read = json!({"tool": "Read", "input": {"file_path": file}});
    let session = Attended::begin_with_plan(&world, PLAN, &[separators(), read, edit]);
    // Nobody presses a key at the terminal from here on.
    let folder = browser_script::pictures_folder(&world);
    let given = json!({
        "base": page.browser().origin(), "link": world.link_to_page(Some("ann's phone")), "folder": folder,
        "dialogs": [
            {"title": "carry out this plan", "picture": "live-plan", "option": "once", "button": "Allow"},
            {"title": SEPARATOR, "picture": "live-question", "option": "Comma", "button": "Send the answer"},
            {"title": "Edit export.py", "heading": "May the agent call Edit?", "picture": "live-edit", "option": "once", "button": "Allow"},
        ],
    });
    browser_script::run(&world, "live.js", &given);
    for name in ["live-plan", "live-question", "live-edit", "live-delivered"] {
        for colours in ["light", "dark"] {
            browser_script::check_picture(&folder, &format!("{name}-{colours}"));
        }
    }
    session.terminal.see("at the end");
    // The mailbox: each round is delivered, with the answer of the phone.
    let mut rounds = until("three rounds are closed", || {
        let rounds: Vec<Value> = world.names("closed").iter().map(|name| world.document(&format!("closed/{name}"))).collect();
        Some(rounds).filter(|rounds| rounds.len() == 3)
    });
    rounds.sort_by_key(|round| round["live"]["since"].as_str().expect("a time").to_owned());
    for round in &rounds {
        let (state, answer) = (&round["closed"]["state"], &round["answer"]);
        assert_eq!((state, &answer["by"], &answer["channel"]), (&json!("delivered"), &json!("ann's phone"), &json!("web")), "{round}");
    }
    // The transcript: the receipt of each decision, in this order.
    let receipts: Vec<Value> = session.receipts().iter().map(|receipt| receipt["toolUseID"].clone()).collect();
    assert_eq!(receipts.len(), rounds.len());
    for (receipt, round) in receipts.iter().zip(&rounds) {
        let id = &round["tool_call"]["id"];
        // A busy session may tell the id of its call only after the question was posted.
        assert!(id == receipt || id.as_str().is_some_and(|id| id.starts_with("not-told-")), "{receipt} {round}");
    }
    // What the model was told, and what it did.
    let told: Vec<String> = world.api.turns().into_iter().filter_map(|turn| turn.tool_results().pop()).collect();
    let is_told = |words: &str| told.iter().filter(|result| result.contains(words)).count();
    for words in ["User has approved your plan", &format!("\"{SEPARATOR}\"=\"Comma\""), "export.py has been updated"] {
        assert_eq!(is_told(words), 1, "{words}: {told:#?}");
    }
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), BEFORE.replace(OLD, NEW));
    // The person is back at the terminal.
    world.api.on("And now?", json!([{"text": "all is exported"}]));
    session.terminal.press(&["And now?", "Enter"]);
    session.terminal.see("all is exported");
    assert_eq!(session.receipts().len(), 3);
}
