//! The pictures of docs/guide-web.md: `ASKBOX_WRITE_DOCS=1 tests/run web pictures::` draws them.

use serde_json::json;

use crate::browsers;
use crate::support::{World, needs, working_day::working_day};

#[test]
fn the_pictures_of_the_guide_can_be_drawn() {
    needs!("chromium", "node");
    let world = World::new();
    world.make_mailbox();
    working_day(&world);
    let _watcher = world.watch();
    let page = world.serve_page();
    let place = format!("/q/release-2.4/{}", world.round("release-2.4"));
    let folder = match std::env::var_os("ASKBOX_WRITE_DOCS") {
        Some(_) => std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs"),
        None => world.path("pictures"),
    };
    std::fs::create_dir_all(&folder).unwrap();
    let pictures = [
        ("web-inbox-light", "phone", 740, "light", "/", None),
        ("web-inbox-dark", "phone", 740, "dark", "/", None),
        ("web-question-light", "phone", 1100, "light", &place, Some("split")),
        ("web-question-dark", "phone", 1100, "dark", &place, Some("split")),
    ];
    let links: Vec<_> = pictures.iter().map(|_| world.link_to_page(Some("ann's phone"))).collect();
    let given = json!({"base": page.browser().origin(), "links": links, "pictures": pictures, "folder": folder});
    browsers::run(&world, "screenshots.js", &given);
    for (name, ..) in pictures {
        let length = folder.join(format!("{name}.png")).metadata().unwrap().len();
        assert!((4_000..100_000).contains(&length), "{name}: {length} bytes");
    }
}
