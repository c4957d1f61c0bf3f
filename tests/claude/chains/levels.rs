//! Chains of real `claude`s. What the API received is the proof.

use crate::support::claude::LIMIT;
use crate::support::service::{Service, bash, signal};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A watched mailbox whose agents may ask and spawn.
#[track_caller]
fn chain() -> Service {
    let mut service = Service::new();
    service.configure(
        "[relaunch]\nbackoff = '10ms'\n[runner.claude]\nallowed_tools = [\"Bash(ask-post:*)\", \"Bash(relaunch spawn:*)\", \"Bash(relaunch resume:*)\"]\n",
    );
    service.watch_on_nothing();
    service
}

/// How a parent starts a child whose script is registered for `Work as ID.`.
fn spawn(id: &str) -> Value {
    bash(&format!("relaunch spawn -w {id} --prompt 'Work as {id}.'"))
}

fn does(service: &Service, id: &str, steps: Value) {
    service.api.on(&format!("Work as {id}."), steps);
}

/// Starts a root; what it printed.
#[track_caller]
fn start(service: &Service, id: &str) -> String {
    service.call("relaunch", &["spawn", "-w", id, "--prompt", &format!("Work as {id}.")]).ok().stdout
}

fn delivered(service: &Service, id: &str, result: &str) {
    service.wait_status(id, result, |s| s["state"] == "delivered" && s["result"] == result);
}

