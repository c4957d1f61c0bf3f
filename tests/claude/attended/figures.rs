//! How fast the other place is told: each way of ending a dialog, 20 times. The figures stand in `docs/guide-live.md`.
//!
//! `tests/run claude attended::figures --ignored --nocapture` prints them.

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
