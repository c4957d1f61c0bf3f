//! Chains of the real `claude` over several levels, proved by what the API received.

use crate::support::claude::api::{Request, digest};
use crate::support::claude::bash;
use crate::support::process::command_line;
use crate::support::{ClaudeWorld, LIMIT, Signal, signal};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A watched mailbox whose agents may ask and spawn.
#[track_caller]
fn chain() -> ClaudeWorld {
    let mut world = ClaudeWorld::new();
    // A command of eight levels takes longer than Claude Code's own two minutes on a busy machine, and would be put into the background.
    world.configure(
        "[relaunch]\nbackoff = '10ms'\n[runner.claude]\nenv = { BASH_DEFAULT_TIMEOUT_MS = '600000' }\nallowed_tools = [\"Bash(ask-post:*)\", \"Bash(relaunch spawn:*)\", \"Bash(relaunch resume:*)\"]\n",
    );
    world.keep_watching_from_the_start();
    world
}

/// How a parent starts a child whose script is registered for `Work as ID.`.
fn spawn(id: &str) -> Value {
    bash(&format!("relaunch spawn -w {id} --prompt 'Work as {id}.'"))
}

fn does(world: &ClaudeWorld, id: &str, steps: Value) {
    world.api.on(&format!("Work as {id}."), steps);
}

/// Starts a root; what it printed.
#[track_caller]
fn start(world: &ClaudeWorld, id: &str) -> String {
    world.run("relaunch", &["spawn", "-w", id, "--prompt", &format!("Work as {id}.")]).ok().stdout
}

fn delivered(world: &ClaudeWorld, id: &str, result: &str) {
    world.wait_status(id, result, |s| s["state"] == "delivered" && s["result"] == result);
}

/// The messages with these words that began a turn: later requests of a turn carry a tool result behind theirs.
fn told(world: &ClaudeWorld, words: &str) -> Vec<String> {
    let text = |m: &Value| match &m["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|b| b["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    };
    // Some versions send a message of their own behind it.
    let newest = |r: &Request| {
        let new: Vec<_> = r.messages().iter().rev().take_while(|m| m["role"] != "assistant").map(text).collect();
        new.into_iter().rev().collect::<Vec<_>>().join("\n")
    };
    world.api.turns().iter().map(newest).filter(|text| text.contains(words)).collect()
}

#[test]
fn eight_levels_are_woken_one_by_one_for_one_turn_each() {
    let world = chain();
    for n in 1..8 {
        does(&world, &format!("l{n}"), json!([spawn(&format!("l{}", n + 1))]));
        world.api.on(&format!("l{} finished.", n + 1), json!([{"text": format!("heard by l{n}")}]));
    }
    does(&world, "l8", json!([bash("ask-post 'When?'")]));
    world.api.on("User chose: May", json!([{"text": "May"}]));
    assert_eq!(start(&world, "l1"), "SGN_PEND_STARTED (l1)\n");
    let before = world.api.turns();
    assert_eq!(before.iter().filter_map(|t| t.session_id()).collect::<BTreeSet<_>>().len(), 8);
    world.answer("l8", "May");
    delivered(&world, "l1", "heard by l1");
    let after = world.api.turns().split_off(before.len());
    assert_eq!(after.len(), 8, "{}", digest(&after));
    assert!(after[0].model_text().contains("User chose: May"));
    for (request, child) in after[1..].iter().zip((2..=8).rev()) {
        let text = request.model_text();
        assert_eq!(text.matches("What you started has ended.").count(), 1, "{text}");
        assert!(text.contains(&format!("l{child} finished. Its reply:")), "{text}");
    }
    assert_eq!(world.launches().len(), 16);
}

#[test]
fn background_runs_wake_their_parent_when_the_last_is_in() {
    let world = chain();
    let background = |id: &str| bash(&format!("relaunch spawn --background -w {id} --prompt 'Work as {id}.'"));
    does(&world, "root", json!([background("a"), background("b"), {"text": "both run"}]));
    does(&world, "a", json!([{"text": "a is done"}]));
    does(&world, "b", json!([bash("ask-post 'May b go on?'"), {"text": "asked"}]));
    world.api.on("User chose: yes", json!([{"text": "b is done"}]));
    world.api.on("What you started has ended.", json!([{"text": "joined"}]));
    start(&world, "root");
    let turn = world.api.requests_with_text("Work as root.").pop().expect("a turn");
    assert_eq!(turn.tool_results(), ["a", "b"]);
    delivered(&world, "a", "a is done");
    world.wait_state("b", "pending");
    assert_eq!(told(&world, "What you started has ended."), [""; 0]);
    world.answer("b", "yes");
    delivered(&world, "root", "joined");
    let news = told(&world, "What you started has ended.");
    assert_eq!(news.len(), 1, "{news:#?}");
    assert!(
        news[0].contains("a finished. Its reply:\n> a is done") && news[0].contains("b finished. Its reply:\n> b is done"),
        "{news:#?}"
    );
}

