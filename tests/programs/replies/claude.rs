//! Claude Code: `askbox hook` beside the dialog of an attended session, and a run whose scripted agent speaks Claude Code's protocol.

use std::cell::RefCell;

use serde_json::{Value, json};

use crate::programs::beside_dialogs::{adds, event, hook_of, transcript, world};
use crate::programs::replies::decisions::{Decision, cells};
use crate::support::{World, whole_lines};

/// The questions that each program asks, in the form of AskUserQuestion.
pub(super) fn questions(is_several: bool) -> Value {
    let option = |label: &str| json!({"label": label, "description": format!("{label} it")});
    let first = json!({"question": "Merge or keep?", "header": "How", "multiSelect": false, "options": [option("merge"), option("keep")]});
    let second = json!({"question": "Which checks?", "header": "Checks", "multiSelect": true, "options": [option("unit"), option("lint")]});
    if is_several { json!([first, second]) } else { json!([first]) }
}

fn attended(decisions: &[Decision], tool: &str, input: impl Fn(bool) -> Value) -> Vec<String> {
    let (world, dialog) = (world(), RefCell::new(None));
    let asks = |n: usize, is_several: bool| {
        let (id, input) = (format!("toolu_{n}"), input(is_several));
        // The transcript has no input of a plan.
        let shown = if tool == "ExitPlanMode" { json!({}) } else { input.clone() };
        let _earlier = std::fs::remove_file(transcript(&world));
        adds(&world, &json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "name": tool, "id": id, "input": shown}]}}));
        let mut event = event(&world, tool, &input);
        let hook = hook_of(&world, &event, &[]);
        event["tool_use_id"] = id.into();
        dialog.replace(Some((hook, event)));
    };
    let heard = |_| {
        let mut dialog = dialog.borrow_mut();
        let (hook, event) = dialog.as_mut().unwrap();
        let Some(_) = hook.try_wait().unwrap() else { return Vec::new() };
        let said = std::io::read_to_string(hook.stdout.take().unwrap()).unwrap();
        // The plugin calls the hook behind a call of Bash, with the input that the call was made with.
        let output: Value = serde_json::from_str(&said).unwrap();
        event["tool_input"] = output["hookSpecificOutput"]["decision"]["updatedInput"].clone();
        event["hook_event_name"] = "PostToolUse".into();
        let is_made = tool == "Bash" && event["tool_input"].is_object();
        let behind = is_made.then(|| world.run_with("askbox", &["hook"], event.to_string().as_bytes()).ok().stdout);
        said.lines().chain(behind.as_deref().unwrap_or_default().lines()).map(str::to_owned).collect()
    };
    cells(&world, decisions, asks, heard)
}

pub(super) fn attended_call(decisions: &[Decision]) -> Vec<String> {
    attended(decisions, "Bash", |_| json!({"command": "echo one"}))
}

pub(super) fn attended_plan(decisions: &[Decision]) -> Vec<String> {
    attended(decisions, "ExitPlanMode", |_| json!({"plan": "# Plan\n", "planFilePath": "/x/plan.md"}))
}

pub(super) fn attended_question(decisions: &[Decision]) -> Vec<String> {
    attended(decisions, "AskUserQuestion", |is_several| json!({ "questions": questions(is_several) }))
}

/// It asks, and ends its turn behind the reply. Then it takes further messages.
const AGENT: &str = r#"
call='{"type":"assistant","cwd":"/work","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"echo one"}}]}}'
printf '%s\n' "$call" >>"$transcript"
say "$call"
say "{\"type\":\"control_request\",\"request_id\":\"r1\",\"request\":$(cat "$AGENT_DIR/request")}"
while IFS= read -r line; do
  printf '%s\n' "$line" >>"$AGENT_DIR/heard.$ASKBOX_WORKFLOW_ID"
  case $line in
  *'"type":"user"'*) message=${line#*\"uuid\":\"}; message=${message%%\"*}; receipt queued; receipt started; began ;;
  *) say '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}' ;;
  esac
  result done
done
exit 0
"#;

fn in_a_run(decisions: &[Decision], request: impl Fn(bool) -> Value) -> Vec<String> {
    let world = World::stepping(AGENT);
    world.make_mailbox();
    let _watcher = world.watch();
    let asks = |n: usize, is_several: bool| {
        std::fs::write(world.agent("request"), request(is_several).to_string()).unwrap();
        world.ask_and_answer(&format!("w{n}"));
    };
    let heard = |n: usize| {
        let is_over = world.rounds("closed", &format!("w{n}")).len() == 2;
        let text = std::fs::read_to_string(world.agent(&format!("heard.w{n}"))).unwrap_or_default();
        whole_lines(&text).filter(|_| is_over).map(str::to_owned).collect()
    };
    cells(&world, decisions, asks, heard)
}

pub(super) fn call_in_a_run(decisions: &[Decision]) -> Vec<String> {
    in_a_run(decisions, |_| json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "echo one"}, "tool_use_id": "t1"}))
}

/// A form with the questions.
pub(super) fn form(is_several: bool) -> Value {
    let one = |label: &str| json!({"const": label, "title": label});
    let mut form = json!({"type": "object", "properties": {}, "required": ["how"]});
    form["properties"]["how"] = json!({"type": "string", "title": "Merge or keep?", "oneOf": [one("merge"), one("keep")]});
    if is_several {
        form["properties"]["checks"] = json!({"type": "array", "title": "Which checks?", "items": {"anyOf": [one("unit"), one("lint")]}});
    }
    form
}

pub(super) fn form_in_a_run(decisions: &[Decision]) -> Vec<String> {
    let form =
        |is_several| json!({"subtype": "elicitation", "mcp_server_name": "shop", "message": "How?", "requested_schema": form(is_several)});
    in_a_run(decisions, form)
}
