//! A person changes a tool call on the page before they allow it.

use serde_json::json;

use crate::support::machine::configure;
use crate::support::{Browser, Machine, Page, World, approval_question, needs, until};

/// Posts the question of `ship`, which asks whether this command may be run.
fn ask(world: &World, command: &str, editable: bool) {
    let mut call = approval_question("ship", &format!("May the agent call Bash?\n    command: {command}"));
    if editable {
        call["approval"]["editable"] = json!({"field": "command", "text": command});
    }
    std::fs::write(world.in_mailbox("pending/ship.json"), call.to_string()).unwrap();
}

fn page(command: &str) -> (World, Page, Browser) {
    let world = World::new();
    world.make_mailbox();
    ask(&world, command, true);
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    (world, page, browser)
}

const CHANGED: (&str, &str) = ("edited", "git push --dry-run");

#[test]
fn a_changed_call_is_sent_only_from_the_page_that_shows_it() {
    let (world, _page, browser) = page("git push");
    let path = format!("/q/ship/{}", world.round("ship"));
    let asked = browser.see(&path);
    assert!(asked.body.contains("Change the call first") && asked.body.contains(">\ngit push</textarea>"), "{}", asked.body);
    // The change is not left out without a word.
    let left_out = browser.fill_as_shown(&asked, &path, &[("a0", "0"), CHANGED, ("act", "send")]);
    assert!(left_out.status == 422 && left_out.text().contains("your change of the call"), "{}", left_out.text());
    assert!(left_out.body.contains(">\ngit push --dry-run</textarea>"), "{}", left_out.body);
    let same = browser.fill_as_shown(&asked, &path, &[("edited", "git push"), ("act", "edit")]);
    assert!(same.status == 422 && same.text().contains("Nothing is changed"), "{}", same.text());
    // Without having shown it, the button only shows it.
    let diff = browser.fill_as_shown(&asked, &path, &[CHANGED, ("note", "dry first"), ("act", "make")]);
    assert!(diff.status == 200 && diff.text().contains("Make the call of Bash like this, one time?"), "{}", diff.text());
    for piece in ["<span class=\"removed\">-git push\n</span>", "<span class=\"added\">+git push --dry-run\n</span>", "dry first"] {
        assert!(diff.body.contains(piece), "no {piece} in {}", diff.body);
    }
    let seen = diff.hidden("seen").expect("the change that was shown");
    // Another text than the one that was shown is shown first.
    let other = browser.fill_as_shown(&diff, &path, &[("edited", "git push --force"), ("seen", &seen), ("act", "make")]);
    assert!(other.status == 200 && other.body.contains("+git push --force\n"), "{}", other.text());
    assert!(world.names("answered").is_empty());
    let again = browser.fill_as_shown(&diff, &path, &[CHANGED, ("act", "again")]);
    assert!(again.status == 422 && again.body.contains(">\ngit push --dry-run</textarea>"), "{}", again.body);
    for _ in 0..2 {
        // The second time is a browser that heard no reply.
        let made = browser.fill_as_shown(&diff, &path, &[CHANGED, ("note", "dry first"), ("seen", &seen), ("act", "make")]);
        assert_eq!(made.status, 303, "{}", made.text());
    }
    let answer = &world.document("answered/ship.json")["answer"];
    assert_eq!(json!([answer["value"], answer["edited"], answer["note"]]), json!(["edited", CHANGED.1, "dry first"]));
    assert!(browser.see(&path).text().contains("git push --dry-run"));
}

#[test]
fn a_change_that_does_not_fit_is_refused_before_it_is_shown() {
    let world = World::new();
    world.make_mailbox();
    world.configure("[approvals]\nrefuse = ['Bash(git push --force)']\n");
    ask(&world, "git push", true);
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let path = format!("/q/ship/{}", world.round("ship"));
    for (text, says) in [("git push --force", "`Bash(git push --force)`"), (" ", "is empty")] {
        let refused = browser.fill(&path, &[("edited", text), ("act", "edit")]);
        assert!(refused.status == 422 && refused.text().contains(says), "{}", refused.text());
    }
    // A browser would send other line ends than the call has.
    ask(&world, "git\r\npush", true);
    let shown = browser.see(&format!("/q/ship/{}", world.round("ship")));
    assert!(shown.text().contains("ask-answer edit ship") && !shown.body.contains("name=\"edited\""), "{}", shown.body);
    ask(&world, "git push", false);
    let shown = browser.see(&format!("/q/ship/{}", world.round("ship")));
    assert!(!shown.body.contains("Change the call"), "{}", shown.body);
}

#[test]
fn a_call_of_another_machine_is_changed_on_the_page() {
    needs!("sshd", "ssh");
    let here = World::new();
    let build = Machine::new(&here, "build");
    build.world.make_mailbox();
    ask(&build.world, "git push", true);
    configure(&here, &[&build]);
    let page = here.serve_page();
    let browser = page.signed_in(&here, "hub");
    until("its question is shown", || browser.see("/").text().contains("Bash: git push"));
    let path = format!("/q/build:ship/{}", build.world.round("ship"));
    let diff = browser.fill(&path, &[CHANGED, ("act", "edit")]);
    assert!(diff.status == 200 && diff.text().contains("on build") && build.world.names("answered").is_empty(), "{}", diff.text());
    let seen = diff.hidden("seen").expect("the change that was shown");
    let made = browser.fill_as_shown(&diff, &path, &[CHANGED, ("seen", &seen), ("act", "make")]);
    assert_eq!(made.status, 303, "{}", made.text());
    until("build has it", || build.world.names("answered") == ["ship.json"]);
    let answer = &build.world.document("answered/ship.json")["answer"];
    assert_eq!((&answer["value"], &answer["edited"]), (&json!("edited"), &json!(CHANGED.1)));
    until("the page tells it", || browser.see(&path).text().contains("accepted by build"));
}

mod promises {
    use super::*;

    #[test]
    fn a_changed_call_counts_only_for_the_call_that_was_seen() {
        let (world, _page, browser) = page("git push");
        let path = format!("/q/ship/{}", world.round("ship"));
        let diff = browser.fill(&path, &[CHANGED, ("act", "edit")]);
        let seen = diff.hidden("seen").expect("the change that was shown");
        let file = world.in_mailbox("pending/ship.json");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("git push", "git push --all")).unwrap();
        let lost = browser.fill_as_shown(&diff, &path, &[CHANGED, ("seen", &seen), ("act", "make")]);
        assert!(lost.status == 409 && lost.text().contains("git push --dry-run"), "{}", lost.text());
        assert!(world.names("answered").is_empty());
    }
}