/// A workflow that has asked, in a session that is its checkpoint: the session, and its transcript's bytes.
#[track_caller]
fn asked(world: &ClaudeWorld) -> (String, Vec<u8>) {
    does(world, "w", json!([bash("ask-post 'First?'"), {"text": "asked"}]));
    assert_eq!(start(world, "w"), "SGN_PEND_STARTED (w)\n");
    let session = world.document("workflows/w.json")["session_id"].as_str().expect("a session").to_owned();
    let transcript = world.transcript_of(&session).expect("a transcript");
    (session, std::fs::read(transcript).expect("its bytes"))
}

/// The checkpoint is still what it was, and the workflow's.
#[track_caller]
fn untouched(world: &ClaudeWorld, (session, before): &(String, Vec<u8>)) {
    assert_eq!(world.document("workflows/w.json")["session_id"], session.as_str());
    assert!(std::fs::read(world.transcript_of(session).expect("it")).expect("its bytes") == *before, "the checkpoint has changed");
}

#[test]
fn a_fork_without_progress_is_discarded() {
    let world = chain();
    let checkpoint = asked(&world);
    world.api.on("User chose: bad", json!([{"status": 400, "times": 99}]));
    world.answer("w", "bad");
    let parked = world.wait_state("w", "parked");
    let fork = parked["session_id"].as_str().expect("a session").to_owned();
    assert_ne!(fork, checkpoint.0);
    untouched(&world, &checkpoint);
    world.api.on("User chose: good", json!([{"text": "went on"}]));
    world.ask("w", &["Again?"]);
    world.answer("w", "good");
    // The parked one is what its status shows.
    world.wait_status("w", "delivered", |_| world.names("closed").len() == 2);
    let last = world.launches().pop().expect("a launch");
    assert!(last.args.contains(&format!("--resume={} --fork-session", checkpoint.0)), "{last:#?}");
    let text = world.api.requests_with_text("User chose: good").pop().expect("a turn").model_text();
    assert!(!text.contains("User chose: bad") && text.contains("QUESTION_POSTED:w"), "{text}");
    // Progress: this fork is the checkpoint now.
    let now = world.document("workflows/w.json")["session_id"].as_str().expect("a session").to_owned();
    assert!(now != checkpoint.0 && now != fork && last.args.contains(&format!("--session-id={now}")), "{now} {last:#?}");
}

#[test]
fn a_fork_killed_before_its_first_reply_is_not_told_twice() {
    let world = chain();
    let checkpoint = asked(&world);
    world.api.on("User chose: yes", json!([{"stall": true}]));
    world.answer("w", "yes");
    world.api.wait_for_text("User chose: yes", 1, LIMIT);
    untouched(&world, &checkpoint);
    world.api.on("User chose: yes", json!([{"text": "went on"}]));
    world.api.on("Your process was interrupted", json!([{"text": "went on"}]));
    signal(world.only_process("relaunch supervise"), Signal::KILL);
    world.wait_status("w", "delivered", |s| s["result"] == "went on");
    let text = world.api.turns().pop().expect("a turn").model_text();
    assert_eq!(text.matches("User chose: yes").count(), 1, "{text}");
    let launches = world.launches().split_off(1);
    assert!(
        launches.len() == 2 && launches.iter().all(|l| l.args.contains(&format!("--resume={} --fork-session", checkpoint.0))),
        "{launches:#?}"
    );
    assert_ne!(launches[0].args, launches[1].args, "another fork");
    let bytes = std::fs::read(world.transcript_of(&checkpoint.0).expect("it")).expect("its bytes");
    assert!(bytes == checkpoint.1, "the checkpoint has changed");
}

