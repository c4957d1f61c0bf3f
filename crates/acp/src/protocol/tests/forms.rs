//! Forms of real agents, as they were measured, and others.

use super::*;
use askbox_agent::stream::{Asker, Elicitation, FormReply};

fn form(schema: &Value) -> Value {
    let params = json!({"sessionId": "s", "toolCallId": "t", "mode": "form", "message": "Which?", "requestedSchema": schema});
    json!({"jsonrpc": "2.0", "id": 0, "method": "elicitation/create", "params": params})
}

/// The only question of these items.
fn question(items: &[Item]) -> &Elicitation {
    items
        .iter()
        .find_map(|item| if let Item::Told(StreamItem::Elicitation(asked)) = item { Some(&**asked) } else { None })
        .expect("a question")
}

#[test]
fn a_form_waits_until_it_has_one_reply() {
    let mut client = prompted();
    let field = json!({"properties": {"q0": {"type": "string", "oneOf": [{"const": "merge"}]}}, "required": ["q0"]});
    let items = feed(&mut client, &form(&field));
    let asked = question(&items);
    assert_eq!((asked.message.raw(), &asked.schema, &asked.asker), ("Which?", &field, &Asker::AgentOrServer));
    // Another request with the same id cannot wait beside it.
    let again = feed(&mut client, &form(&field));
    assert!(matches!(again.last(), Some(Item::Say(line)) if line.contains("\"action\":\"cancel\"")));
    let reply = FormReply::Accept(json!({"q0": "merge"}));
    let (line, is_said) = client.reply_to_form("0", &reply).unwrap();
    assert!(is_said && line.contains("\"id\":0") && line.contains("\"content\":{\"q0\":\"merge\"}"), "{line}");
    assert_eq!(client.reply_to_form("0", &reply), None, "it was answered");
    // A form that waits is cancelled with the turn, and dropped at its end.
    feed(&mut client, &form(&field));
    assert!(client.cancel().starts_with("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"action\":\"cancel\"}}\n"));
    feed(&mut client, &form(&field));
    let ended = feed(&mut client, &json!({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "cancelled"}}));
    assert!(ended.iter().any(|item| matches!(item, Item::Told(StreamItem::RequestCancelled { request_id }) if *request_id == "0")));
    assert_eq!(client.reply_to_form("0", &reply), None);
}

#[test]
fn a_form_that_the_agent_takes_back_waits_no_longer() {
    let mut client = prompted();
    feed(&mut client, &form(&json!({"properties": {}})));
    let taken_back = json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 0}});
    let items = feed(&mut client, &taken_back);
    assert!(matches!(&items[..], [Item::Told(StreamItem::RequestCancelled { request_id })] if *request_id == "0"));
    assert_eq!(client.reply_to_form("0", &FormReply::Decline), None);
}

#[test]
fn a_question_of_qwen_is_a_form_and_no_permission() {
    let ask = |questions: Value, options: Value| {
        let mut client = prompted();
        let meta = json!({"qwenInteractionKind": "user_question", "qwenQuestions": questions});
        let asked = json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": {"sessionId": "s",
            "toolCall": {"toolCallId": "t", "title": "Ask user", "_meta": meta}, "options": options}});
        let items = feed(&mut client, &asked);
        assert!(!items.iter().any(|item| matches!(item, Item::Permission(_))), "{items:?}");
        (question(&items).clone(), client)
    };
    let once = json!([{"optionId": "p", "name": "Submit", "kind": "allow_once"}]);
    let (asked, mut client) = ask(json!([{"question": "Merge?", "options": [{"label": "yes", "description": "now"}]}]), once.clone());
    assert_eq!(asked.schema["properties"]["0"]["oneOf"][0], json!({"const": "yes", "title": "yes", "description": "now"}));
    assert_eq!((asked.own_words, asked.asker), (vec!["0".to_owned()], Asker::Agent));
    let (line, is_said) = client.reply_to_form("0", &FormReply::Accept(json!({"0": "yes"}))).unwrap();
    assert!(is_said && line.contains("\"optionId\":\"p\"") && line.contains("\"answers\":{\"0\":\"yes\"}"), "{line}");
    // Without a way to say it, nobody has decided.
    let (_, mut client) = ask(json!([{"question": "Merge?"}]), once);
    let (line, is_said) = client.reply_to_form("0", &FormReply::Decline).unwrap();
    assert!(!is_said && line.contains("\"outcome\":\"cancelled\""), "{line}");
    for questions in [json!([{}]), json!([{"question": " "}]), json!([{"question": "a", "options": [{"label": 1}]}]), json!(7)] {
        assert_eq!(ask(questions, json!([])).0.schema, Value::Null);
    }
}

#[test]
fn a_form_is_read_whole_or_not_at_all() {
    let mut client = prompted();
    let mut shown = |request: Value| {
        let items = feed(&mut client, &request);
        let schema = question(&items).schema.clone();
        client.reply_to_form("0", &FormReply::Cancel);
        schema
    };
    assert_eq!(shown(form(&json!({"properties": {"x": {"title": "x".repeat(300 << 10)}}}))), Value::Null);
    let mut address = form(&json!({"properties": {}}));
    address["params"]["mode"] = "url".into();
    assert_eq!(shown(address), Value::Null);
    assert_eq!(shown(form(&Value::Null)), Value::Null);
    let secret = shown(form(&json!({"properties": {"k": {"type": "string", "_meta": {"codex": {"isSecret": true}}}}})));
    assert_eq!(secret, json!({"properties": {"k": null}}));
}

#[test]
fn a_note_of_codex_is_left_alone_without_its_option() {
    let mut client = prompted();
    let note = json!({"type": "string", "_meta": {"codex": {"questionId": "q", "role": "user_note"}}});
    let choice = |options: Value| json!({"type": "string", "oneOf": options});
    for (options, required, is_taken) in [
        (json!([{"const": "a"}, {"const": "None of the above"}]), json!(["q"]), true),
        (json!([{"const": "a"}]), json!(["q"]), false),
        (json!([{"const": "None of the above"}]), json!(["q"]), false),
        (json!([{"const": "a"}, {"const": "None of the above"}]), json!(["q", "n"]), false),
    ] {
        let items = feed(&mut client, &form(&json!({"properties": {"q": choice(options), "n": note}, "required": required})));
        let asked = question(&items);
        assert_eq!((asked.schema["properties"]["n"].is_null(), asked.own_words == ["q"]), (is_taken, is_taken), "{asked:?}");
        let (line, _) = client.reply_to_form("0", &FormReply::Accept(json!({"q": "a"}))).unwrap();
        assert!(line.contains("\"content\":{\"q\":\"a\"}"), "an option stays as it is: {line}");
    }
}
