//! Input that is not a message, too long, or not permitted leaves the server usable and the mailbox as it was.

use serde_json::json;

use super::client::{Client, Era};
use crate::support::{World, needs, output, strace};

#[test]
fn what_is_no_message_is_passed_over() {
    let world = World::new();
    for era in [Era::Of2025, Era::Of2026] {
        let mut client = Client::of(&world, era);
        for line in ["garbage", "", "[]", "{}", "null", "\u{0}", r#"{"jsonrpc":"2.0","id":[],"method":"x"}"#, &"[".repeat(100_000)] {
            client.write_line(line);
        }
        client.write_line(&format!("{{\"x\":\"{}\"}}", "y".repeat(17 << 20)));
        assert_eq!(client.call("list_questions", json!({})), "no question waits\n", "{era:?}");
        client.close();
    }
}

#[test]
fn a_request_that_cannot_be_read_gets_an_error_with_its_id() {
    let world = World::new();
    for era in [Era::Of2025, Era::Of2026] {
        let mut client = Client::of(&world, era);
        let deep =
            [r#"{"jsonrpc":"2.0","id":901,"method":"tools/call","params":{"a":"#, &"[".repeat(5000), &"]".repeat(5000), "}}"].concat();
        for (id, line) in [
            (901, &*deep),
            (902, r#"{"jsonrpc":"2.0","id":902,"method":"tools/list","params":{"#),
            (903, r#"{"id":903,"method":"tools/list"}"#),
        ] {
            client.write_line(line);
            assert!(client.reply_to(id)["error"]["code"].is_i64(), "{era:?} {id}");
        }
        assert_eq!(client.call("list_questions", json!({})), "no question waits\n");
        client.close();
    }
}

#[test]
fn arguments_that_fit_no_tool_are_refused_with_what_would_fit() {
    let world = World::new();
    let mut client = Client::of(&world, Era::Of2026);
    for (tool, arguments, expected) in [
        ("ask_user", json!({}), "question"),
        ("ask_user", json!({"question": ""}), "question"),
        ("ask_user", json!({"question": 5}), "question"),
        ("ask_user", json!({"question": "?", "workflow_id": "../../etc"}), "does not start with a letter or digit"),
        ("ask_user", json!({"question": "?", "workflow_id": ["w"]}), "workflow_id: is no text"),
        ("ask_user", json!({"question": "?", "answer": "yes"}), "answer: is no argument of ask_user"),
        ("ask_user", json!({"question": "?", "session_id": "x", "prompt": "rm"}), "is no argument of ask_user"),
        ("ask_user", json!({"question": "?", "delivery": "session"}), "is no argument of ask_user"),
        ("ask_user", json!({"question": "?", "options": [{"label": "a"}, {"label": "a"}]}), "options"),
        ("ask_user", json!({"question": "x".repeat(2 << 20)}), "the limit is 1048576"),
        ("check_answer", json!({"workflow": "w"}), "did you mean `workflow_id`?"),
        ("check_answer", json!({}), "workflow_id: is missing"),
        ("check_answer", json!({"workflow_id": "w", "question_id": "w"}), "question_id"),
        ("save_checkpoint", json!({"workflow_id": "w", "checkpoint": "text"}), "checkpoint: is missing or no object"),
        ("load_checkpoint", json!({"workflow_id": "/etc/passwd"}), "does not start with a letter or digit"),
        ("list_questions", json!({"all": true}), "all: is no argument of list_questions"),
    ] {
        let said = client.refused(tool, arguments.clone());
        assert!(said.starts_with("error: ") && said.contains("\nhint: ") && said.contains(expected), "{tool}: {said}");
        assert!(said.len() < 2000, "{tool}: {said}");
    }
    assert!(!world.mailbox().exists() || world.names("pending").is_empty());
}

#[test]
fn words_that_control_a_terminal_do_not_leave_a_list() {
    let world = World::new();
    world.run("ask-post", &["-w", "w", "\u{1b}[2J\u{202e}evil\nw2: forged"]).ok();
    let mut client = Client::of(&world, Era::Of2025);
    let listed = client.call("list_questions", json!({}));
    assert!(listed.lines().count() == 1 && !listed.contains(['\u{1b}', '\u{202e}']), "{listed:?}");
}

mod promises {
    use super::*;

    #[test]
    fn the_server_says_that_the_system_refuses_its_first_thread() {
        needs!("strace");
        let world = World::new();
        let before = strace(&[
            "-f",
            "-qq",
            "-e",
            "trace=clone,clone3",
            "-e",
            "inject=clone,clone3:error=EAGAIN:when=1",
            "-e",
            "signal=none",
            "-o",
            "/dev/null",
        ]);
        let out = output(world.wrapped(&before, "askbox").arg("mcp").stdin(std::process::Stdio::null()));
        assert_eq!(out.code(), 1, "{out:?}");
        assert!(out.stderr.contains("error: ") && out.stderr.contains("hint: ") && !out.stderr.contains("panicked"), "{out:?}");
    }
}
