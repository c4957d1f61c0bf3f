//! Sessions whose dialogs are not questions.

use serde_json::json;

use super::{Attended, made, plugin, touch, world};
use crate::support::ClaudeWorld;

#[test]
fn without_live_a_dialog_is_no_question() {
    let world = ClaudeWorld::used_before();
    world.make_mailbox();
    let session = Attended::begin(&world);
    session.goes(&[touch("one")]);
    session.terminal.see(super::DIALOG);
    crate::support::until("the hook has ended", || world.processes("askbox hook").is_empty());
    session.ends_dialog(&["1"]);
    session.told();
    assert!(made(&world, "one") && world.names("pending").is_empty() && world.names("closed").is_empty());
}

#[test]
fn a_session_that_nobody_attends_asks_nothing() {
    let world = world();
    world.prompt_stream(&format!("@@{}", json!([touch("one"), {"text": "done"}])), &["--plugin-dir", &plugin()]).ok();
    assert!(!made(&world, "one") && world.names("pending").is_empty() && world.names("closed").is_empty());
}

#[test]
fn a_session_that_nobody_attends_waits_if_it_is_to() {
    let world = world();
    world.reconfigure("grace =", "unattended = true\ngrace =");
    world.reconfigure("20s", "1h");
    let prompt = format!("@@{}", json!([touch("one"), {"text": "done"}]));
    std::thread::scope(|scope| {
        let session = scope.spawn(|| world.prompt_stream(&prompt, &["--plugin-dir", &plugin()]).ok());
        let id = super::only_question(&world);
        assert_eq!(world.document(&format!("pending/{id}.json"))["live"]["unattended"], true);
        world.answer(&id, "once");
        session.join().expect("it ends");
        super::closed(&world, &id, "delivered");
    });
    assert!(made(&world, "one"));
}

#[test]
fn a_run_of_askbox_asks_in_its_own_way() {
    let mut world = world();
    world.reconfigure("hold = \"20s\"", &format!("hold = \"20s\"\n[runner.claude]\nargs = ['--plugin-dir', '{}']", plugin()));
    world.keep_watching();
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: begin", json!([touch("one"), {"text": "done"}]));
    world.answer("w", "begin");
    let asked = crate::support::until("it asks", || Some(world.names("pending")).filter(|names| !names.is_empty()));
    assert_eq!(asked, ["w.json"]);
    assert!(world.document("pending/w.json")["live"].is_null());
    world.answer("w", "once");
    assert_eq!(world.wait_state("w", "delivered")["result"], "done");
    assert!(made(&world, "one"));
}
