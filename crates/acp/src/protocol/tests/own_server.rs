//! The server with askbox's tools: how it is offered, and the calls of its tools that need no permission.

use super::*;
use crate::protocol::OwnServer;

fn place() -> SessionPlace {
    let env = vec![("ASKBOX_RUN".to_owned(), "w/q/1".to_owned()), ("ASKBOX_NONCE".to_owned(), "secret".to_owned())];
    SessionPlace { cwd: "/w".into(), server: Some(OwnServer { program: "/opt/askbox".into(), env }), ..SessionPlace::default() }
}

#[test]
fn a_session_names_the_server_with_askboxs_tools() {
    let servers = |line: String| serde_json::from_str::<Value>(&line).unwrap()["params"]["mcpServers"].clone();
    let env = json!([{"name": "ASKBOX_RUN", "value": "w/q/1"}, {"name": "ASKBOX_NONCE", "value": "secret"}]);
    let offer = json!([{"name": "askbox", "command": "/opt/askbox", "args": ["mcp"], "env": env}]);
    let mut client = Client::new("ours", place(), None);
    assert_eq!(
        [client.new_session(), client.resume("s"), client.load("s", Vec::new())].map(servers),
        [offer.clone(), offer.clone(), offer]
    );
    assert_eq!(servers(Client::new("ours", SessionPlace::default(), None).new_session()), json!([]));
    assert!(!format!("{client:?}").contains("secret"));
}

/// Whether the call of a request is one of askbox's own, and its name. The updates come before the request.
fn asked_by(preset: &str, place: SessionPlace, updates: &[Value], call: &Value) -> (bool, String) {
    let mut client = prompted_in(place, presets::find(preset));
    updates.iter().for_each(|fields| drop(feed(&mut client, &update(fields.clone()))));
    let asked = json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission",
        "params": {"sessionId": "s", "options": [], "toolCall": call}});
    let items = feed(&mut client, &asked);
    let found = items.into_iter().find_map(|item| if let Item::Permission(asked) = item { Some(asked) } else { None }).unwrap();
    (found.is_own_tool, found.request.tool_name.raw().to_owned())
}

/// A call of codex's MCP client, with further fields.
fn of_codex(server: &str, tool: &str, more: Value) -> Value {
    let mut call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "execute", "status": "in_progress",
        "title": format!("mcp.{server}.{tool}"), "rawInput": {"server": server, "tool": tool, "arguments": {"question": "Merge?"}}});
    more.as_object().unwrap().iter().for_each(|(key, value)| call[key] = value.clone());
    call
}

#[test]
fn codex_marks_the_call_of_an_mcp_tool() {
    let request = json!({"toolCallId": "t", "kind": "execute", "status": "pending"});
    let mark = || json!({"_meta": {"is_mcp_tool_call": true}});
    let asked = |update: Value| asked_by("codex", place(), &[update], &request);
    assert_eq!(asked(of_codex("askbox", "ask_user", mark())), (true, "mcp__askbox__ask_user".into()));
    assert_eq!(asked(of_codex("askbox", "stop_run", mark())), (false, "mcp__askbox__stop_run".into()));
    assert_eq!(asked(of_codex("other", "ask_user", mark())), (false, "mcp__other__ask_user".into()));
    // Without the mark, the input is the model's.
    assert_eq!(asked(of_codex("askbox", "ask_user", json!({}))), (false, "execute".into()));
    let command = json!({"rawInput": {"command": "rm x", "server": "askbox", "tool": "ask_user"}, "title": "mcp.askbox.ask_user"});
    assert_eq!(asked(of_codex("askbox", "ask_user", command)), (false, "Bash".into()));
    // The calls of a server that is not offered are somebody else's.
    let other = asked_by("codex", SessionPlace::default(), &[of_codex("askbox", "ask_user", mark())], &request);
    assert_eq!(other, (false, "mcp__askbox__ask_user".into()));
    // Another call under the id of an open one.
    let edit = json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "kind": "edit",
        "content": [{"type": "diff", "path": "/w/a", "newText": "x"}]});
    assert!(!asked_by("codex", place(), &[of_codex("askbox", "ask_user", mark()), edit], &request).0);
    // Nothing is certain behind a lost line.
    let lost = json!({"sessionUpdate": "tool_call_update", "toolCallId": 7});
    assert!(!asked_by("codex", place(), &[of_codex("askbox", "ask_user", mark()), lost], &request).0);
}

#[test]
fn kimi_names_the_tool_in_its_request() {
    let began = |kind: &str, title: &str| {
        json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": title, "kind": kind, "status": "pending",
            "content": [{"type": "content", "content": {"type": "text", "text": "{}"}}]})
    };
    let asked = |preset, kind, began_as, title: Value| {
        asked_by(preset, place(), &[began(kind, began_as)], &json!({"toolCallId": "t", "title": title})).0
    };
    let own = "mcp__askbox__list_questions";
    assert!(asked("kimi", "other", own, own.into()), "also without an input");
    assert!(!asked("kimi", "other", own, "mcp__askbox__stop_run".into()));
    // The title of the call itself may be words of the model.
    assert!(!asked("kimi", "other", own, Value::Null) && !asked("kimi", "other", own, "Agent".into()));
    assert!(!asked("kimi", "execute", own, own.into()));
    // Nothing is known about the titles of others.
    assert!(["opencode", "gemini", "qwen", "codex", "claude-acp", "mine"].iter().all(|name| !asked(name, "other", own, own.into())));
}

#[test]
fn claudes_adapter_names_the_tool_beside_the_call() {
    let name = "mcp__askbox__ask_user";
    let asked = |call: Value| asked_by("claude-acp", place(), &[], &call);
    let call = |more: Value| {
        let mut call = json!({"toolCallId": "t", "title": name, "kind": "other", "rawInput": {"question": "Merge?"}});
        more.as_object().unwrap().iter().for_each(|(key, value)| call[key] = value.clone());
        call
    };
    assert_eq!(asked(call(json!({"_meta": {"claudeCode": {"toolName": name}}}))), (true, name.into()));
    assert!(!asked(call(json!({"_meta": {"claudeCode": {"toolName": "mcp__other__ask_user"}}}))).0);
    assert!(!asked(call(json!({}))).0, "a title alone is not enough");
}

#[test]
fn qwen_names_the_tool_beside_the_call() {
    // The title of such a call is its input.
    let asked = |meta: Value| {
        let call = json!({"toolCallId": "t", "title": "{\"question\":\"Merge?\"}", "kind": "other", "rawInput": {"question": "Merge?"}, "_meta": meta});
        asked_by("qwen", place(), &[], &call)
    };
    assert_eq!(asked(json!({"toolName": "mcp__askbox__ask_user"})), (true, "mcp__askbox__ask_user".into()));
    assert_eq!(asked(json!({"toolName": "mcp__other__ask_user"})), (false, "mcp__other__ask_user".into()));
    assert!(!asked(Value::Null).0);
}
