//! A power cut can bring back what was moved: an answer that was delivered lies in `answered/` again.

use std::fs;

use crate::support::World;

/// A round that was delivered, whose document a power cut brought back to `answered/`; the next question is pending.
fn brought_back(world: &World) {
    world.sh("ask-post First? -w w -o a=A -o b=B && ask-answer w a");
    let answered = world.path("m/answered/w.json");
    let bytes = fs::read(&answered).unwrap();
    world.sh("relaunch prompt w && ask-post Second? -w w -o a=A -o b=B");
    fs::write(&answered, bytes).unwrap();
}

#[test]
fn a_withdrawn_question_is_removed_and_not_put_into_quarantine() {
    let world = World::at_home();
    world.ok("ask-post", &["-w", "w", "Go on?"]);
    world.ok("ask-answer", &["cancel", "w"]);
    let closed = world.only("closed", "w.").expect("it is closed");
    // Its name in pending/ was not yet gone from the disk.
    fs::copy(&closed, world.in_mailbox("pending/w.json")).expect("a copy");
    let out = world.run("ask-answer", &["w", "yes"]);
    assert_eq!(out.code(), 4, "{}", out.words());
    assert_eq!((world.names("pending"), world.names("quarantine")), (vec![], vec![]));
    // Another document in its place is kept.
    let other = fs::read_to_string(&closed).expect("it is read").replace("Go on?", "Go far?");
    fs::write(world.in_mailbox("pending/w.json"), other).expect("a file");
    assert_eq!(world.run("ask-answer", &["w", "yes"]).code(), 4);
    assert_eq!((world.names("pending"), world.names("quarantine").len()), (vec![], 2));
}

mod promises {
    use super::*;

    #[test]
    fn an_answer_after_a_power_cut_needs_no_watcher() {
        let world = World::new();
        brought_back(&world);
        assert_eq!(world.sh("ask-answer w b"), "w: answered: b");
        let answered = world.json("m/answered/w.json");
        assert_eq!((answered["question"].as_str(), answered["answer"]["value"].as_str()), (Some("Second?"), Some("b")));
        assert_eq!(fs::read_dir(world.path("m/quarantine")).unwrap().count(), 0);
        let prompt = world.sh("relaunch prompt w");
        assert!(prompt.contains("Second?") && prompt.contains("User chose: b"), "{prompt}");
    }

    #[test]
    fn an_answer_that_waits_for_its_run_keeps_the_next_waiting() {
        let world = World::new();
        world.sh("ask-post First? -w w && ask-answer w one && ask-post Second? -w w");
        let first = fs::read(world.path("m/answered/w.json")).unwrap();
        let ran = world.shell("ask-answer w two");
        assert_eq!(ran.code(), 4);
        assert!(ran.stderr.contains("still waits for its run"), "{}", ran.stderr);
        assert_eq!(fs::read(world.path("m/answered/w.json")).unwrap(), first);
    }

    #[test]
    fn another_answer_under_a_delivered_rounds_id_is_not_run() {
        let world = World::new();
        brought_back(&world);
        let answered = world.path("m/answered/w.json");
        let text = fs::read_to_string(&answered).unwrap();
        fs::write(&answered, text.replace("\"value\":\"a\"", "\"value\":\"b\"")).unwrap();
        world.sh("ask-answer w a");
        assert_eq!(fs::read_dir(world.path("m/quarantine")).unwrap().count(), 2, "the file and its reason");
        assert!(world.sh("relaunch prompt w").contains("Second?"));
    }
}
