//! A question that is answered in a browser.

use serde_json::json;

use crate::support::claude::bash;
use crate::support::{ClaudeWorld, LIMIT, until};

#[test]
fn a_tap_on_the_page_reaches_the_model_and_shows_its_result() {
    let mut world = ClaudeWorld::new();
    let ask = "ask-post 'The sections overlap. How should we proceed?' -w docs-1 -o merge='Merge into one' -o keep='Keep both'";
    world.user_session(&json!([bash("checkpoint save docs-1 --next-action 'apply the choice'"), bash(ask), {"text": "I have asked."}]));
    world.api.on("User chose: merge", json!([{"text": "Merged them."}]));
    world.keep_watching();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let path = format!("/q/docs-1/{}", world.round("docs-1"));
    let receipt = browser.answer(&world, "docs-1", &[("a0", "0"), ("note", "by the end of the day")]);
    assert!(receipt.text().contains("answered by ann's phone through web"), "{}", receipt.text());
    let request = world.api.wait_for_text("User chose: merge", 1, LIMIT);
    assert!(request.model_text().contains("by the end of the day"), "{}", request.model_text());
    world.wait_state("docs-1", "delivered");
    let shown = until("the page shows the result", || Some(browser.see(&path).text()).filter(|text| text.contains("Merged them.")));
    assert!(shown.contains("delivered"), "{shown}");
    assert_eq!(world.launches().len(), 1);
}
