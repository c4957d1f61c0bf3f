//! Askers of askbox itself: its small agent, `ask-post --wait`, and the tool `ask_user` of `askbox mcp`.

use std::cell::RefCell;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::agent::scene::{Scene, blocks};
use crate::programs::beside_opencode::Talk;
use crate::programs::replies::claude::questions;
use crate::programs::replies::decisions::{Decision, cells};
use crate::support::{World, output};

fn agent(decisions: &[Decision], call: impl Fn(bool) -> Value) -> Vec<String> {
    let scene = Scene::new();
    let session = |n: usize| format!("0b0e4c6e-3c2f-4d4e-9d57-1f1f6a9a1c{n:02}");
    let run = |args: &[&str]| output(scene.careful_agent(&["--output-format", "stream-json"]).args(args)).ok();
    let asks = |n: usize, is_several| {
        run(&["--session-id", &session(n), &format!("x @@{}", json!([call(is_several), {"text": "done"}]))]);
    };
    // The model's next request has the result of the call.
    let heard = |n: usize| {
        if !scene.in_mailbox(format!("answered/{}.json", session(n))).exists() {
            return Vec::new();
        }
        run(&["--resume", &session(n)]);
        let mut blocks = blocks(scene.turns().last().unwrap().messages().last().unwrap());
        // The scripted model makes the id.
        blocks.iter_mut().for_each(|block| block["tool_use_id"] = "CALL".into());
        blocks.iter().map(Value::to_string).collect()
    };
    cells(&scene, decisions, asks, heard)
}

pub(super) fn ask_agent_call(decisions: &[Decision]) -> Vec<String> {
    agent(decisions, |_| json!({"tool": "Bash", "input": {"command": "echo one"}}))
}

pub(super) fn ask_agent_question(decisions: &[Decision]) -> Vec<String> {
    agent(decisions, |is_several| json!({"tool": "AskUserQuestion", "input": {"questions": questions(is_several)}}))
}

/// The questions as `ask-post` and `ask_user` take them.
fn posted(is_several: bool) -> Value {
    match questions(is_several) {
        all if is_several => json!({ "questions": all }),
        one => json!({"question": one[0]["question"], "options": one[0]["options"]}),
    }
}

pub(super) fn ask_post(decisions: &[Decision]) -> Vec<String> {
    let (world, post) = (World::new(), RefCell::new(None::<Child>));
    world.make_mailbox();
    let asks = |n: usize, is_several| {
        std::fs::write(world.path("question"), posted(is_several).to_string()).unwrap();
        let mut command = world.command("ask-post");
        command.args(["-w", &format!("w{n}"), "--wait", "10m", "--file"]).arg(world.path("question"));
        post.replace(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()));
    };
    let heard = |_| {
        let has_ended = post.borrow_mut().as_mut().is_some_and(|post| post.try_wait().unwrap().is_some());
        let Some(post) = has_ended.then(|| post.take()).flatten() else { return Vec::new() };
        let said = post.wait_with_output().unwrap();
        let [out, err] = [said.stdout, said.stderr].map(|bytes| Value::from(String::from_utf8(bytes).unwrap()));
        vec![out.to_string(), format!("standard error: {err}"), said.status.to_string()]
    };
    cells(&world, decisions, asks, heard)
}

pub(super) fn ask_user(decisions: &[Decision]) -> Vec<String> {
    let world = World::new();
    world.configure("[mcp]\nwait = \"10m\"");
    world.make_mailbox();
    let mut server = Talk::start(world.command("askbox").arg("mcp"));
    let begin = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}});
    server.tell(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": begin}));
    server.hear().unwrap();
    server.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let server = RefCell::new(server);
    let asks = |n: usize, is_several| {
        let mut input = posted(is_several);
        input["workflow_id"] = format!("w{n}").into();
        let params = json!({"name": "ask_user", "arguments": input});
        server.borrow_mut().tell(&json!({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params}));
    };
    cells(&world, decisions, asks, |_| server.borrow().heard())
}
