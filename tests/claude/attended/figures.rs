//! How fast the session goes on after an answer in the mailbox, and the costs of a question beside a dialog. `tests/run live` prints the
//! figures of `docs/guide-live.md`.

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

pub(super) fn time_of(at: &Value) -> SystemTime {
    chrono::DateTime::parse_from_rfc3339(at.as_str().expect("a time")).expect("a time").into()
}

/// The time when a round was closed.
pub(super) fn closed_at(end: &Value) -> SystemTime {
    time_of(&end["closed"]["at"])
}

pub(super) fn since(begun: SystemTime, end: SystemTime) -> Duration {
    end.duration_since(begun).unwrap_or_default()
}

pub(super) fn is_idle(world: &ClaudeWorld) -> bool {
    let files = std::fs::read_dir(world.claude_config().join("sessions")).into_iter().flatten().flatten();
    files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).any(|text| text.contains(r#""status":"idle""#))
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
        delivered.push(since(asked, closed_at(&closed(&world, &id, "delivered"))));
    }
    print("from the answer's command to the tool's start", begun);
    print("from the answer's command to the receipt", delivered);
}

/// The stages between the tap and the tool's start, by the times that the mailbox, the session's transcript and the made file have.
const STAGES: [&str; 4] = [
    "until the answer is accepted",
    "until the hook has claimed it",
    "until the session has taken the decision",
    "until the tool has started",
];

/// The ends of the stages of the newest answered call.
fn stages(session: &Attended<'_>, id: &str, made_at: SystemTime) -> [SystemTime; STAGES.len()] {
    let audited = session.world.audited();
    let noted = |event: &str| {
        let line = audited.iter().find(|line| line["workflow_id"] == id && line["event"] == event);
        time_of(&line.unwrap_or_else(|| panic!("{event} is in the audit"))["at"])
    };
    let taken = session.entries().into_iter().rfind(|entry| entry["attachment"]["type"] == "hook_permission_decision");
    [noted("answered"), noted("claimed"), time_of(&taken.expect("a receipt")["timestamp"]), made_at]
}

#[test]
#[ignore = "prints figures, and takes minutes"]
fn twenty_dialogs_that_are_answered_on_the_page() {
    let world = world();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let session = Attended::begin(&world);
    let (mut begun, mut memory) = (Vec::new(), Vec::new());
    let mut parts: [Vec<Duration>; STAGES.len()] = Default::default();
    for n in 0..TIMES {
        until("the session is idle", || is_idle(&world));
        let file = format!("f{n}");
        session.goes(&[touch(&file)]);
        let id = session.asks();
        memory.extend(world.processes("askbox hook").into_iter().filter_map(own_memory));
        let path = format!("/q/{id}/{}", world.round(&id));
        // The person looks at the page before the tap.
        let shown = browser.see(&path);
        let tapped = SystemTime::now();
        let reply = browser.fill_as_shown(&shown, &path, &[("a0", "0"), ("act", "send")]);
        assert_eq!(reply.status, 303, "{}", reply.text());
        until("the call is made", || made(&world, &file));
        let made_at = world.work().join(&file).metadata().and_then(|about| about.modified()).expect("a time");
        begun.push(since(tapped, made_at));
        closed(&world, &id, "delivered");
        let mut last = tapped;
        for (part, end) in parts.iter_mut().zip(stages(&session, &id, made_at)) {
            part.push(since(last, end));
            last = last.max(end);
        }
    }
    print("from the tap on the page to the tool's start", begun);
    for (stage, took) in STAGES.iter().zip(parts) {
        print(&format!("  {stage}"), took);
    }
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
    // On a busy machine, Claude Code itself tells the model something now and then. What askbox told it would be there each time.
    let pairs: Vec<_> = (0..3).map(|_| (told_bytes(true), told_bytes(false))).collect();
    assert!(pairs.iter().all(|(with, _)| with.len() >= 4), "{pairs:?}");
    assert!(pairs.iter().any(|(with, without)| with == without), "{pairs:?}");
}
