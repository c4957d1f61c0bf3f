//! How fast the other place is told: each way of ending a dialog, 20 times. Then the costs of a question beside a dialog. The figures stand in
//! `docs/guide-live.md`.
//!
//! `tests/run live` prints them.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::{Attended, closed, made, touch, which_database, world};
use crate::support::{ClaudeWorld, until};

const TIMES: usize = 20;

/// Prints the median and the longest time.
fn print(what: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    println!("{what}: p50 {:?}, longest of {} {:?}", took[took.len() / 2], took.len(), took[took.len() - 1]);
}

fn at(end: &Value) -> SystemTime {
    let at = end["closed"]["at"].as_str().expect("a time");
    chrono::DateTime::parse_from_rfc3339(at).expect("a time").into()
}

fn since(begun: SystemTime, end: SystemTime) -> Duration {
    end.duration_since(begun).unwrap_or_default()
}

fn is_idle(world: &ClaudeWorld) -> bool {
    let files = std::fs::read_dir(world.claude_config().join("sessions")).into_iter().flatten().flatten();
    files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).any(|text| text.contains(r#""status":"idle""#))
}

fn ended_by(what: &str, call: impl Fn(usize) -> Value, keys: &[&str]) {
    let world = world();
    let mut took = Vec::new();
    for n in 0..TIMES {
        let session = Attended::begin(&world);
        session.goes(&[call(n)]);
        let id = session.asks();
        let pressed = session.ends_dialog(keys);
        let pressed = SystemTime::now() - pressed.elapsed();
        took.push(since(pressed, at(&closed(&world, &id, "withdrawn"))));
    }
    print(what, took);
}

#[test]
#[ignore = "prints figures, and takes minutes"]
fn twenty_dialogs_that_end_at_the_terminal() {
    ended_by("yes", |n| touch(&format!("f{n}")), &["1"]);
    ended_by("esc", |n| touch(&format!("f{n}")), &["Escape"]);
    ended_by("an option", |_| which_database(), &["1"]);
    ended_by("esc at a question", |_| which_database(), &["Escape"]);
}

#[test]
#[ignore = "prints figures, and takes minutes"]
fn twenty_dialogs_that_are_answered_in_the_mailbox() {
    let world = world();
    let session = Attended::begin(&world);
    let (mut begun, mut delivered) = (Vec::new(), Vec::new());
    for n in 0..TIMES {
        until("the session is idle", || is_idle(&world));
        let file = format!("f{n}");
        session.goes(&[touch(&file)]);
        let id = session.asks();
        let asked = SystemTime::now();
        world.answer(&id, "once");
        until("the call is made", || made(&world, &file));
        let made_at = world.work().join(&file).metadata().and_then(|about| about.modified()).expect("a time");
        begun.push(since(asked, made_at));
        delivered.push(since(asked, at(&closed(&world, &id, "delivered"))));
    }
    print("from the answer's command to the tool's start", begun);
    print("from the answer's command to the receipt", delivered);
}

#[test]
#[ignore = "prints figures, and takes minutes"]
fn twenty_dialogs_that_are_answered_on_the_page() {
    let world = world();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let session = Attended::begin(&world);
    let (mut begun, mut memory) = (Vec::new(), Vec::new());
    for n in 0..TIMES {
        until("the session is idle", || is_idle(&world));
        let file = format!("f{n}");
        session.goes(&[touch(&file)]);
        let id = session.asks();
        memory.extend(world.processes("askbox hook").into_iter().filter_map(own_memory));
        let tapped = SystemTime::now();
        browser.answer(&world, &id, &[("a0", "0")]);
        until("the call is made", || made(&world, &file));
        let made_at = world.work().join(&file).metadata().and_then(|about| about.modified()).expect("a time");
        begun.push(since(tapped, made_at));
        closed(&world, &id, "delivered");
    }
    print("from the tap on the page to the tool's start", begun);
    memory.sort_unstable();
    println!("memory of a hook that waits: {} KiB of its own, at most {} KiB", memory[memory.len() / 2], memory[memory.len() - 1]);
}

/// The memory of a process that it shares with no other, in KiB, without its program's file.
fn own_memory(pid: i32) -> Option<u64> {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Anonymous:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// The lengths of all that the model was told in each turn, for a session whose dialogs are answered at the keyboard.
fn told_bytes(live: bool) -> Vec<usize> {
    let world = world();
    if !live {
        world.configure("");
    }
    let session = Attended::begin(&world);
    session.goes(&[touch("one"), which_database(), touch("two")]);
    for shown in ["touch one", "Which database?", "touch two"] {
        session.terminal.see(shown);
        session.terminal.see(super::DIALOG);
        let id = live.then(|| super::only_question(&world));
        session.ends_dialog_of_turn("1");
        if let Some(id) = id {
            closed(&world, &id, "withdrawn");
        }
    }
    session.terminal.see("at the end");
    world.api.turns().iter().map(|turn| turn.body["messages"].to_string().len()).collect()
}

#[test]
fn a_question_beside_a_dialog_costs_no_request_and_no_byte() {
    let with = told_bytes(true);
    assert!(with.len() >= 4, "{with:?}");
    assert_eq!(with, told_bytes(false));
}
