//! What another MCP server asks the user while a run is alive. The server repeats the reply that it got as its tool's result.

use serde_json::{Value, json};

use crate::support::ClaudeWorld;

/// A run of `w` whose agent calls the server's tool, which asks this.
fn run_in_which_a_server_asks(hold: &str, ask: &Value) -> ClaudeWorld {
    let mut world = ClaudeWorld::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/eliciting_mcp_server.py");
    let servers = json!({"mcpServers": {"shop": {"command": "python3", "args": [script]}}});
    world.configure(&format!(
        "[limits]\nhold = '{hold}'\n[runner.claude]\nargs = ['--mcp-config', '{servers}']\nallowed_tools = ['mcp__shop__order']\n"
    ));
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    let find = json!({"tool": "ToolSearch", "input": {"query": "select:mcp__shop__order", "max_results": 5}});
    world.api.on("User chose: begin", json!([find, {"tool": "mcp__shop__order", "input": {"ask": ask}}, {"text": "done"}]));
    world.answer("w", "begin");
    world
}

fn form(properties: &Value, required: &[&str]) -> Value {
    json!({"mode": "form", "message": "Your order?", "requestedSchema": {"type": "object", "properties": properties, "required": required}})
}

/// The server's question, once it is posted.
fn question(world: &ClaudeWorld) -> Value {
    world.wait_status("w", "the server's question", |_| world.names("pending") == ["w.json"]);
    world.document("pending/w.json")
}

/// What the server was told at last, as the model read it.
fn reply(world: &ClaudeWorld) -> String {
    world.wait_status("w", "the end of the run", |_| world.rounds("closed", "w").len() >= 2 && world.names("running").is_empty());
    assert!(world.names("pending").is_empty() && world.names("answered").is_empty());
    world.api.turns().pop().expect("a turn").tool_results().concat()
}

#[test]
fn a_form_of_another_server_is_answered_in_the_mailbox_while_no_request_goes_to_the_model() {
    let fields = json!({
        "size": {"type": "string", "enum": ["small", "large"]},
        "pieces": {"type": "integer", "minimum": 1, "maximum": 9},
        "gift": {"type": "boolean"},
        "card": {"type": "string", "title": "Words on the card"},
        "extras": {"type": "array", "items": {"anyOf": [{"const": "bow", "title": "A bow"}, {"const": "box", "title": "A box"}]}},
    });
    let world = run_in_which_a_server_asks("30m", &form(&fields, &["size", "pieces", "gift", "extras"]));
    let asked = question(&world);
    assert!(asked["question"].as_str().is_some_and(|q| q.contains("The MCP server `shop` asks: Your order?")), "{asked}");
    let requests = world.api.turns().len();
    world.ok("ask-answer", &["w", "size=large", "pieces=3", "gift=yes", "card=leave-out", "extras=box"]);
    let told = reply(&world);
    let content = r#"{"action": "accept", "content": {"extras": ["box"], "gift": true, "pieces": 3, "size": "large"}}"#;
    assert!(told.contains(content), "{told}");
    assert_eq!(world.api.turns().len(), requests + 1, "one request, with the tool's result");
    assert_eq!(world.rounds("closed", "w").len(), 2);
}

#[test]
fn an_answer_outside_the_bounds_of_the_form_is_asked_again_and_not_given_to_the_server() {
    let world = run_in_which_a_server_asks("30m", &form(&json!({"pieces": {"type": "integer", "maximum": 9}}), &["pieces"]));
    let first = question(&world);
    world.answer("w", "10");
    world.wait_status("w", "the question again", |_| {
        world.names("pending") == ["w.json"] && world.document("pending/w.json")["question_id"] != first["question_id"]
    });
    let again = question(&world);
    assert!(again["question"].as_str().is_some_and(|q| q.contains("`pieces` has to be at most 9")), "{again}");
    world.answer("w", "9");
    let told = reply(&world);
    assert!(told.contains(r#"{"action": "accept", "content": {"pieces": 9}}"#), "{told}");
}

#[test]
fn a_form_that_is_declined_is_declined() {
    let world = run_in_which_a_server_asks("30m", &form(&json!({"name": {"type": "string"}}), &["name"]));
    question(&world);
    world.ok("ask-answer", &["decline", "w"]);
    assert!(reply(&world).contains(r#"{"action": "decline"}"#));
}

#[test]
fn an_address_is_shown_and_a_question_that_nobody_answers_in_time_is_cancelled_and_withdrawn() {
    let ask = json!({"mode": "url", "message": "Log in.", "url": "https://shop.invalid/login", "elicitationId": "e1"});
    let world = run_in_which_a_server_asks("2s", &ask);
    assert!(reply(&world).contains(r#""action": "cancel""#));
    let rounds = world.rounds("closed", "w");
    let asked = rounds.iter().find(|round| round["closed"]["state"] == "withdrawn").expect("a withdrawn question");
    assert!(asked["question"].as_str().is_some_and(|q| q.contains("https://shop.invalid/login")), "{asked}");
}
