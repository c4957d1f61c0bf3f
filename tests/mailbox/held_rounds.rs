//! A round whose file goes to quarantine from `answered/` or `running/` is parked where everybody sees it, until a person mends the file.

use std::fs;

use askbox::chain::outcome::{self, OwnState};
use askbox::mailbox::Mailbox;
use askbox::mailbox::documents::awaited::End;
use serde_json::json;

use crate::support::{World, until};

/// Checks that every surface shows the workflow `w` as parked with `quarantine/NAME`, and which command helps.
fn everybody_sees(world: &World, name: &str) {
    let file = world.in_mailbox(format!("quarantine/{name}")).display().to_string();
    let status = world.status("w");
    assert_eq!(status["state"], "parked", "{status}");
    assert!(status["why"].as_str().unwrap().contains(&format!("lies in quarantine/{name}: ")), "{status}");
    assert_eq!(status["todo"], format!("mend {file}, then: relaunch retry w"));
    let all = world.run("relaunch", &["status"]).ok().stdout;
    assert!(all.contains("w         parked"), "{all}");
    let summary = world.run("relaunch", &["status", "--summary", "--json"]).ok().json();
    assert_eq!(summary["rounds"]["parked"], 1, "{summary}");
    let listed = world.run("ask-answer", &["list", "--json"]).ok().events();
    assert_eq!((&listed[0]["workflow_id"], &listed[0]["todo"]), (&json!("w"), &status["todo"]), "{listed:?}");
    assert!(world.ok("ask-answer", &["list"]).contains("parked: its file could not be used"));
    assert!(world.run("askbox", &["doctor"]).stdout.contains(&format!("quarantined: quarantine/{name}: ")));
    assert!(world.run("askbox", &["tree"]).stdout.contains("parked"));
    // A parent that waits for it is not told that it has finished.
    let mailbox = Mailbox::open(world.mailbox()).unwrap();
    let OwnState::Ended(ended) = outcome::own_state(&mailbox, &"w".parse().unwrap()).unwrap() else { panic!("not parked") };
    assert_eq!(ended.end, End::Parked);
    let entry = world.audited().into_iter().find(|e| e["event"] == "quarantined").unwrap();
    assert_eq!(entry["workflow_id"], "w");
    // Until the file is mended, nothing can be tried again.
    let retried = world.run("relaunch", &["retry", "w"]);
    assert_eq!(retried.code(), 5, "{retried:?}");
    assert!(retried.stderr.contains("then: relaunch retry w"), "{}", retried.stderr);
    assert_eq!(world.launches_of("w").len(), 0);
}

/// Mends the file and tries again: the agent gets the answer, and nothing is parked any more.
fn mended(world: &World, name: &str, content: &str) {
    fs::write(world.in_mailbox(format!("quarantine/{name}")), content).unwrap();
    assert_eq!(world.state("w"), "parked", "a mended file is not forgotten before it is moved back");
    world.ok("relaunch", &["retry", "w"]);
    world.closed("w", "delivered", 1);
    assert!(world.told("w", 1).contains("User chose: a (A)"));
    assert_eq!(world.names("quarantine"), [""; 0]);
    assert!(world.run("ask-answer", &["list", "--json"]).ok().events().is_empty());
}

mod promises {
    use super::*;

    #[test]
    fn an_unreadable_answered_round_is_parked_and_retried() {
        let world = World::at_home();
        world.ask_and_answer("w");
        let content = fs::read_to_string(world.in_mailbox("answered/w.json")).unwrap();
        fs::write(world.in_mailbox("answered/w.json"), &content[..content.len() / 2]).unwrap();
        let watcher = world.watch();
        watcher.says("quarantined answered/w.json: see quarantine/");
        everybody_sees(&world, "w.json");
        watcher.stop();
        mended(&world, "w.json", &content);
    }

    #[test]
    fn an_unreadable_claimed_round_is_parked_and_retried() {
        let world = World::at_home();
        world.ask_and_answer("w");
        let name = format!("w.{}.json", world.round("w"));
        let content = fs::read_to_string(world.in_mailbox("answered/w.json")).unwrap();
        fs::remove_file(world.in_mailbox("answered/w.json")).unwrap();
        fs::write(world.in_mailbox(format!("running/{name}")), "").unwrap();
        let watcher = world.watch();
        watcher.says(&format!("quarantined running/{name}: see quarantine/"));
        everybody_sees(&world, &name);
        watcher.stop();
        mended(&world, &name, &content);
    }

    #[test]
    fn a_copy_of_a_round_that_is_over_is_quarantined() {
        let world = World::at_home();
        let _watcher = world.watch();
        world.ask_and_answer("w");
        let mut closed = world.closed("w", "delivered", 1).remove(0);
        closed["answer"]["value"] = json!("another");
        closed.as_object_mut().unwrap().remove("closed");
        world.put("answered/w.json", closed.to_string());
        until("the quarantine", || !world.names("quarantine").is_empty() && !world.in_mailbox("answered/w.json").exists());
        assert_eq!(world.state("w"), "delivered");
        assert!(world.run("ask-answer", &["list", "--json"]).ok().events().is_empty());
    }
}
