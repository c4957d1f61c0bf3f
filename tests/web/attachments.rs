//! The files beside a question on its page.

use crate::support::{Browser, Page, World};

const DIFF: &str = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-<old>\n+new\u{202e}\n";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
const HTML: &str = "<html><script>alert(1)</script></html>";

/// A page, and a question with a diff, a page of HTML and an image.
fn asked() -> (World, Page, Browser) {
    let world = World::new();
    world.make_mailbox();
    std::fs::write(world.path("fix.diff"), DIFF).unwrap();
    std::fs::write(world.path("page.html"), HTML).unwrap();
    std::fs::write(world.path("shot.png"), PNG).unwrap();
    world.sh("ask-post Apply? -w fix -t yes_no --attach fix.diff --attach page.html --attach shot.png");
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    (world, page, browser)
}

fn hash(world: &World, n: usize) -> String {
    world.document("pending/fix.json")["attachments"][n]["sha256"].as_str().unwrap().to_owned()
}

#[test]
fn a_diff_is_coloured_and_an_image_is_shown() {
    let (world, _page, browser) = asked();
    let place = format!("/q/fix/{}", world.round("fix"));
    let shown = browser.see(&place);
    for piece in [
        "fix.diff (diff, 43 bytes)",
        "<span class=\"hunk\">@@ -1 +1 @@\n</span>",
        "<span class=\"removed\">-&#60;old&#62;\n</span>",
        "<span class=\"added\">+new\\u{202e}\n</span>",
        "&#60;script&#62;alert(1)",
    ] {
        assert!(shown.body.contains(piece), "no {piece} in {}", shown.body);
    }
    assert!(!shown.body.contains("<script>alert"), "{}", shown.body);
    let address = format!("{place}/file/{}", hash(&world, 2));
    assert!(shown.body.contains(&format!("<img src=\"{address}\"")), "{}", shown.body);
    let image = browser.see(&address);
    assert_eq!(image.header("content-type"), Some("image/png"));
    assert_eq!(image.header("x-content-type-options"), Some("nosniff"));
    assert!(image.header("content-security-policy").is_some_and(|policy| policy.contains("default-src 'none'")), "{}", image.head);
    assert!(browser.answer(&world, "fix", &[("a0", "yes")]).text().contains("accepted"));
}

#[test]
fn only_a_file_of_the_question_has_an_address() {
    let (world, _page, browser) = asked();
    let place = format!("/q/fix/{}", world.round("fix"));
    for sha256 in ["0".repeat(64), "..%2f..%2faudit.jsonl".into(), "shot.png".into()] {
        assert_eq!(browser.get(&format!("{place}/file/{sha256}")).status, 404, "{sha256}");
    }
    for n in [0, 1] {
        let whole = browser.see(&format!("{place}/file/{}", hash(&world, n)));
        assert_eq!(whole.header("content-type"), Some("text/plain; charset=utf-8"), "no browser may run it");
        assert_eq!(whole.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(whole.body, [DIFF.replace('\u{202e}', "\\u{202e}"), HTML.to_owned() + "\n"][n]);
    }
    let stranger = Browser { cookie: None, ..browser.clone() };
    assert_eq!(stranger.get(&format!("{place}/file/{}", hash(&world, 2))).status, 401);
}

#[test]
fn a_damaged_file_is_named_and_not_shown() {
    let (world, _page, browser) = asked();
    let round = world.round("fix");
    let folder = world.in_mailbox(format!("attachments/fix.{round}"));
    std::fs::write(folder.join(hash(&world, 0)), DIFF.replace("new", "NEW")).unwrap();
    std::fs::write(folder.join(hash(&world, 2)), HTML).unwrap();
    let shown = browser.see(&format!("/q/fix/{round}"));
    assert!(shown.text().contains("fix.diff (diff, 43 bytes): NOT SHOWN, the file in the mailbox is not the one"), "{}", shown.text());
    assert!(!shown.body.contains("class=\"added\"") && !shown.body.contains("<img"), "{}", shown.body);
    let image = browser.get(&format!("/q/fix/{round}/file/{}", hash(&world, 2)));
    assert!(image.status == 500 && image.header("content-type").is_some_and(|kind| kind.starts_with("text/html")), "{}", image.head);
    assert!(!image.body.contains("alert(1)"), "{}", image.body);
}

#[test]
fn long_files_do_not_make_a_long_page() {
    let world = World::new();
    world.make_mailbox();
    let diff = format!("--- a/x\n+++ b/x\n@@ -0,0 +1,260000 @@\n{}", "+<\n".repeat(260_000));
    std::fs::write(world.path("one-line.txt"), "<".repeat(1 << 20)).unwrap();
    let files: String = (0..7).map(|n| format!(" --attach {n}.diff")).collect();
    (0..7).for_each(|n| std::fs::write(world.path(format!("{n}.diff")), &diff).unwrap());
    world.sh(&format!("ask-post Apply? -w fix -t yes_no --attach one-line.txt{files}"));
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let place = format!("/q/fix/{}", world.round("fix"));
    let shown = browser.see(&place);
    assert!(shown.body.len() < 2 << 20, "{} bytes", shown.body.len());
    assert_eq!(shown.body.matches("<span class=\"hunk\">").count(), 7, "the first part of each file");
    assert!(shown.text().contains("Not shown: the rest of this line."), "{}", shown.text());
    assert_eq!(shown.text().matches("Not shown: 259503 more lines.").count(), 7);
    let address = format!("{place}/file/{}", hash(&world, 1));
    assert!(shown.body.contains(&format!("<a href=\"{address}\">See the whole file</a>")));
    assert_eq!(browser.see(&address).body, diff);
}
