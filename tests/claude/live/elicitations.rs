//! Questions that another MCP server asks the user while a run is alive. The server repeats the reply that it got as its tool's result.

use serde_json::{Map, Value, json};

use crate::claude::native::asking::{ask, wait_until_it_asks, which_database};
use crate::support::ClaudeWorld;
use crate::support::process::kill;

/// A run of `w` whose agent calls the server's tool, which asks this.
fn run_in_which_a_server_asks(hold: &str, ask: &Value) -> ClaudeWorld {
    run_in_which_servers_ask(hold, &[("shop", ask)])
}

/// A run of `w` whose agent calls the tools of these servers in one message.
fn run_in_which_servers_ask(hold: &str, asking: &[(&str, &Value)]) -> ClaudeWorld {
    run_with_limits(&format!("hold = '{hold}'"), asking)
}

fn run_with_limits(limits: &str, asking: &[(&str, &Value)]) -> ClaudeWorld {
    let mut world = ClaudeWorld::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/eliciting_mcp_server.py");
    let server = json!({"command": "python3", "args": [script]});
    let servers = json!({"mcpServers": asking.iter().map(|(name, _)| ((*name).to_owned(), server.clone())).collect::<Map<_, _>>()});
    let tools: Vec<_> = asking.iter().map(|(name, _)| format!("mcp__{name}__order")).collect();
    world.configure(&format!(
        "[limits]\n{limits}\n[relaunch]\nbackoff = '10ms'\n[runner.claude]\nargs = ['--mcp-config', '{servers}']\nallowed_tools = {tools:?}\n"
    ));
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    let find = json!({"tool": "ToolSearch", "input": {"query": format!("select:{}", tools.join(",")), "max_results": 5}});
    let calls: Vec<_> = tools.iter().zip(asking).map(|(tool, (_, ask))| json!({"tool": tool, "input": {"ask": ask}})).collect();
    world.api.on("User chose: begin", json!([find, {"tools": calls}, {"text": "done"}]));
    world.answer("w", "begin");
    world
}

/// A run of `w` whose agent asks with its own tool, and calls the server's tool in the same message. The server asks behind the agent.
#[track_caller]
fn run_that_asks_beside_a_server() -> ClaudeWorld {
    let mut world = ClaudeWorld::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/eliciting_mcp_server.py");
    let servers = json!({"mcpServers": {"shop": {"command": "python3", "args": [script]}}});
    world.configure(&format!("[runner.claude]\nargs = ['--mcp-config', '{servers}']\nallowed_tools = ['mcp__shop__order']\n"));
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    let find = json!({"tool": "ToolSearch", "input": {"query": "select:mcp__shop__order", "max_results": 5}});
    let ask_too = form(&json!({"gift": {"type": "boolean"}}), &[]);
    let order = json!({"tool": "mcp__shop__order", "input": {"ask": ask_too, "behind": world.in_mailbox("pending/w.json")}});
    world.api.on("User chose: begin", json!([find, {"tools": [ask(&which_database()), order]}, {"text": "done"}]));
    world.answer("w", "begin");
    world
}

#[test]
fn an_agent_reads_that_a_server_could_not_ask_beside_it() {
    let world = run_that_asks_beside_a_server();
    wait_until_it_asks(&world);
    assert_eq!(world.document("pending/w.json")["question"], "Which database?");
    world.answer("w", "SQLite");
    world.wait_state("w", "delivered");
    let turn = world.api.turns().pop().expect("a turn");
    let read = format!("{}\n{}", turn.tool_results().join("\n"), turn.model_text());
    // The server's result mostly comes behind the suspended call. Claude Code then loses the result of that call, so the answer is a message.
    assert!(read.contains("User chose: SQLite") || read.contains("\"Which database?\"=\"SQLite\""), "{read}");
    let said = "these programs wanted to ask your user something as well: \"shop\". Nobody was asked";
    assert!(read.contains(said), "{read}");
}

fn form(properties: &Value, required: &[&str]) -> Value {
    json!({"mode": "form", "message": "Your order?", "requestedSchema": {"type": "object", "properties": properties, "required": required}})
}

