//! Python's client of the protocol, `mcp` of PyPI, in both eras. We wrote no part of it, and it speaks in its own way.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::support::program;
use crate::support::tools::available;
use crate::support::{ClaudeWorld, Running, until};

/// The Python that `tests/run` has installed the client into.
#[track_caller]
fn python() -> String {
    std::env::var("ASKBOX_TEST_PYTHON_MCP")
        .expect("run the tests with `tests/run`, which installs Python's client and sets ASKBOX_TEST_PYTHON_MCP")
}

#[test]
fn pythons_client_asks_and_waits_in_both_eras() {
    if !available("python-mcp") {
        return;
    }
    for mode in ["legacy", "auto", "2026-07-28"] {
        let world = ClaudeWorld::new();
        world.configure("[mcp]\nwait = '3s'");
        world.make_mailbox();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/python_mcp_client.py");
        let mut client = Running::start(
            world.any_command(python()).args([script, program("askbox"), mode]).stdin(Stdio::piped()).stdout(Stdio::piped()),
        );
        let mut lines = BufReader::new(client.0.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let mut next = |step: &str| -> Value {
            let line = lines.next().unwrap_or_else(|| panic!("{mode}: the client ended before {step:?}"));
            let told: Value = serde_json::from_str(&line).expect("JSON");
            assert_eq!(told["step"], step, "{mode}: {told}");
            told
        };
        let names = next("tools")["names"].to_string();
        assert!(names.contains("ask_user") && names.contains("check_answer") && !names.contains("answer_question"), "{mode}: {names}");
        assert_eq!(next("wrong")["is_error"], true, "{mode}");
        // The time to answer is short, so that the next question is not answered in time: a busy machine may be late with this one as well.
        until("the question", || world.in_mailbox("pending/soon.json").exists());
        world.sh("ask-answer soon this");
        let soon = next("answered in time");
        let is_in_time = soon["text"].as_str().is_some_and(|text| text.contains("User chose: this"));
        assert!(is_in_time || soon["text"].as_str().is_some_and(|text| text.contains("QUESTION_POSTED:soon")), "{mode}: {soon}");
        assert_eq!(next("saved")["is_error"], false, "{mode}");
        let late = next("not in time");
        assert!(
            late["is_error"] == false && late["text"].as_str().is_some_and(|text| text.contains("QUESTION_POSTED:late")),
            "{mode}: {late}"
        );
        assert!(next("listed")["text"].as_str().is_some_and(|text| text.contains("And which?")), "{mode}");
        world.sh("ask-answer late 'the other one'");
        writeln!(client.0.stdin.take().expect("piped")).expect("the client reads");
        let checked = next("checked");
        assert!(checked["text"].as_str().is_some_and(|text| text.contains("the other one")), "{mode}: {checked}");
        assert!(client.wait().success(), "{mode}");
    }
}
