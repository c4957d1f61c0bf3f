//! How fast the other place is told: each way of deciding about a dialog of opencode, 20 times. `docs/guide-live.md` has the medians.

use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::{Attended, DIALOG, shell};

const TIMES: usize = 20;

/// Prints the median and the longest.
fn print(what: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    println!("{what}: p50 {:?}, p99 {:?} ({} times)", took[took.len() / 2], took[took.len() - 1], took.len());
}

fn at(event: &Value) -> SystemTime {
    chrono::DateTime::parse_from_rfc3339(event["at"].as_str().unwrap()).unwrap().into()
}

#[test]
#[ignore = "prints figures, and takes minutes"]
fn twenty_dialogs_of_opencode_that_are_answered_elsewhere() {
    let opencode = Attended::begin();
    let terminal = opencode.terminal();
    let (mut from_command, mut from_answer) = (Vec::new(), Vec::new());
    for n in 0..TIMES {
        let steps = json!([shell(&format!("echo {n} >> $HOME/effects")), {"text": format!("Part {n} is done.")}]);
        opencode.says(&terminal, &format!("do part {n}."), steps);
        terminal.see(DIALOG);
        let id = opencode.waiting();
        let words = opencode.to_allow(&id);
        let begun = Instant::now();
        let mut command = opencode.world.command("ask-answer").args(&words).stdout(Stdio::null()).spawn().unwrap();
        terminal.see_no_more(DIALOG);
        from_command.push(begun.elapsed());
        assert!(command.wait().unwrap().success());
        let end = opencode.world.closed(&id, "delivered", 1).remove(0);
        from_answer.push(at(&end["closed"]).duration_since(at(&end["answer"])).unwrap_or_default());
        terminal.see(&format!("Part {n} is done."));
    }
    assert_eq!(opencode.effects().len(), TIMES);
    print("from the start of ask-answer to the end of the dialog at the terminal", from_command);
    print("from the accepted answer to opencode's receipt", from_answer);
}

#[test]
#[ignore = "prints figures, and takes minutes"]
fn twenty_dialogs_of_opencode_that_end_at_the_terminal() {
    let opencode = Attended::begin();
    let terminal = opencode.terminal();
    let mut withdrawn = Vec::new();
    for n in 0..TIMES {
        let steps = json!([shell(&format!("echo {n} >> $HOME/effects")), {"text": format!("Part {n} is done.")}]);
        opencode.says(&terminal, &format!("do part {n}."), steps);
        terminal.see(DIALOG);
        let id = opencode.waiting();
        let pressed = SystemTime::now();
        terminal.burst(&["Enter"]);
        let end = opencode.world.closed(&id, "withdrawn", 1).remove(0);
        withdrawn.push(at(&end["closed"]).duration_since(pressed).unwrap_or_default());
        terminal.see(&format!("Part {n} is done."));
    }
    assert_eq!(opencode.effects().len(), TIMES);
    print("from the key at the terminal to the withdrawn question", withdrawn);
}
