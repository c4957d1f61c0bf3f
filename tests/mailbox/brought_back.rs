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
fn the_next_answer_needs_no_watcher_where_a_power_cut_brought_the_delivered_one_back() {
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
fn an_answer_that_waits_for_its_run_still_keeps_the_next_one_waiting() {
    let world = World::new();
    world.sh("ask-post First? -w w && ask-answer w one && ask-post Second? -w w");
    let first = fs::read(world.path("m/answered/w.json")).unwrap();
    let ran = world.shell("ask-answer w two");
    assert_eq!(ran.code(), 4);
    assert!(ran.stderr.contains("still waits for its run"), "{}", ran.stderr);
    assert_eq!(fs::read(world.path("m/answered/w.json")).unwrap(), first);
}

#[test]
fn another_answer_under_the_id_of_a_delivered_round_goes_to_quarantine_and_is_not_run() {
    let world = World::new();
    brought_back(&world);
    let answered = world.path("m/answered/w.json");
    let text = fs::read_to_string(&answered).unwrap();
    fs::write(&answered, text.replace("\"value\":\"a\"", "\"value\":\"b\"")).unwrap();
    world.sh("ask-answer w a");
    assert_eq!(fs::read_dir(world.path("m/quarantine")).unwrap().count(), 2, "the file and its reason");
    assert!(world.sh("relaunch prompt w").contains("Second?"));
}