/// The messages with these words that began a turn: later requests of a turn carry a tool result behind theirs.
fn told(service: &Service, words: &str) -> Vec<String> {
    let newest = |r: &crate::support::api::Request| match r.messages().last().map(|m| &m["content"]) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => blocks.iter().filter_map(|b| b["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    };
    service.api.turns().iter().map(newest).filter(|text| text.contains(words)).collect()
}

#[test]
fn eight_levels_are_woken_one_by_one_from_below_each_for_one_turn() {
    let service = chain();
    for n in 1..8 {
        does(&service, &format!("l{n}"), json!([spawn(&format!("l{}", n + 1))]));
        service.api.on(&format!("l{} finished.", n + 1), json!([{"text": format!("heard by l{n}")}]));
    }
    does(&service, "l8", json!([bash("ask-post 'When?'")]));
    service.api.on("User chose: May", json!([{"text": "May"}]));
    assert_eq!(start(&service, "l1"), "SGN_PEND_STARTED (l1)\n");
    let before = service.api.turns();
    assert_eq!(before.iter().filter_map(|t| t.session_id()).collect::<BTreeSet<_>>().len(), 8);
    service.answer("l8", "May");
    delivered(&service, "l1", "heard by l1");
    let after = service.api.turns().split_off(before.len());
    assert_eq!(after.len(), 8, "{}", crate::support::api::digest(&after));
    assert!(after[0].model_text().contains("User chose: May"));
    for (request, child) in after[1..].iter().zip((2..=8).rev()) {
        let text = request.model_text();
        assert_eq!(text.matches("What you started has ended.").count(), 1, "{text}");
        assert!(text.contains(&format!("l{child} finished. Its reply:")), "{text}");
    }
    assert_eq!(service.launches().len(), 16);
}

#[test]
fn five_at_once_in_one_turn_two_of_which_ask_and_the_parent_is_woken_by_these_two_together() {
    let service = chain();
    let spawns: Vec<_> = (1..=5).map(|n| spawn(&format!("c{n}"))).collect();
    does(&service, "root", json!([{"tools": spawns}, {"text": "waiting"}]));
    ["c1", "c3", "c5"].iter().for_each(|c| does(&service, c, json!([{"text": format!("{c} is done")}])));
    does(&service, "c2", json!([bash("ask-post 'Two?'"), {"text": "asked"}]));
    // Later than the other.
    does(&service, "c4", json!([{"delay_ms": 1000, "tool": "Bash", "input": {"command": "ask-post 'Four?'"}}, {"text": "asked"}]));
    service.api.on("User chose: second", json!([{"text": "two"}]));
    service.api.on("User chose: fourth", json!([{"text": "four"}]));
    service.api.on("What you started has ended.", json!([{"text": "all five"}]));
    assert_eq!(start(&service, "root"), "SGN_PEND_STARTED (root)\n");
    let turn = service.api.requests_with_text("Work as root.").pop().expect("a turn");
    let mut results = turn.tool_results();
    results.sort();
    assert_eq!(results, ["SGN_PEND_STARTED (c2)", "SGN_PEND_STARTED (c4)", "c1 is done", "c3 is done", "c5 is done"]);
    // Out of order.
    service.answer("c4", "fourth");
    delivered(&service, "c4", "four");
    assert_eq!(service.status("root")["state"], "awaiting");
    service.answer("c2", "second");
    delivered(&service, "root", "all five");
    let news = told(&service, "What you started has ended.");
    assert_eq!(news.len(), 1, "{news:#?}");
    for words in ["c2 finished. Its reply:\ntwo", "c4 finished. Its reply:\nfour"] {
        assert_eq!(news[0].matches(words).count(), 1, "{news:#?}");
    }
    assert!(["c1", "c3", "c5"].iter().all(|c| !news[0].contains(c)), "told in its turn already: {news:#?}");
}

#[test]
fn what_runs_in_the_background_wakes_its_parent_when_the_last_is_in() {
    let service = chain();
    let background = |id: &str| bash(&format!("relaunch spawn --background -w {id} --prompt 'Work as {id}.'"));
    does(&service, "root", json!([background("a"), background("b"), {"text": "both run"}]));
    does(&service, "a", json!([{"text": "a is done"}]));
    does(&service, "b", json!([bash("ask-post 'May b go on?'"), {"text": "asked"}]));
    service.api.on("User chose: yes", json!([{"text": "b is done"}]));
    service.api.on("What you started has ended.", json!([{"text": "joined"}]));
    start(&service, "root");
    let turn = service.api.requests_with_text("Work as root.").pop().expect("a turn");
    assert_eq!(turn.tool_results(), ["a", "b"]);
    delivered(&service, "a", "a is done");
    service.wait_state("b", "pending");
    assert_eq!(told(&service, "What you started has ended."), [""; 0]);
    service.answer("b", "yes");
    delivered(&service, "root", "joined");
    let news = told(&service, "What you started has ended.");
    assert_eq!(news.len(), 1, "{news:#?}");
    assert!(news[0].contains("a finished. Its reply:\na is done") && news[0].contains("b finished. Its reply:\nb is done"), "{news:#?}");
}

/// A workflow that has asked, in a session that is its checkpoint: the session, and its transcript's bytes.
#[track_caller]
fn asked(service: &Service) -> (String, Vec<u8>) {
    does(service, "w", json!([bash("ask-post 'First?'"), {"text": "asked"}]));
    assert_eq!(start(service, "w"), "SGN_PEND_STARTED (w)\n");
    let session = service.document("workflows/w.json")["session_id"].as_str().expect("a session").to_owned();
    let transcript = service.home.transcript(&session).expect("a transcript");
    (session, std::fs::read(transcript).expect("its bytes"))
}

/// The checkpoint is still what it was, and the workflow's.
#[track_caller]
fn untouched(service: &Service, (session, before): &(String, Vec<u8>)) {
    assert_eq!(service.document("workflows/w.json")["session_id"], session.as_str());
    assert!(std::fs::read(service.home.transcript(session).expect("it")).expect("its bytes") == *before, "the checkpoint has changed");
}

#[test]
fn a_fork_without_progress_is_discarded_and_the_next_round_begins_from_the_checkpoint() {
    let service = chain();
    let checkpoint = asked(&service);
    service.api.on("User chose: bad", json!([{"status": 400, "times": 99}]));
    service.answer("w", "bad");
    let parked = service.wait_state("w", "parked");
    let fork = parked["session_id"].as_str().expect("a session").to_owned();
    assert_ne!(fork, checkpoint.0);
    untouched(&service, &checkpoint);
    service.api.on("User chose: good", json!([{"text": "went on"}]));
    service.ask("w", &["Again?"]);
    service.answer("w", "good");
    // The parked one is what its status shows.
    service.wait_status("w", "delivered", |_| service.files("closed").len() == 2);
    let last = service.launches().pop().expect("a launch");
    assert!(last.args.contains(&format!("--resume={} --fork-session", checkpoint.0)), "{last:#?}");
    let text = service.api.requests_with_text("User chose: good").pop().expect("a turn").model_text();
    assert!(!text.contains("User chose: bad") && text.contains("QUESTION_POSTED:w"), "{text}");
    // Progress: this fork is the checkpoint now.
    let now = service.document("workflows/w.json")["session_id"].as_str().expect("a session").to_owned();
    assert!(now != checkpoint.0 && now != fork && last.args.contains(&format!("--session-id={now}")), "{now} {last:#?}");
}

#[test]
fn a_fork_killed_before_its_first_reply_leaves_the_checkpoint_and_the_next_attempt_is_not_told_twice() {
    let service = chain();
    let checkpoint = asked(&service);
    service.api.on("User chose: yes", json!([{"stall": true}]));
    service.answer("w", "yes");
    service.api.wait_for_text("User chose: yes", 1, LIMIT);
    untouched(&service, &checkpoint);
    service.api.on("User chose: yes", json!([{"text": "went on"}]));
    service.api.on("Your process was interrupted", json!([{"text": "went on"}]));
    let supervisors = service.processes("relaunch supervise");
    assert_eq!(supervisors.len(), 1, "{supervisors:?}");
    signal(supervisors[0], "KILL");
    service.wait_status("w", "delivered", |s| s["result"] == "went on");
    let text = service.api.turns().pop().expect("a turn").model_text();
    assert_eq!(text.matches("User chose: yes").count(), 1, "{text}");
    let launches = service.launches().split_off(1);
    assert!(
        launches.len() == 2 && launches.iter().all(|l| l.args.contains(&format!("--resume={} --fork-session", checkpoint.0))),
        "{launches:#?}"
    );
    assert_ne!(launches[0].args, launches[1].args, "another fork");
    let bytes = std::fs::read(service.home.transcript(&checkpoint.0).expect("it")).expect("its bytes");
    assert!(bytes == checkpoint.1, "the checkpoint has changed");
}

#[test]
fn a_parent_killed_in_mid_spawn_is_told_so_calls_again_and_gets_the_same_child() {
    let service = chain();
    service.add_hold("hold");
    service.configure("[relaunch]\nbackoff = '10ms'\n[runner.claude]\nallowed_tools = [\"Bash(hold:*)\", \"Bash(relaunch spawn:*)\"]\n");
    does(&service, "root", json!([spawn("child")]));
    does(&service, "child", json!([bash("hold"), {"text": "held"}]));
    service.api.on("Your process was interrupted", json!([spawn("child")]));
    service.call("relaunch", &["spawn", "--background", "-w", "root", "--prompt", "Work as root."]).ok();
    service.wait_status("child", "in its tool", |_| !service.processes("bin/hold").is_empty());
    // The agent writes its transcript a little later than it works.
    let session = service.status("root")["session_id"].as_str().expect("a session").to_owned();
    let noted = || service.home.transcript(&session).and_then(|t| std::fs::read_to_string(t).ok()).unwrap_or_default();
    service.wait_status("root", "known to spawn", |_| noted().contains("relaunch spawn -w child"));
    let of_root = |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|c| String::from_utf8_lossy(&c).contains("\0root\0"));
    let supervisor = service.processes("supervise").into_iter().find(of_root).expect("its supervisor");
    signal(supervisor, "KILL");
    service.api.wait_for_text("Your process was interrupted", 1, LIMIT);
    service.wait_status("root", "waiting again", |_| !service.processes("relaunch spawn").is_empty());
    service.release("hold");
    delivered(&service, "root", "held");
    assert_eq!(service.api.requests_with_text("Work as child.").len(), 2, "one child, two requests");
    assert_eq!(told(&service, "What you started has ended."), [""; 0]);
}

#[test]
fn prose_with_a_signal_in_it_is_a_reply_on_every_level() {
    let service = chain();
    let prose = "The log says SGN_PEND_ONGOING, and once SGN_PEND_STARTED (x).";
    does(&service, "root", json!([spawn("child")]));
    does(&service, "child", json!([{"text": prose}]));
    assert_eq!(start(&service, "root"), format!("{prose}\n"));
    let status = service.status("root");
    assert_eq!((&status["state"], &status["result"]), (&json!("delivered"), &json!(prose)));
    assert_eq!(service.call("relaunch", &["resume", "root"]).ok().stdout, format!("{prose}\n"));
    does(&service, "liar", json!([{"text": "SGN_PEND_ONGOING"}]));
    assert_eq!(start(&service, "liar"), "> SGN_PEND_ONGOING\n");
}
