//! A page that has lost its server says so, keeps what was filled in, and goes on by itself.

use serde_json::json;

use crate::support::{World, needs};
use crate::web::browsers;

#[test]
fn a_page_without_its_server_says_so_and_goes_on_by_itself() {
    needs!("chromium", "node");
    let world = World::new();
    world.ok("ask-post", &["-w", "docs", "Merge the two sections?", "-o", "merge=One section", "-o", "keep=Keep both"]);
    let page = world.serve_page();
    let place = format!("/q/docs/{}", world.round("docs"));
    let given = json!({"base": page.browser().origin(), "link": world.link_to_page(None), "place": place});
    browsers::run_while_the_server_is_replaced(&world, &page, "lost.js", given);
    assert_eq!(world.document("answered/docs.json")["answer"]["value"], "merge");
    assert_eq!(world.audit("docs"), ["posted", "answered"]);
}
