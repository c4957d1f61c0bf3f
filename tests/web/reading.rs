//! A long question on a phone: its table, its list, the way to its answer, and answering by keys.

use serde_json::json;

use crate::support::{World, needs};
use crate::web::browsers;

#[test]
fn a_long_question_is_read_and_answered_by_keys() {
    needs!("chromium", "node");
    let world = World::new();
    let story: String = (0..40).map(|n| format!("This is line {n} of a long story about the sections.\n\n")).collect();
    let cells = "| a_word_that_stays_whole ".repeat(12);
    let context = format!("{story}- \u{5d0}\u{5d1}\u{5d2} \u{5d3}\n- \u{5d4}\u{5d5}\n\n{cells}|\n{}|\n{cells}|\n", "|---".repeat(12));
    for workflow in ["long", "back"] {
        world.ok("ask-post", &["-w", workflow, "Merge the two sections?", "-o", "merge=One section", "--context", &context]);
    }
    let at = |workflow: &str| format!("/q/{workflow}/{}", world.round(workflow));
    let page = world.serve_page();
    let given = json!({"base": page.browser().origin(), "link": world.link_to_page(None), "long": at("long"), "back": at("back")});
    browsers::run(&world, "reading.js", &given);
    assert_eq!(world.document("answered/long.json")["answer"]["value"], "not yet");
    assert_eq!(world.document("answered/back.json")["answer"]["asks_back"], true);
}
