//! Words of an agent that control a terminal, reorder its text, or look like lines of ours: in every string of its stream, in its
//! questions, its checkpoint and its standard error. None of them reaches a terminal, whichever program prints.

use crate::support::{World, needs, output, until};

/// The words, as JSON writes them: an escape sequence, the same with a C1 control, two bidirectional controls, a bell, and a forged line.
const HOSTILE: &str = r"h\u001b[35;45m\u009b35m\u202e\u2066\u0007\r\nFORGED line";
/// The same as it is.
const RAW: &str = "h\u{1b}[35;45m\u{9b}35m\u{202e}\u{2066}\u{7}\r\nFORGED line";

/// The output of the agent: `HH` stands for the words. It contains every message that is understood, with the words in each of its
/// strings.
const STREAM: &str = r#"
{"type":"system","subtype":"init","session_id":"SESSION","model":"HH","claude_code_version":"HH","permissionMode":"HH","cwd":"HH"}
{"type":"system","subtype":"init","session_id":"HH","model":"HH","claude_code_version":"HH","permissionMode":"HH","cwd":"HH"}
{"type":"system","subtype":"api_retry","error_status":529,"attempt":1,"max_retries":2,"retry_delay_ms":1,"error":"HH"}
{"type":"assistant","parent_tool_use_id":"HH","message":{"id":"HH","model":"HH","content":[{"type":"text","text":"HH"}]}}
{"type":"assistant","message":{"id":"HH","content":[{"type":"text","text":"HH"},{"type":"thinking","thinking":"HH"},{"type":"tool_use","id":"HH","name":"HH","input":{"HH":"HH"}}]}}
{"type":"assistant","message":{"id":"HH","content":[{"type":"tool_use","id":"w","name":"Write","input":{"file_path":"HH"}}]}}
{"type":"user","parent_tool_use_id":"HH","message":{"content":[{"type":"tool_result","tool_use_id":"HH","is_error":true,"content":"HH"}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"w","content":[{"type":"text","text":"HH"},{"type":"HH"}]}]}}
{"type":"control_request","request_id":"HH","request":{"subtype":"can_use_tool","tool_name":"HH","input":{"HH":"HH"},"tool_use_id":"HH","description":"HH"}}
{"type":"control_request","request_id":"HH","request":{"subtype":"HH"}}
{"type":"control_cancel_request","request_id":"HH"}
{"type":"control_response","response":{"request_id":"HH","subtype":"HH","error":"HH","response":{"HH":"HH"}}}
{"type":"command_lifecycle","command_uuid":"HH","state":"HH"}
{"type":"HH","subtype":"HH"}
"HH"
"#;
const DELIVERED: &str = r#"{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","stop_reason":"HH","session_id":"SESSION","result":"HH"}"#;
const FAILED: &str = r#"{"type":"result","subtype":"HH","is_error":true,"terminal_reason":"HH","stop_reason":"HH","session_id":"HH","result":"HH","errors":["HH"],"api_error_type":"HH"}"#;
const REFUSED: &str = r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":401,"api_error_type":"HH","session_id":"SESSION","result":"HH"}"#;
const DEFERRED: &str = r#"{"type":"result","subtype":"success","is_error":false,"terminal_reason":"tool_deferred","deferred_tool_use":{"id":"HH","name":"HH","input":{}},"session_id":"SESSION","result":"HH"}"#;

/// An agent that prints the stream and one more line, and writes the words to its standard error. Without that line it fails.
fn agent(last: &str) -> String {
    let end = if last.is_empty() { "exit 3" } else { "" };
    let lines = format!("{}\n{last}\n", STREAM.trim()).replace("HH", HOSTILE);
    // The session and the words as they are, in a line that is no JSON.
    format!(
        "cat >\"$AGENT_DIR/lines.$$\" <<'END'\n{lines}END\nsed \"s/SESSION/$session/\" \"$AGENT_DIR/lines.$$\"\n\
         printf 'h\\033[35;45m\\302\\2335m\\342\\200\\256\\007\\rFORGED\\n'\nprintf '\\033[35;45mFORGED\\302\\233\\n' >&2\n{end}\n"
    )
}

/// Checks that no control character of the words is in an output, and that no line of it was forged.
#[track_caller]
fn is_harmless(what: &str, shown: &str) {
    is_filtered(what, shown);
    // The terminal of the test turns a line feed into two characters.
    let forged = shown.lines().any(|line| line.trim_start_matches('\r').starts_with("FORGED"));
    assert!(!forged, "{what} printed a forged line: {shown}");
}

/// Checks that no control character of the words is in an output.
#[track_caller]
fn is_filtered(what: &str, shown: &str) {
    for raw in ["\u{1b}[35;45m", "\u{9b}", "\u{202e}", "\u{2066}", "\u{7}"] {
        assert!(!shown.contains(raw), "{what} printed {raw:?}: {shown:?}");
    }
}

