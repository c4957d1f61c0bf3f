//! How fast the other place is told: each way of deciding about a dialog of Codex, 20 times. `docs/guide-live.md` has the medians.
//!
//! `tests/run live` prints them.

use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::{Attended, outside};
use crate::support::needs;

const TIMES: usize = 20;

/// Prints the median and the 99th percentile, which is the longest of 20.
fn print(what: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    println!("{what}: p50 {:?}, p99 {:?} ({} times)", took[took.len() / 2], took[took.len() - 1], took.len());
}

fn at(event: &Value) -> SystemTime {
    chrono::DateTime::parse_from_rfc3339(event["at"].as_str().unwrap()).unwrap().into()
}

fn since(begun: SystemTime, end: SystemTime) -> Duration {
    end.duration_since(begun).unwrap_or_default()
}

impl Attended {
    /// The session asks for the nth time. Returns the id of the question in the mailbox.
    fn asks_again(&mut self, n: usize) -> String {
        self.terminal.seen.clear();
        self.says(&format!("do part {n}"), json!([outside(&format!("echo {n} >> $HOME/effects")), {"text": "It is done."}]));
        self.waiting()
    }
}

#[test]
#[ignore = "prints figures, and takes minutes"]
fn twenty_dialogs_of_codex_that_are_answered_elsewhere() {
    needs!("acp-agents");
    let mut codex = Attended::begin();
    let _watcher = codex.world.watch();
    let (mut from_command, mut from_answer) = (Vec::new(), Vec::new());
    for n in 0..TIMES {
        let id = codex.asks_again(n);
        let words = codex.to_allow(&id);
        let begun = Instant::now();
        let mut command = codex.world.command("ask-answer").args(&words).stdout(Stdio::null()).spawn().unwrap();
        codex.terminal.awaits("serverRequest/resolved");
        from_command.push(begun.elapsed());
        let resolved = SystemTime::now();
        assert!(command.wait().unwrap().success());
        let end = codex.world.closed(&id, "delivered", 1).remove(0);
        from_answer.push(since(at(&end["answer"]), resolved));
        codex.terminal.awaits("turn/completed");
    }
    assert_eq!(codex.effects().len(), TIMES);
    print("from the answer's command to the daemon, which has the reply", from_command);
    print("from the accepted answer to the daemon, which has the reply", from_answer);
}

#[test]
#[ignore = "prints figures, and takes minutes"]
fn twenty_dialogs_of_codex_that_end_at_the_terminal() {
    needs!("acp-agents");
    let mut codex = Attended::begin();
    let _watcher = codex.world.watch();
    let mut withdrawn = Vec::new();
    for n in 0..TIMES {
        let id = codex.asks_again(n);
        let request = codex.terminal.awaits("item/commandExecution/requestApproval");
        let pressed = SystemTime::now();
        codex.terminal.send(&json!({"id": request["id"], "result": {"decision": "decline"}}));
        let end = codex.world.closed(&id, "withdrawn", 1).remove(0);
        withdrawn.push(since(pressed, at(&end["closed"])));
        codex.terminal.awaits("turn/completed");
    }
    assert!(codex.effects().is_empty());
    print("from the terminal's reply to the withdrawn question", withdrawn);
}
