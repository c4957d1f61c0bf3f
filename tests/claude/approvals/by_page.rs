//! A call is allowed and refused by the page.

use serde_json::{Value, json};

use super::{made, run_that_asks, told};
use crate::support::claude::bash;
use crate::support::{Browser, ClaudeWorld};

/// A command must be shown whole where somebody decides about it: no character may be missing, and none may look like another one.
const LONG: &str = "note 'one  two' '<three>' \"& four\"";

/// Where the question about the call is.
fn place(world: &ClaudeWorld) -> String {
    format!("/q/w/{}", world.round("w"))
}

/// Presses a button, with what is filled in.
#[track_caller]
fn press(world: &ClaudeWorld, browser: &Browser, fields: &[(&str, &str)]) {
    let reply = browser.fill(&place(world), fields);
    assert_eq!(reply.status, 303, "{}", reply.text());
}

/// The place of an option among those that the question offers.
#[track_caller]
fn option(asked: &Value, key: &str) -> String {
    let options = asked["options"].as_object().expect("options");
    options.keys().position(|known| known == key).expect("the option").to_string()
}

#[test]
fn a_call_is_shown_whole_on_the_page_and_allowed_once_there() {
    let world = run_that_asks(&json!([bash(LONG), {"text": "it is noted"}]));
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let asked = world.document("pending/w.json");
    assert!(browser.see("/").text().contains("approval"));
    let shown = browser.see(&place(&world));
    // Exactly what the model sent, to the last character.
    let call = shown.body.split("aria-label=\"The call\">").nth(1).and_then(|rest| rest.split("</pre>").next()).expect("the call");
    let call = call.replace("&#34;", "\"").replace("&#39;", "'").replace("&#38;", "&").replace("&#60;", "<").replace("&#62;", ">");
    assert!(call.contains(&format!("command: {LONG}\n")), "{call}");
    assert!(call.contains(&world.work().display().to_string()), "{call}");
    // Allowing needs a choice, and words of one's own allow nothing.
    for fields in [&[("act", "send")][..], &[("a0", "words"), ("w0", "go ahead"), ("act", "send")]] {
        assert_eq!(browser.fill(&place(&world), fields).status, 422, "{fields:?}");
    }
    assert!(made(&world).is_empty());
    press(&world, &browser, &[("a0", &option(&asked, "once")), ("act", "send")]);
    assert_eq!(world.wait_state("w", "delivered")["result"], "it is noted");
    assert_eq!(made(&world), ["one  two <three> & four"]);
    assert_eq!(world.audit("w").iter().filter(|event| *event == "allowed").count(), 1);
}

#[test]
fn a_call_is_allowed_to_its_workflow_by_the_page() {
    let world = run_that_asks(&json!([bash("note one"), bash("note one"), {"text": "begin is done"}]));
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let asked = world.document("pending/w.json");
    press(&world, &browser, &[("a0", &option(&asked, "workflow")), ("act", "send")]);
    assert_eq!(world.wait_state("w", "delivered")["result"], "begin is done");
    assert_eq!(made(&world), ["one", "one"], "the second time nobody is asked");
    let list = world.ok("relaunch", &["approve", "--list"]);
    assert!(list.starts_with("w  ") && list.contains("command: note one"), "{list}");
}

#[test]
fn a_call_is_denied_by_the_page_and_the_model_reads_why() {
    let world = run_that_asks(&json!([bash("note one"), {"text": "left it"}]));
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    press(&world, &browser, &[("act", "decline"), ("why", "not on a Friday")]);
    assert_eq!(world.wait_state("w", "delivered")["result"], "left it");
    let told = told(&world);
    assert!(told.contains("The user refused this call. They say: not on a Friday"), "{told}");
    assert!(made(&world).is_empty());
}
