//! `relaunch pause` and `go`: nothing is launched while the queue is held, and everything afterwards, once.

use crate::support::{World, until};

#[test]
fn a_live_run_goes_on_and_its_child_waits_on_record() {
    let world = World::stepping("work");
    world.make_mailbox();
    world.hold("began");
    world.ask_and_answer("w");
    let _watcher = world.watch();
    world.held("began");
    world.ok("relaunch", &["pause"]);
    let spawned = world.run("relaunch", &["spawn", "-w", "child", "--prompt", "work"]).ok();
    assert_eq!(spawned.stdout, "SGN_PEND_STARTED (child)\n");
    assert!(spawned.stderr.contains("the queue is paused"), "{spawned:?}");
    world.let_go("began");
    world.closed("w", "delivered", 1);
    assert!(world.only("running", "child.").is_some() && world.logged("start child/") == 0, "{:#?}", world.log());
    world.ok("relaunch", &["go"]);
    world.closed("child", "delivered", 1);
}

#[test]
fn an_empty_folder_in_place_of_the_pause_is_removed() {
    let world = World::at_home();
    world.ask_and_answer("w");
    let folder = world.in_mailbox("pause.json");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("kept"), "").expect("a file");
    let refused = world.run("relaunch", &["go"]);
    let way = format!("mv -n {0} {0}.aside", folder.display());
    assert!(refused.code() == 4 && refused.stderr.contains(&format!("hint: move it away: {way}")), "{refused:?}");
    assert!(folder.join("kept").exists());
    world.sh(&way);
    assert_eq!(world.ok("relaunch", &["go"]), "the queue was not paused\n");
    std::fs::create_dir(&folder).expect("a folder");
    assert_eq!(world.ok("relaunch", &["go"]), "the queue goes on\n");
    world.ok("relaunch", &["w"]);
}

#[test]
fn a_pause_that_cannot_be_read_holds_the_queue_and_is_named() {
    let world = World::at_home();
    world.ask_and_answer("w");
    std::fs::write(world.in_mailbox("pause.json"), "{torn").expect("a file");
    let refused = world.run("relaunch", &["w"]);
    assert!(refused.code() == 4 && refused.stderr.contains("pause.json"), "{refused:?}");
    world.ok("relaunch", &["go"]);
    world.ok("relaunch", &["w"]);
    until("it is delivered", || world.state("w") == "delivered");
}

#[test]
fn a_watcher_started_while_nothing_waits_reports_the_pause() {
    let world = World::at_home();
    world.make_mailbox();
    world.ok("relaunch", &["pause", "--why", "the API is down"]);
    let watcher = world.watch();
    assert_eq!(watcher.said("the queue is paused by ").len(), 1);
    watcher.stop();
    world.ok("relaunch", &["go"]);
    let watcher = world.watch();
    assert_eq!(watcher.said("the queue").len(), 0);
    watcher.stop();
}

mod promises {
    use super::*;

    #[test]
    fn a_held_queue_launches_nothing_until_it_goes_on() {
        let world = World::at_home();
        world.agent_does("w", "echo done");
        world.ask_and_answer("w");
        let said = world.ok("relaunch", &["pause", "--why", "the API is down"]);
        assert!(said.starts_with("the queue is paused by ") && said.contains("the API is down"), "{said}");
        assert!(world.ok("relaunch", &["pause"]).contains("already paused"));
        let watcher = world.watch();
        watcher.says("the queue is paused by ");
        // Everybody who looks is told.
        let status = world.run("relaunch", &["status"]).ok();
        assert!(
            status.stderr.contains("nothing is launched until: relaunch go") && status.stdout.contains("the queue is paused"),
            "{status:?}"
        );
        assert!(world.run("ask-answer", &["list"]).ok().stderr.contains("the API is down"));
        assert!(
            world.run("askbox", &["doctor"]).stdout.contains("paused: the queue: the queue is paused by"),
            "{}",
            world.run("askbox", &["doctor"]).stdout
        );
        let summary = world.run("relaunch", &["status", "--summary", "--json"]).ok().json();
        assert_eq!(summary["queue"]["state"], "paused", "{summary}");
        // Nor does a command in the foreground launch anything.
        for refused in [&["w"][..], &["run", "--prompt", "go"], &["retry", "w"], &["retry", "--all"]] {
            let out = world.run("relaunch", refused);
            assert_eq!(out.code(), 4, "{out:?}");
            assert!(out.stderr.contains("hint: let it go on: relaunch go"), "{out:?}");
        }
        // A watcher that starts meanwhile holds it too.
        watcher.stop();
        let watcher = world.watch();
        watcher.says("the queue is paused by ");
        assert_eq!(world.launches_of("w").len(), 0);
        assert_eq!(world.ok("relaunch", &["go"]), "the queue goes on\n");
        world.closed("w", "delivered", 1);
        assert_eq!((world.launches_of("w").len(), world.ok("relaunch", &["go"]).as_str()), (1, "the queue was not paused\n"));
    }

    #[test]
    fn a_pause_makes_no_mailbox() {
        let world = World::at_home();
        let said = world.run("relaunch", &["pause", "--mailbox", "nowhere"]);
        assert_eq!(said.code(), 3, "{said:?}");
        assert!(!world.path("nowhere").exists());
    }
}
