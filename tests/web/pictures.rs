//! The pictures of docs/guide-web.md: `ASKBOX_WRITE_DOCS=1 tests/run web pictures::` draws them.

use serde_json::json;

use crate::support::{World, browser_script, needs, working_day};

/// A picture: its name, its height, the colours, the place on the page, and a text to press first.
type Picture<'a> = (&'a str, u32, &'a str, &'a str, Option<&'a str>);

/// Draws pictures of a phone's screen.
fn draw(world: &World, pictures: &[Picture<'_>]) {
    let _watcher = world.watch();
    let page = world.serve_page();
    let folder = browser_script::pictures_folder(world);
    let links: Vec<_> = pictures.iter().map(|_| world.link_to_page(Some("ann's phone"))).collect();
    let wanted: Vec<_> =
        pictures.iter().map(|(name, height, colours, place, press)| json!([name, "phone", height, colours, place, press])).collect();
    let given = json!({"base": page.browser().origin(), "links": links, "pictures": wanted, "folder": folder});
    browser_script::run(world, "screenshots.js", &given);
    for (name, ..) in pictures {
        browser_script::check_picture(&folder, name);
    }
}

#[test]
fn the_pictures_of_the_guide_can_be_drawn() {
    needs!("chromium", "node");
    let world = World::new();
    world.make_mailbox();
    working_day::questions(&world);
    let place = format!("/q/release-2.4/{}", world.round("release-2.4"));
    let pictures = [
        ("web-inbox-light", 740, "light", "/", None),
        ("web-inbox-dark", 740, "dark", "/", None),
        ("web-question-light", 1100, "light", place.as_str(), Some("split")),
        ("web-question-dark", 1100, "dark", &place, Some("split")),
    ];
    draw(&world, &pictures);
}

#[test]
fn the_picture_of_a_diff_can_be_drawn() {
    needs!("chromium", "node");
    let world = World::new();
    world.make_mailbox();
    working_day::question_with_a_diff(&world);
    let place = format!("/q/pay-fix/{}", world.round("pay-fix"));
    draw(&world, &[("web-diff-light", 900, "light", place.as_str(), None), ("web-diff-dark", 900, "dark", &place, None)]);
}