/// The server's question, once it is posted.
fn question(world: &ClaudeWorld) -> Value {
    world.wait_status("w", "the server's question", |_| world.names("pending") == ["w.json"]);
    world.document("pending/w.json")
}

/// The server's latest reply, as the model read it.
fn reply(world: &ClaudeWorld) -> String {
    world.wait_status("w", "the end of the run", |_| world.rounds("closed", "w").len() >= 2 && world.names("running").is_empty());
    assert!(world.names("pending").is_empty() && world.names("answered").is_empty());
    world.api.turns().pop().expect("a turn").tool_results().concat()
}

#[test]
fn a_number_outside_the_forms_bounds_is_refused_at_once() {
    let world = run_in_which_a_server_asks("30m", &form(&json!({"pieces": {"type": "integer", "minimum": 1, "maximum": 9}}), &["pieces"]));
    question(&world);
    for outside in ["10", "0", "1.5"] {
        let refused = world.run("ask-answer", &["w", outside]);
        assert!(refused.code() == 5 && refused.stderr.contains("answer with a whole number from 1 to 9"), "{refused:?}");
    }
    world.answer("w", "9");
    assert!(reply(&world).contains(r#"{"action": "accept", "content": {"pieces": 9}}"#), "{}", reply(&world));
    assert_eq!(world.rounds("closed", "w").len(), 2);
}

#[test]
fn an_answer_outside_the_forms_bounds_is_asked_again() {
    // The mailbox has no bounds for a text.
    let world = run_in_which_a_server_asks("30m", &form(&json!({"name": {"type": "string", "maxLength": 3}}), &["name"]));
    let first = question(&world);
    world.answer("w", "Walnut");
    world.wait_status("w", "the question again", |_| {
        world.names("pending") == ["w.json"] && world.document("pending/w.json")["question_id"] != first["question_id"]
    });
    let again = question(&world);
    assert!(again["question"].as_str().is_some_and(|q| q.contains("`name` has to be at most 3 characters")), "{again}");
    world.answer("w", "Nut");
    let told = reply(&world);
    assert!(told.contains(r#"{"action": "accept", "content": {"name": "Nut"}}"#), "{told}");
    let ends: Vec<_> = world.rounds("closed", "w").iter().map(|round| round["closed"]["state"].clone()).collect();
    assert_eq!(ends.iter().filter(|end| *end == "superseded").count(), 1, "nobody was given the first answer: {ends:?}");
}

#[test]
fn an_answer_to_a_changed_form_is_not_given_to_the_server() {
    let world = run_in_which_a_server_asks("30m", &form(&json!({"pay": {"type": "boolean", "title": "Transfer 1000 EUR?"}}), &["pay"]));
    let first = question(&world);
    world.edit_pending("w", "Transfer 1000 EUR?", "Show the balance?");
    world.answer("w", "yes");
    world.wait_status("w", "the question again", |_| {
        world.names("pending") == ["w.json"] && world.document("pending/w.json")["question_id"] != first["question_id"]
    });
    assert!(question(&world).to_string().contains("Transfer 1000 EUR?"));
    world.answer("w", "no");
    assert!(reply(&world).contains(r#"{"action": "accept", "content": {"pay": false}}"#), "{}", reply(&world));
}

#[test]
fn what_the_user_asks_back_about_a_form_reaches_the_agent() {
    let world = run_in_which_a_server_asks("30m", &form(&json!({"name": {"type": "string"}}), &["name"]));
    question(&world);
    world.ok("ask-answer", &["ask-back", "w", "Whose name, the walnut's?"]);
    assert!(reply(&world).contains(r#""action": "cancel""#));
    let read = world.api.turns().pop().expect("a turn").model_text();
    assert!(read.contains("Your user asks back before they decide: Whose name, the walnut's?"), "{read}");
}

#[test]
fn a_note_beside_a_reply_to_a_server_reaches_the_agent() {
    for (answer, action) in [(&["w", "Ann"][..], "accept"), (&["decline", "w"][..], "decline")] {
        let world = run_in_which_a_server_asks("30m", &form(&json!({"name": {"type": "string"}}), &["name"]));
        question(&world);
        world.ok("ask-answer", &[answer, &["--note", "ask the walnut first"]].concat());
        assert!(reply(&world).contains(&format!(r#""action": "{action}""#)), "{}", reply(&world));
        let read = world.api.turns().pop().expect("a turn").model_text();
        assert!(read.contains("The server was not told what they say beside it: ask the walnut first"), "{read}");
    }
}

#[test]
fn two_servers_that_ask_at_once_are_answered_in_turn() {
    let (one, two) = (form(&json!({"one": {"type": "string"}}), &["one"]), form(&json!({"two": {"type": "string"}}), &["two"]));
    let world = run_in_which_servers_ask("30m", &[("shop", &one), ("bank", &two)]);
    let first = question(&world);
    world.answer("w", "first");
    world.wait_status("w", "the other question", |_| {
        world.names("pending") == ["w.json"] && world.document("pending/w.json")["question_id"] != first["question_id"]
    });
    world.answer("w", "second");
    world.wait_state("w", "delivered");
    let told = reply(&world);
    assert!(told.contains(": \"first\"}") && told.contains(": \"second\"}"), "{told}");
    assert_eq!(world.rounds("closed", "w").len(), 3);
}

/// A run whose server asks for a name, and whose supervisor was killed while it asked. Returns the question.
fn run_whose_supervisor_was_killed() -> (ClaudeWorld, Value) {
    let world = run_in_which_a_server_asks("30m", &form(&json!({"name": {"type": "string"}}), &["name"]));
    let asked = question(&world);
    kill(world.only_process("relaunch supervise"));
    world.wait_status("w", "asking", |s| {
        s["state"] == "pending" && world.rounds("closed", "w").len() == 1 && world.names("running").is_empty()
    });
    assert_eq!(question(&world)["question_id"], asked["question_id"]);
    (world, asked)
}

/// The step that makes the agent call the tool again.
fn order(ask: &Value) -> Value {
    json!({"tool": "mcp__shop__order", "input": {"ask": ask}})
}

fn ask_for_a_name() -> Value {
    form(&json!({"name": {"type": "string"}}), &["name"])
}

#[test]
fn a_servers_question_outlives_a_killed_supervisor() {
    let (world, _) = run_whose_supervisor_was_killed();
    let requests = world.api.turns().len();
    world.api.on("User chose: Ann", json!([order(&ask_for_a_name()), order(&ask_for_a_name()), {"text": "thank you"}]));
    world.answer("w", "Ann");
    // The first call has the answer; the second one is another order.
    world.wait_status("w", "the second question", |_| world.names("pending") == ["w.json"] && world.rounds("closed", "w").len() == 1);
    let turns = world.api.turns();
    assert_eq!(turns.len(), requests + 2, "none while it waited");
    assert!(turns[requests].model_text().contains("make it again with exactly the same input"), "{}", turns[requests].model_text());
    let told = turns[requests + 1].tool_results().pop().expect("a result");
    assert!(told.contains(r#"{"action": "accept", "content": {"name": "Ann"}}"#), "{told}");
    world.answer("w", "Ben");
    let told = reply(&world);
    assert!(told.contains(r#"{"name": "Ben"}"#), "{told}");
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "thank you");
}

#[test]
fn a_run_whose_time_ends_while_a_server_waits_has_asked() {
    // Long enough for a busy machine to come to the question.
    let world = run_with_limits("hold = '30m'\nrun_time = '90s'", &[("shop", &ask_for_a_name())]);
    let asked = question(&world);
    let requests = world.api.turns().len();
    world.wait_status("w", "asking", |s| {
        s["state"] == "pending" && world.rounds("closed", "w").len() == 1 && world.names("running").is_empty()
    });
    assert_eq!(world.closed("w", "delivered", 1).len(), 1, "what the run was to bring, the agent has");
    assert_eq!(question(&world)["question_id"], asked["question_id"]);
    assert_eq!(world.api.turns().len(), requests, "the run ends without a request");
    world.api.on("User chose: Ann", json!([order(&ask_for_a_name()), {"text": "thank you"}]));
    world.answer("w", "Ann");
    assert!(reply(&world).contains(r#"{"action": "accept", "content": {"name": "Ann"}}"#), "{}", reply(&world));
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "thank you");
    assert_eq!(world.api.turns().len(), requests + 2);
}

#[test]
fn an_answer_a_server_may_have_had_is_not_given_twice() {
    let (world, asked) = run_whose_supervisor_was_killed();
    let id = asked["question_id"].as_str().expect("an id");
    // As if the supervisor had died between the mark and its next step.
    std::fs::create_dir_all(world.in_mailbox(format!("runs/w/{id}"))).expect("a folder");
    std::fs::write(world.in_mailbox(format!("runs/w/{id}/given")), "").expect("a mark");
    world.api.on("User chose: Ann", json!([order(&ask_for_a_name()), {"text": "thank you"}]));
    world.answer("w", "Ann");
    world.wait_status("w", "the question again", |_| {
        world.names("pending") == ["w.json"] && world.document("pending/w.json")["question_id"] != asked["question_id"]
    });
    let again = question(&world);
    assert!(again["question"].as_str().is_some_and(|q| q.contains("the server may have your answer")), "{again}");
    let said = world.api.turns().pop().expect("a turn").model_text();
    assert!(said.contains("it may have had this answer before that"), "{said}");
    world.ok("ask-answer", &["decline", "w"]);
    assert!(reply(&world).contains(r#"{"action": "decline"}"#));
}

#[test]
fn a_question_its_server_takes_back_is_withdrawn() {
    let mut world = ClaudeWorld::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/cancelling_mcp_server.py");
    let servers = json!({"mcpServers": {"shop": {"command": "python3", "args": [script]}}});
    world.configure(&format!("[runner.claude]\nargs = ['--mcp-config', '{servers}']\nallowed_tools = ['mcp__shop']\n"));
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    let find = json!({"tool": "ToolSearch", "input": {"query": "select:mcp__shop__order", "max_results": 5}});
    world.api.on("User chose: begin", json!([find, {"tool": "mcp__shop__order", "input": {}}, {"text": "done"}]));
    world.answer("w", "begin");
    question(&world);
    std::fs::write(world.work().join("give-up"), "").expect("a file");
    assert!(reply(&world).contains("the server gave up"));
    let rounds = world.rounds("closed", "w");
    let end = &rounds.iter().find(|round| round["elicited_by"] == "shop").expect("the question")["closed"];
    assert!(end["state"] == "withdrawn" && end["why"] == "the agent no longer waits for the answer", "{end}");
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "done");
}

#[test]
fn a_stop_while_a_server_waits_withdraws_its_question() {
    let world = run_in_which_a_server_asks("30m", &form(&json!({"name": {"type": "string"}}), &["name"]));
    question(&world);
    world.ok("relaunch", &["stop", "w"]);
    world.wait_state("w", "interrupted");
    assert!(world.names("pending").is_empty() && world.names("answered").is_empty());
    assert!(world.rounds("closed", "w").iter().any(|round| round["closed"]["state"] == "withdrawn"));
}

#[test]
fn a_form_that_is_declined_is_declined() {
    let world = run_in_which_a_server_asks("30m", &form(&json!({"name": {"type": "string"}}), &["name"]));
    question(&world);
    world.ok("ask-answer", &["decline", "w"]);
    assert!(reply(&world).contains(r#"{"action": "decline"}"#));
}

#[test]
fn an_address_is_shown_and_an_unanswered_question_cancelled() {
    let ask = json!({"mode": "url", "message": "Log in.", "url": "https://shop.invalid/login", "elicitationId": "e1"});
    let world = run_in_which_a_server_asks("2s", &ask);
    assert!(reply(&world).contains(r#""action": "cancel""#));
    let rounds = world.rounds("closed", "w");
    let asked = rounds.iter().find(|round| round["closed"]["state"] == "withdrawn").expect("a withdrawn question");
    assert!(asked["question"].as_str().is_some_and(|q| q.contains("https://shop.invalid/login")), "{asked}");
}

mod promises {
    use super::*;

    #[test]
    fn a_servers_form_is_answered_without_a_request_to_the_model() {
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
}
