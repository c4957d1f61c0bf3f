//! The views, and what each of them says of a fault.

use std::fmt::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::programs::stories::faults::{Fault, put, well};
use crate::support::terminal::Terminal;
use crate::support::{Running, World};

/// The views. Those that print JSON print the cause, the others words.
pub(super) const VIEWS: [(&str, &str, bool); 9] = [
    ("status ID", "relaunch status w --json | jq -r '.cause // empty'", true),
    ("status", "relaunch status --json | jq -r 'select(.workflow_id == \"w\") | .cause // empty'", true),
    ("status, words", "relaunch status w", false),
    ("tree", "askbox tree w --json | jq -r 'select(.workflow_id == \"w\") | .cause // empty'", true),
    ("history", "askbox history w --json | jq -r '.cause // empty' | head -n 1", true),
    (
        "doctor ID",
        "askbox doctor w --json 2>/dev/null | jq -r '.road.cause // (if any(.findings[]; .kind == \"unreadable\" or .kind == \"newer\") then \"unreadable\" else empty end)'",
        true,
    ),
    ("show", "ask-answer show w", false),
    ("wait", "relaunch wait w --timeout 1s", false),
    (
        "run_status",
        "printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}' '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}' '{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"run_status\",\"arguments\":{\"workflow_id\":\"w\"}}}' | askbox mcp | jq -r 'select(.id == 2) | .result.content[0].text | fromjson | .cause // empty'",
        true,
    ),
];

/// What each view says of a fault, and what is wrong with the row.
pub(super) fn row(fault: &Fault) -> (String, Vec<String>) {
    let world = well();
    let kept = (fault.plant)(&world);
    let ask = |view: &str| match fault.shell {
        "VIEW" => world.shell(view),
        shell => {
            put(&world, "view.sh", view);
            world.shell(&format!("unshare -m sh -c '{}'", shell.replace("VIEW", "sh view.sh")))
        }
    };
    let known = ask("relaunch status --json | jq -c 'select(.workflow_id == \"w\")'").stdout;
    let known: Value = serde_json::from_str(known.trim()).unwrap_or_default();
    let (next, why) = (known["next"].as_str().unwrap_or_default(), known["why"].as_str().unwrap_or_default());
    let (mut line, mut wrong) = (format!("| {} | `{}` |", fault.name, next_in_table(&world, next)), Vec::new());
    for (name, view, is_json) in VIEWS {
        let out = ask(view);
        let said = match is_json {
            // A server does not start with such a configuration, and says so.
            true if fault.cause == "configuration" && out.stderr.contains("config.toml") => fault.cause.to_owned(),
            // A command that reads this one file names it.
            _ if fault.cause == "unreadable" && out.stderr.contains("error: ") && out.stderr.contains(".json") => fault.cause.to_owned(),
            true => out.stdout.trim().to_owned(),
            false if fault.cause == "person" && out.stdout.contains("waiting for an answer") => fault.cause.to_owned(),
            false if fault.cause.is_empty() => String::new(),
            false => {
                let words = out.words().split_whitespace().collect::<Vec<_>>().join(" ");
                let begin: String = why.chars().take(30).collect();
                let tells =
                    |words: &str, piece: &str| !piece.is_empty() && words.contains(&piece.split_whitespace().collect::<Vec<_>>().join(" "));
                if tells(&words, next) || tells(&words, &begin) { fault.cause.to_owned() } else { format!("? {words}") }
            }
        };
        // A view that does not show the round has nothing to say of it.
        let shows_none = said.is_empty() && matches!((name, fault.cause), ("history", _) | (_, ""));
        if said != fault.cause && !shows_none {
            wrong.push(format!("{} in {name}: {said:?}\n  {}", fault.name, out.words()));
        }
        let _ = write!(line, " {} |", if said.is_empty() { "–" } else { &said });
    }
    // The page runs outside of the shell that changes the disk, and does not start with a broken configuration. It answers an unreadable file with an error.
    let page = if fault.shell == "VIEW" && !["", "configuration", "unreadable"].contains(&fault.cause) {
        of_page(&world, next, why)
    } else {
        Some("–".to_owned())
    };
    match page {
        Some(said) => line.push_str(&format!(" {} |", said.replace("told", fault.cause))),
        None => wrong.push(format!("{} is not on the page", fault.name)),
    }
    line.push_str(&format!(" {} |", of_inbox(&world, fault)));
    if fault.mends {
        wrong.extend(mend(&world, fault, next));
    }
    drop(kept);
    (line, wrong)
}

/// Looks for the command or the reason on the page of the run.
fn of_page(world: &World, next: &str, why: &str) -> Option<String> {
    let page = world.serve_page();
    let browser = page.signed_in(world, "desk");
    let words = browser.see("/run/w").text() + &browser.see("/").text();
    let begin: String = why.chars().take(30).collect();
    let tells = [next, begin.as_str()].iter().any(|piece| !piece.is_empty() && words.contains(piece.trim()));
    (tells || words.contains("cannot be read")).then(|| "told".to_owned())
}

/// The inbox shows a question that waits, and in its corner what holds all answers up.
fn of_inbox(world: &World, fault: &Fault) -> &'static str {
    let shown = match fault.cause {
        _ if fault.shell != "VIEW" => return "–",
        "person" if fault.name.starts_with("a batch") => "Which?",
        "person" => "Go?",
        "configuration" => "the configuration is broken",
        "no_watcher" => "no watcher runs",
        "watcher_stopped" => "the watcher is stopped",
        "held" | "failures" | "day_cost" => "the queue is paused",
        _ => return "–",
    };
    Terminal::running(world, (100, 30), &[], &["ask-answer"]).see(shown);
    fault.cause
}

/// Runs the command. Says what is wrong if the cause stays.
fn mend(world: &World, fault: &Fault, next: &str) -> Option<String> {
    let environment = "export EDITOR=$PWD/ed;";
    // A watcher runs until it is killed.
    let run = Running::start(world.shell_command(&format!("{environment} {next}")).stdout(Stdio::null()).stderr(Stdio::null()));
    let is_gone = || (world.status("w")["cause"] != fault.cause).then_some(());
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        if is_gone().is_some() {
            run.kill();
            return None;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    run.kill();
    Some(format!("{}: `{next}` does not end {}: {:#}", fault.name, fault.cause, world.status("w")))
}

/// The command without the paths and numbers of this world.
fn next_in_table(world: &World, next: &str) -> String {
    let words = next.replace(&world.home().display().to_string(), "~");
    let number = |word: &str| if word.len() > 2 && word.chars().all(|c| c.is_ascii_digit()) { "PID".to_owned() } else { word.to_owned() };
    words.split(' ').map(number).collect::<Vec<_>>().join(" ")
}