#[test]
fn a_parent_killed_in_mid_spawn_gets_the_same_child() {
    let world = chain();
    world.add_hold("hold");
    world.configure("[relaunch]\nbackoff = '10ms'\n[runner.claude]\nallowed_tools = [\"Bash(hold:*)\", \"Bash(relaunch spawn:*)\"]\n");
    does(&world, "root", json!([spawn("child")]));
    does(&world, "child", json!([bash("hold"), {"text": "held"}]));
    world.api.on("Your process was interrupted", json!([spawn("child")]));
    world.run("relaunch", &["spawn", "--background", "-w", "root", "--prompt", "Work as root."]).ok();
    world.wait_status("child", "in its tool", |_| !world.processes("bin/hold").is_empty());
    // The agent writes its transcript a little later than it works.
    let session = world.status("root")["session_id"].as_str().expect("a session").to_owned();
    let noted = || world.transcript_of(&session).and_then(|t| std::fs::read_to_string(t).ok()).unwrap_or_default();
    world.wait_status("root", "known to spawn", |_| noted().contains("relaunch spawn -w child"));
    let of_root = |pid: &i32| command_line(*pid).contains(" root ");
    let supervisor = world.processes("supervise").into_iter().find(of_root).expect("its supervisor");
    signal(supervisor, Signal::KILL);
    world.api.wait_for_text("Your process was interrupted", 1, LIMIT);
    world.wait_status("root", "waiting again", |_| !world.processes("relaunch spawn").is_empty());
    world.release("hold");
    delivered(&world, "root", "held");
    assert_eq!(world.api.requests_with_text("Work as child.").len(), 2, "one child, two requests");
    assert_eq!(told(&world, "What you started has ended."), [""; 0]);
}

#[test]
fn prose_with_a_signal_in_it_is_a_reply_on_every_level() {
    let world = chain();
    let prose = "The log says SGN_PEND_ONGOING, and once SGN_PEND_STARTED (x).";
    does(&world, "root", json!([spawn("child")]));
    does(&world, "child", json!([{"text": prose}]));
    assert_eq!(start(&world, "root"), format!("{prose}\n"));
    let status = world.status("root");
    assert_eq!((&status["state"], &status["result"]), (&json!("delivered"), &json!(prose)));
    assert_eq!(world.run("relaunch", &["resume", "root"]).ok().stdout, format!("{prose}\n"));
    does(&world, "liar", json!([{"text": "SGN_PEND_ONGOING\nis what I saw"}]));
    assert_eq!(start(&world, "liar"), "> SGN_PEND_ONGOING\nis what I saw\n");
}

mod promises {
    use super::*;

    #[test]
    fn two_of_five_children_that_ask_wake_the_parent_together() {
        let world = chain();
        let spawns: Vec<_> = (1..=5).map(|n| spawn(&format!("c{n}"))).collect();
        does(&world, "root", json!([{"tools": spawns}, {"text": "waiting"}]));
        ["c1", "c3", "c5"].iter().for_each(|c| does(&world, c, json!([{"text": format!("{c} is done")}])));
        does(&world, "c2", json!([bash("ask-post 'Two?'"), {"text": "asked"}]));
        // Later than the other.
        does(&world, "c4", json!([{"delay_ms": 1000, "tool": "Bash", "input": {"command": "ask-post 'Four?'"}}, {"text": "asked"}]));
        world.api.on("User chose: second", json!([{"text": "two"}]));
        world.api.on("User chose: fourth", json!([{"text": "four"}]));
        world.api.on("What you started has ended.", json!([{"text": "all five"}]));
        assert_eq!(start(&world, "root"), "SGN_PEND_STARTED (root)\n");
        let turn = world.api.requests_with_text("Work as root.").pop().expect("a turn");
        let mut results = turn.tool_results();
        results.sort();
        assert_eq!(results, ["SGN_PEND_STARTED (c2)", "SGN_PEND_STARTED (c4)", "c1 is done", "c3 is done", "c5 is done"]);
        // Out of order.
        world.answer("c4", "fourth");
        delivered(&world, "c4", "four");
        assert_eq!(world.status("root")["state"], "awaiting");
        world.answer("c2", "second");
        delivered(&world, "root", "all five");
        let news = told(&world, "What you started has ended.");
        assert_eq!(news.len(), 1, "{news:#?}");
        for words in ["c2 finished. Its reply:\n> two", "c4 finished. Its reply:\n> four"] {
            assert_eq!(news[0].matches(words).count(), 1, "{news:#?}");
        }
        assert!(["c1", "c3", "c5"].iter().all(|c| !news[0].contains(c)), "told in its turn already: {news:#?}");
    }
}