/// Runs a program on a terminal of its own. Returns what it printed.
#[track_caller]
fn shown(world: &World, program: &str, args: &[&str]) -> String {
    let spawn = "import os, pty, sys\nos.environ['TERM'] = 'xterm'\nsys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let wrapper = ["python3".to_owned(), "-c".to_owned(), spawn.to_owned()];
    output(world.wrapped(&wrapper, program).args(args)).words()
}

/// Everything that shows workflows, their questions and their checkpoints.
#[track_caller]
fn everything_is_harmless(world: &World) {
    let printed: [(&str, &[&str]); 17] = [
        ("relaunch", &["status"]),
        ("relaunch", &["status", "docs"]),
        ("relaunch", &["status", "--summary"]),
        ("relaunch", &["status", "docs", "--json"]),
        ("relaunch", &["logs", "docs"]),
        ("relaunch", &["events", "docs"]),
        ("relaunch", &["stop", "docs"]),
        ("ask-answer", &["list"]),
        ("ask-answer", &["show", "asks"]),
        ("ask-answer", &["show", "asks", "--json"]),
        ("ask-answer", &["asks", "none of them"]),
        ("checkpoint", &["show", "asks"]),
        ("checkpoint", &["show", "asks", "--json"]),
        ("checkpoint", &["list"]),
        ("askbox", &["tree"]),
        ("askbox", &["tree", "docs", "--json"]),
        ("askbox", &["doctor"]),
    ];
    for (program, args) in printed {
        is_harmless(&format!("{program} {args:?} into a pipe"), &world.run(program, args).words());
        is_harmless(&format!("{program} {args:?} on a terminal"), &shown(world, program, args));
    }
    // These print values with their lines, and into a pipe unchanged.
    for (program, args) in
        [("checkpoint", ["env", "asks"].as_slice()), ("checkpoint", &["get", "asks", "context"]), ("relaunch", &["resume", "docs"])]
    {
        is_filtered(&format!("{program} {args:?} on a terminal"), &shown(world, program, args));
    }
}

/// A question and a checkpoint with the words in each string, and files with the words in their names and contents.
fn ask(world: &World) {
    let words = format!("\"{HOSTILE}\"");
    let question = r#"{"workflow_id":"asks","question":HH,"options":[{"label":"a","description":HH,"preview":HH},{"label":HH}],"free_text":false,
        "asked_by":HH,"context":HH,"timestamp":HH,"on_expiry":"keep","unknown":HH}"#;
    let posted = world.run_with("ask-post", &["--file", "-"], question.replace("HH", &words).as_bytes());
    assert!(posted.status.success(), "{posted:?}");
    let checkpoint = r#"{"workflow_type":HH,"current_step":HH,"completed_steps":[HH],"pending_steps":[HH],"files":{HH:"/x"},
        "state_variables":{HH:HH},"context":HH,"next_action":HH,"mine":HH}"#;
    let saved = world.run_with("checkpoint", &["save", "asks", "--file", "-"], checkpoint.replace("HH", &words).as_bytes());
    assert!(saved.status.success(), "{saved:?}");
    std::fs::write(world.in_mailbox("pending").join(RAW.replace('/', "")), RAW).expect("a file");
    std::fs::write(world.in_mailbox("pending/broken.json"), format!("{{\"workflow_id\":{words},\"{HOSTILE}\":1}}")).expect("a file");
}

#[test]
fn a_foreground_run_shows_no_control_character_of_the_agent() {
    needs!("python3");
    for last in [DELIVERED, FAILED, ""] {
        let world = World::stepping(&agent(last));
        world.configure("attempts = 1\n");
        std::fs::write(world.path("prompt.md"), "Do it.").expect("prompt");
        for (id, format) in [("words", &[][..]), ("stream", &["--stream"]), ("json", &["--json"])] {
            let printed = shown(&world, "relaunch", &[&["run", "-w", id, "prompt.md"], format].concat());
            is_harmless(&format!("relaunch run {format:?}"), &printed);
            assert!(printed.contains("FORGED line"), "the agent's words are not shown at all: {printed}");
        }
    }
}

#[test]
fn what_a_hostile_agent_writes_never_reaches_a_terminal_raw() {
    needs!("python3");
    for (last, state) in [(DELIVERED, "delivered"), (FAILED, "parked"), (REFUSED, "parked"), (DEFERRED, "parked")] {
        let world = World::stepping(&agent(last));
        world.configure("attempts = 1\n");
        ask(&world);
        let watcher = world.start_watcher();
        world.ask_and_answer("docs");
        until("the round ends", || world.state("docs") == state);
        if state == "delivered" {
            everything_is_harmless(&world);
        }
        for (program, args) in [("relaunch", ["status", "docs"].as_slice()), ("relaunch", &["logs", "docs"]), ("askbox", &["doctor"])] {
            is_harmless(&format!("{program} {args:?} of a run that is {state}"), &shown(&world, program, args));
        }
        drop(watcher);
        is_harmless("the watcher", &world.watchers_said());
    }
}
