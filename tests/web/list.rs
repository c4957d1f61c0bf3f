//! The list of waiting questions: rows that stay where they are, the search, and several questions declined together.

use serde_json::json;

use crate::support::{Browser, Reply, World, needs, program};
use crate::web::browsers;

#[test]
fn rows_stay_under_the_finger_until_the_bar_is_pressed() {
    needs!("chromium", "node");
    let world = World::new();
    for n in 1..=3 {
        world.ok("ask-post", &["-w", &format!("docs-{n}"), &format!("Merge part {n}?")]);
    }
    let page = world.serve_page();
    let given = json!({
        "base": page.browser().origin(), "link": world.link_to_page(None), "post": program("ask-post"), "answer": program("ask-answer"),
        "relaunch": program("relaunch"),
    });
    browsers::run(&world, "rows.js", &given);
}

#[test]
fn rows_of_other_lists_stay_in_their_place_too() {
    needs!("chromium", "node");
    let world = World::new();
    for n in 1..=3 {
        world.ok("ask-post", &["-w", &format!("docs-{n}"), &format!("Merge part {n}?")]);
    }
    world.ok("ask-answer", &["docs-1", "yes"]);
    let page = world.serve_page();
    let given = json!({
        "base": page.browser().origin(), "link": world.link_to_page(None), "post": program("ask-post"), "answer": program("ask-answer"),
    });
    browsers::run(&world, "other_rows.js", &given);
}

/// Three questions, and the page that asks whether to decline them all.
fn chosen(world: &World, browser: &Browser) -> Reply {
    for n in 1..=3 {
        let (id, question) = (format!("docs-{n}"), format!("Merge part {n}?\nIts last line."));
        world.ok("ask-post", &["-w", &id, &question, "-o", "merge=Into one", "--context", "the *context*"]);
    }
    let list = browser.see("/?choose=1");
    let these: Vec<_> = (1..=3).map(|n| format!("docs-{n}/{}", world.round(&format!("docs-{n}")))).collect();
    for these in &these {
        assert!(list.body.contains(&format!("value=\"{these}\"")), "{}", list.body);
    }
    let form = list.hidden("form").expect("a token");
    let fields: Vec<_> = these.iter().map(|these| ("these", these.as_str())).chain([("form", form.as_str())]).collect();
    let asked = browser.post("/decline", &fields);
    assert_eq!((asked.status, world.names("pending").len()), (200, 3), "{}", asked.text());
    asked
}

/// Presses the button of that page.
fn confirm(browser: &Browser, asked: &Reply) -> Reply {
    let these: Vec<_> = asked.body.split("name=\"these\" value=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(these.len(), 3);
    let form = asked.hidden("form").expect("a token");
    let fields: Vec<_> = these.iter().map(|these| ("these", *these)).collect();
    browser.post("/decline", &[&fields[..], &[("form", form.as_str()), ("why", "not now"), ("act", "decline")]].concat())
}

#[test]
fn several_questions_are_shown_whole_and_declined_together() {
    let world = World::new();
    world.make_mailbox();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let asked = chosen(&world, &browser);
    for words in ["Decline these 3 questions?", "Merge part 2?", "Its last line.", "the context", "merge Into one"] {
        assert!(asked.text().contains(words), "no {words} in {}", asked.text());
    }
    // A browser that got no reply sends the same form once more.
    for _ in 0..2 {
        let done = confirm(&browser, &asked);
        assert!(done.status == 200 && done.text().contains("3 of 3 declined"), "{}", done.text());
    }
    for n in 1..=3 {
        let answer = &world.document(&format!("answered/docs-{n}.json"))["answer"];
        assert_eq!((&answer["outcome"], &answer["note"], &answer["by"]), (&json!("declined"), &json!("not now"), &json!("ann's phone")));
        assert_eq!(world.audit(&format!("docs-{n}")), ["posted", "declined"]);
    }
    let none = browser.post("/decline", &[("form", &asked.hidden("form").unwrap())]);
    assert!(none.status == 422 && none.text().contains("o question was chosen"), "{}", none.text());
}

#[test]
fn a_question_that_changed_is_not_declined_with_the_others() {
    let world = World::new();
    world.make_mailbox();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let asked = chosen(&world, &browser);
    world.edit_pending("docs-1", "Merge part 1?", "Delete part 1?");
    world.ok("ask-answer", &["docs-2", "merge"]);
    let done = confirm(&browser, &asked).text();
    assert!(done.contains("1 of 3 declined") && done.contains("not declined: ") && done.contains("changed while you read it"), "{done}");
    assert_eq!(world.names("pending"), ["docs-1.json"]);
    assert_eq!(world.document("answered/docs-2.json")["answer"]["value"], "merge");
}
