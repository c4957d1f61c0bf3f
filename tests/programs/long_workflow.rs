//! A workflow with thousands of past rounds costs no more than one with few, and so does a mailbox with thousands of other workflows: the
//! files that a command opens are counted.

use serde_json::json;

use crate::programs::beside::{read, strangers};
use crate::support::{World, needs};

/// Looks at one workflow.
const LOOKS: [&str; 4] = ["relaunch status w", "ask-answer show w", "relaunch logs w >/dev/null", "askbox history w --limit 3"];

/// How many documents a line of shell reads.
fn documents(world: &World, script: &str) -> usize {
    read(world, script).iter().filter(|path| path.ends_with(".json")).count()
}

#[test]
fn the_list_of_newest_rounds_goes_with_its_workflow() {
    let world = World::new();
    world.make_mailbox();
    world.past_rounds("w", 0..3);
    world.sh("mkdir -m 700 m/recent && echo '{}' >m/recent/w.json && chmod 600 m/recent/w.json && touch m/recent/other.json");
    world.sh("touch -d '10 days ago' m/closed/* && askbox gc --keep 1d");
    assert_eq!(world.sh("ls m/runs m/recent; ls m/closed | grep -c ^w || true"), "m/recent:\nother.json\n\nm/runs:\nfirst\n0");
}

#[test]
fn the_last_of_many_rounds_are_found_without_listing_them() {
    needs!("strace");
    let world = World::new().with_scripted_agent();
    world.make_mailbox();
    strangers(&world, 2_500);
    let shown = |limit: usize| world.sh(&format!("askbox history --json --limit {limit} | jq -r .workflow_id"));
    // The second reader completes the log if the first one came right after a change.
    let first = shown(5);
    assert_eq!(shown(5), first);
    let lists = || read(&world, "askbox history --limit 5").iter().any(|path| path == "closed/");
    assert!(world.in_mailbox("recent/closed").exists() && !lists());
    world.ask_and_answer("w");
    world.sh("relaunch w");
    assert!(!lists());
    assert_eq!(shown(1), "w");
    // Another program closes a round.
    let name = "by-hand.01900000-0000-7000-8000-000000000007.json";
    world.sh(&format!("sleep 0.05; cd m/closed && jq '.workflow_id = \"by-hand\"' stranger7.*.json >x && mv x {name}"));
    assert!(shown(1) == "by-hand" && shown(1) == "by-hand" && !lists());
}

/// Questions that wait, of so many workflows.
fn waiting(world: &World, count: usize) {
    for n in 0..count {
        let (id, question) = (format!("q{n}"), format!("01900000-0000-7000-8000-{n:012x}"));
        let document = json!({
            "schema_version": 1, "workflow_id": id, "question_id": question, "question": "Shall the branch be merged before the release?",
            "timestamp": "2026-01-01T00:00:00.000Z",
        });
        std::fs::write(world.in_mailbox(format!("pending/{id}.json")), document.to_string()).unwrap();
    }
    world.sh("chmod -R go-w m");
}

#[test]
fn of_many_questions_each_is_read_a_few_times() {
    needs!("strace");
    const COUNT: usize = 1_000;
    let world = World::new();
    world.make_mailbox();
    waiting(&world, COUNT);
    let reads = |script: &str| read(&world, script).iter().filter(|path| path.starts_with("pending/q")).count();
    for (script, most) in [("ask-answer list", 1), ("ask-answer list --json", 1), ("relaunch status", 1), ("askbox tree", 2)] {
        let found = reads(script);
        assert!((COUNT..=most * COUNT).contains(&found), "{script}: {found}");
    }
}

#[test]
fn an_old_round_that_ended_last_does_not_tell_the_end() {
    let world = World::new();
    world.make_mailbox();
    world.past_rounds("w", 0..60);
    world.sh("mkdir -p m/workflows; echo '{\"workflow_id\":\"w\"}' >m/workflows/w.json; chmod 600 m/workflows/w.json");
    // A long run: it began first and ended last.
    world.sh("f=m/closed/w.01900000-0000-7000-8000-000000000000.json; jq '.closed.at = \"2030-01-01T00:00:00.000Z\"' $f >x && mv x $f");
    world.sh("ask-post -w w 'Publish?' && ask-answer cancel w");
    // Then so many questions were answered in their askers' own turns that the cancelled one left the list of the newest rounds.
    for _ in 0..20 {
        world.sh("{ until [ -e m/pending/w.json ]; do sleep 0.02; done; ask-answer w yes; } & ask-post -w w --wait 60s 'More?'; wait");
    }
    let kept: serde_json::Value = serde_json::from_str(&world.sh("cat m/recent/w.json")).unwrap();
    assert!(kept["rounds"].as_array().is_some_and(|rounds| rounds.len() < 40), "{kept}");
    let outcome = || world.sh("relaunch resume w --json | jq -r .end");
    let by_list = outcome();
    world.sh("rm m/recent/w.json");
    assert_eq!((by_list.as_str(), outcome().as_str()), ("withdrawn", "withdrawn"));
}

#[test]
fn a_tree_reads_no_past_rounds_for_their_cost() {
    needs!("strace");
    let world = World::new().with_scripted_agent();
    world.make_mailbox();
    world.past_rounds("w", 0..500);
    world.ask_and_answer("w");
    world.sh("relaunch w && askbox tree w");
    let looked_into = read(&world, "askbox tree w").iter().filter(|path| path.starts_with("runs/w/")).count();
    assert!((1..200).contains(&looked_into), "{looked_into}");
}

mod promises {
    use super::*;

    #[test]
    fn a_look_reads_no_more_documents_of_a_longer_history() {
        needs!("strace");
        let world = World::new().with_scripted_agent();
        world.make_mailbox();
        world.past_rounds("w", 0..200);
        world.ask_and_answer("w");
        world.sh("relaunch w");
        let few = LOOKS.map(|script| documents(&world, script));
        world.past_rounds("w", 200..2_000);
        // These were made as by an earlier version. The next round makes the list of the newest ones anew.
        world.ask_and_answer("w");
        world.sh("relaunch w");
        for (script, few) in LOOKS.iter().zip(few) {
            let many = documents(&world, script);
            // Rounds that ended within a second of each other are all read.
            assert!(few > 0 && many <= few + 2, "{script}: {few} and {many}");
        }
        // While the next question waits, no past round is read at all.
        world.ok("ask-post", &["-w", "w", "Again?"]);
        for script in &LOOKS[..2] {
            let opened = read(&world, script);
            assert!(!opened.iter().any(|path| path.starts_with("closed/")), "{script}: {opened:#?}");
        }
    }

    #[test]
    fn after_the_next_round_a_look_lists_no_names_of_the_history() {
        needs!("strace");
        let world = World::new().with_scripted_agent();
        world.make_mailbox();
        world.past_rounds("w", 0..2_000);
        world.ask_and_answer("w");
        world.sh("relaunch w");
        let lists = |script: &str| read(&world, script).iter().any(|path| path == "runs/w/" || path == "closed/");
        for script in &LOOKS[..3] {
            assert!(!lists(script), "{script}: {:#?}", read(&world, script));
        }
        // A round that another program has made is found although the list does not have it.
        world.sh("sleep 0.05");
        world.past_rounds("w", 2_000..2_001);
        world.sh(
        "cd m && f=closed/w.01900000-0000-7000-8000-0000000007d0.json && jq '.closed.at = \"2030-01-01T00:00:00.000Z\"' $f >x && mv x $f",
    );
        assert_eq!(world.status("w")["question"], "Merge 2000?");
    }
}
