//! The text that the model is generating: readers see the words as they come, programs see that it generates, and the record does not grow
//! with it. With a scripted agent that prints what `claude --include-partial-messages` does.

use std::path::PathBuf;

use crate::support::claude::live::Live;
use crate::support::{Running, World, until, whole_lines};
use serde_json::{Value, json};

/// Says pieces of a text, and whole texts.
const SPEAK: &str = r#"
begins() { say '{"type":"stream_event","event":{"type":"message_start","message":{"id":"m"}}}'; }
piece() { say "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"$1\"}}}"; }
whole() { say "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}}"; }
"#;

/// A world with an answered `docs` and this work for its agent.
fn world(body: &str) -> World {
    let world = World::stepping(&format!("{SPEAK}{body}"));
    world.ask_and_answer("docs");
    world
}

/// A file of the first attempt.
fn of_the_attempt(world: &World, name: &str) -> PathBuf {
    let rounds = world.names("runs/docs");
    let round = rounds.iter().find(|n| n.len() == 36).expect("a round");
    world.in_mailbox(format!("runs/docs/{round}/1/{name}"))
}

fn recorded(world: &World) -> Vec<Value> {
    let text = std::fs::read_to_string(of_the_attempt(world, "events.jsonl")).expect("events");
    whole_lines(&text).map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|e| e["type"].as_str().expect("a type")).collect()
}

/// `relaunch` with these arguments, its events as they come.
fn follow(world: &World, args: &[&str]) -> Live {
    let mut command = world.command("relaunch");
    command.args(args);
    Live::spawn(command)
}

/// Waits until the words of the text that is being generated are these.
#[track_caller]
fn reads(reader: &mut Live, words: &str) {
    let read = std::cell::RefCell::new(String::new());
    reader.expect(&format!("piece that ends {words:?}"), |event| {
        if event["type"] != "partial" {
            return false;
        }
        let mut read = read.borrow_mut();
        assert_eq!(event["offset"], read.len(), "{event}");
        read.push_str(event["text"].as_str().expect("a text"));
        *read == words
    });
}

#[test]
fn a_foreground_run_streams_words_and_shows_people_whole_texts() {
    let world = world("begins; piece hal; step half; piece f; whole half; begins; piece mo; step more; whole more; work");
    world.hold("half");
    world.hold("more");
    std::fs::write(world.path("task.md"), "Speak.").expect("a file");
    let mut run = follow(&world, &["run", "--stream", "-w", "speak", world.path("task.md").to_str().expect("a path")]);
    reads(&mut run, "hal");
    world.let_go("half");
    assert_eq!(run.expect_type("text")["text"], "half");
    reads(&mut run, "mo");
    world.let_go("more");
    let (outcome, events) = run.finish();
    assert!(outcome.status.success(), "{outcome:?}");
    let partial = events.iter().filter(|e| e["type"] == "partial");
    for piece in partial {
        let before = events.iter().find(|e| e["type"] == "generating" && e["seq"] == piece["seq"]);
        assert_eq!(before.map(|e| &e["what"]), Some(&json!("text")), "{piece}");
    }
    let words = world.ok("relaunch", &["docs"]);
    assert!(words.contains("  says      half\n") && words.contains("  says      more\n"), "{words}");
    assert!(!words.contains("partial") && !words.contains("generating"), "{words}");
}

#[test]
fn a_text_that_takes_long_is_no_silence() {
    let world = world("begins; for i in $(seq 50); do piece \"$i \"; sleep 0.25; done; whole long; work");
    world.reconfigure("[runner]", "[limits]\nsilent_after = \"10s\"\n[runner]");
    world.ok("relaunch", &["docs"]);
    assert_eq!(types(&recorded(&world)), ["started", "generating", "text", "tool_call", "tool_result", "result"]);
}

#[test]
fn a_silence_in_the_middle_of_a_text_ends_with_its_next_word() {
    let world = world("begins; piece one; step pause; piece two; step goes_on; whole onetwo; work");
    world.reconfigure("[runner]", "[limits]\nsilent_after = \"100ms\"\n[runner]");
    world.hold("pause");
    world.hold("goes_on");
    let _run = Running::start(world.command("relaunch").arg("docs"));
    world.held("pause");
    until("it is silent", || world.status("docs")["live"]["doing"] == "silent");
    world.let_go("pause");
    world.held("goes_on");
    until("it generates again", || recorded(&world).iter().filter(|e| e["type"] == "generating").count() == 2);
    world.let_go("goes_on");
    world.reaches("docs", "delivered");
}

#[test]
fn a_text_without_end_needs_bounded_room_and_ends_with_the_run() {
    // 2,000 pieces of 8 KiB: four times of what is kept.
    let world = world(
        "begins; words=$(printf %08192d 0); i=0; while [ $i -lt 2000 ]; do piece $words; i=$((i+1)); done; step all; whole short; step said; work",
    );
    world.hold("all");
    world.hold("said");
    let _watcher = world.start_watcher();
    world.held("all");
    let size = |name| of_the_attempt(&world, name).metadata().map_or(0, |m| m.len());
    until("all that is kept is there", || size("partial.jsonl") > (4 << 20) - (16 << 10));
    assert!(size("partial.jsonl") <= 4 << 20 && size("events.jsonl") < 4 << 10);
    world.let_go("all");
    world.held("said");
    until("the next text has room", || size("partial.jsonl") == 0);
    world.let_go("said");
    world.reaches("docs", "delivered");
    until("it is removed", || !of_the_attempt(&world, "partial.jsonl").exists());
}

mod promises {
    use super::*;

    #[test]
    fn readers_get_a_text_while_it_is_generated() {
        let world = world("begins; piece 'one '; piece 'two '; step half; piece three; step all; whole 'one two three'; step said; work");
        ["half", "all", "said"].iter().for_each(|step| world.hold(step));
        let _watcher = world.start_watcher();
        world.held("half");
        let mut first = follow(&world, &["events", "-f", "--partial", "docs"]);
        reads(&mut first, "one two ");
        let doing = until("it generates", || Some(world.status("docs")["live"].clone()).filter(|l| l["doing"] == "generating"));
        assert!(doing["words"].as_str().is_some_and(|w| w.starts_with("generating (")), "{doing}");
        world.let_go("half");
        world.held("all");
        let mut second = follow(&world, &["events", "-f", "--partial", "docs"]);
        reads(&mut second, "one two three");
        world.let_go("all");
        world.held("said");
        assert_eq!(first.expect_type("text")["text"], "one two three");
        // One who comes behind the text gets it once, and whole.
        let mut third = follow(&world, &["events", "-f", "--partial", "docs"]);
        assert_eq!(third.expect_type("text")["text"], "one two three");
        world.let_go("said");
        world.reaches("docs", "delivered");
        for reader in [first, second, third] {
            let (outcome, events) = reader.finish();
            assert!(outcome.status.success() && events.last().is_some_and(|e| e["type"] == "result"), "{outcome:?} {events:#?}");
            let whole: Vec<Value> = events.into_iter().filter(|e| e["type"] != "partial").collect();
            assert_eq!(whole, recorded(&world));
        }
        assert_eq!(types(&recorded(&world)), ["started", "generating", "text", "tool_call", "tool_result", "result"]);
        until("it is removed", || !of_the_attempt(&world, "partial.jsonl").exists());
        assert!(!world.ok("relaunch", &["events", "docs"]).contains("partial"));
    }
}
