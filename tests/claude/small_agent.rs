//! One script through `claude -p` and through `ask-agent`: the model is told the same, and askbox reads the same events.

use crate::support::claude::api::Request;
use crate::support::claude::uuid;
use crate::support::{ClaudeWorld, Outcome, output};
use askbox_agent::events::EventKind;
use askbox_agent::stream::lines::BoundedLines;
use askbox_agent::stream::{Interpreter, StreamItem};
use serde_json::{Value, json};

/// The events of a run, as askbox records them, without ids, times, tokens and notes. The number of turns is left out too: `claude` counts
/// two calls of one message as two turns.
fn events(outcome: &Outcome) -> Vec<String> {
    let mut interpreter = Interpreter::new();
    let mut lines = BoundedLines::new(outcome.stdout.as_bytes());
    let mut events = Vec::new();
    while let Some(line) = lines.next_line().unwrap() {
        for item in interpreter.feed(&line) {
            let StreamItem::Event(event) = item else { continue };
            events.push(match event {
                EventKind::Started { cwd, permission_mode, .. } => format!("started in {} as {}", cwd.raw(), permission_mode.raw()),
                EventKind::Text { text, .. } => format!("text {}", text.raw()),
                EventKind::ToolCall { name, input, .. } => format!("call of {}: {input}", name.raw()),
                // Only the shell's output is the same: other results are in the words of the program.
                EventKind::ToolResult { name: Some(name), is_error, text, .. } if name == "Bash" => {
                    format!("result {is_error}: {}", text.raw())
                }
                EventKind::ToolResult { is_error, .. } => format!("result {is_error}"),
                EventKind::Result { is_error, text, terminal_reason, stop_reason, .. } => {
                    let word = |reason: Option<askbox_mailbox::untrusted::Untrusted>| reason.map(|reason| reason.raw().to_owned());
                    format!("end {is_error} {:?} {:?}: {}", word(terminal_reason), word(stop_reason), text.raw())
                }
                _ => continue,
            });
        }
    }
    // `claude` makes the calls of one message at the same time, and `ask-agent` one after the other. `claude` may even begin with the first
    // call before it has read the second one. So the calls come first, and then the results.
    let is_of_tool = |line: &str| line.starts_with("call of ") || line.starts_with("result ");
    events.chunk_by_mut(|one, next| is_of_tool(one) && is_of_tool(next)).for_each(<[String]>::sort);
    events
}

/// The roles and the kinds of blocks of the messages that a request holds, from the task on.
fn shape(request: &Request) -> Vec<String> {
    let kinds = |message: &Value| {
        let blocks = message["content"].as_array().cloned().unwrap_or_else(|| vec![json!({"type": "text"})]);
        let kinds: Vec<_> = blocks.iter().filter_map(|block| block["type"].as_str().map(str::to_owned)).collect();
        format!("{} {}", message["role"].as_str().unwrap(), kinds.join("+"))
    };
    // What `claude` says to the model beside the task is its own.
    request.messages().iter().skip_while(|message| message["role"] != "assistant").map(kinds).collect()
}

mod promises {
    use super::*;

    #[test]
    fn one_script_is_the_same_work_for_claude_and_ask_agent() {
        let world = ClaudeWorld::without_askbox();
        let bash = |command: &str| json!({"tool": "Bash", "input": {"command": command}});
        let steps = json!([
            {"text": "I look.", "tool": "Bash", "input": {"command": "echo hi"}},
            bash("echo bad; exit 3"),
            {"tool": "Write", "input": {"file_path": world.work().join("new.txt"), "content": "x\n"}},
            {"tools": [bash("echo one"), bash("echo two")]},
            {"text": "done"},
        ]);
        let prompt = format!("Do it. @@{steps}");
        let flags = ["--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits", "--allowedTools=Bash"];
        let mut runs = Vec::new();
        for is_claude in [true, false] {
            let before = world.api.turns().len();
            let session = uuid();
            let args = [&flags[..], &["--session-id", &session]].concat();
            let outcome = if is_claude {
                world.prompt(&prompt, &args)
            } else {
                output(world.command("ask-agent").arg("-p").args(&args).arg(&prompt))
            };
            let events = events(&outcome.ok());
            let turns = world.api.turns().split_off(before);
            // In the order in which the calls ended, which differs: see above.
            let told = |turn: &Request| {
                let mut told: Vec<String> = turn.tool_results().into_iter().filter(|text| !text.contains("new.txt")).collect();
                told.sort();
                told
            };
            let told: Vec<Vec<String>> = turns.iter().map(told).collect();
            assert!(world.transcript_of(&session).is_some(), "the transcript lies where askbox looks for it");
            runs.push((events, told, turns.iter().map(shape).collect::<Vec<_>>()));
            std::fs::remove_file(world.work().join("new.txt")).unwrap();
        }
        let (ours, theirs) = (runs.pop().unwrap(), runs.pop().unwrap());
        assert_eq!(ours.0, theirs.0, "events");
        assert_eq!(ours.1, theirs.1, "what the model was told");
        assert_eq!(ours.2, theirs.2, "messages");
    }
}
