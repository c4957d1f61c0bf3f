//! The shell calls of real agents, as they ask about them.

use super::*;
use crate::protocol::Permission;

/// The request of the agent with this preset for a permission for a shell call. `before` are its updates about the call.
fn asked(preset: &str, before: &[Value], call: Value) -> Permission {
    let mut client = prompted_by(presets::find(preset));
    for fields in before {
        let mut fields = fields.clone();
        fields["toolCallId"] = "t".into();
        feed(&mut client, &update(fields));
    }
    let mut call = call;
    call["toolCallId"] = "t".into();
    call["kind"] = "execute".into();
    let asked = json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission",
        "params": {"sessionId": "s", "options": [], "toolCall": call}});
    let items = feed(&mut client, &asked);
    items.into_iter().find_map(|item| if let Item::Permission(asked) = item { Some(asked) } else { None }).unwrap()
}

#[test]
fn rules_see_the_whole_shell_call_of_each_agent() {
    // opencode names the folder before it asks, and no more when it asks.
    let opencode = [
        json!({"sessionUpdate": "tool_call", "title": "bash", "kind": "execute", "locations": [{"path": "/w"}], "rawInput": {"cwd": "/w"}}),
        json!({"sessionUpdate": "tool_call_update", "locations": [{"path": "/w"}],
            "rawInput": {"command": "ls", "description": "a command", "cwd": "/w"}}),
    ];
    let qwen = json!({"title": "ls (a command)", "rawInput": {"command": "ls", "is_background": false, "description": "a command"}});
    let cases = [
        ("opencode", &opencode[..], json!({"title": "ls", "locations": [], "rawInput": {"command": "ls"}})),
        ("qwen", &[], qwen),
        ("copilot", &[], json!({"title": "a command", "rawInput": {"command": "ls", "commands": ["ls"]}})),
    ];
    for (agent, before, call) in cases {
        let asked = asked(agent, before, call);
        assert!(asked.is_plain && asked.request.complete, "{agent}: {asked:?}");
        assert_eq!((asked.request.tool_name.raw(), &asked.request.input["command"]), ("Bash", &"ls".into()), "{agent}");
    }
}

#[test]
fn gemini_tells_its_command_as_the_title() {
    let of = |preset: &str, title: &str, text: &str| {
        let words = (!text.is_empty()).then(|| json!({"type": "content", "content": {"type": "text", "text": text}}));
        let asked = asked(preset, &[], json!({"title": title, "content": words.as_slice()}));
        (asked.request.complete, asked.is_plain, asked.request.input)
    };
    let here = "[current working directory /w] (a command)";
    assert_eq!(of("gemini", "ls", here), (true, true, json!({"command": "ls", "description": "a command"})));
    assert_eq!(of("gemini", "ls", "[current working directory /w]"), (true, true, json!({"command": "ls"})));
    let long = "x".repeat(5000);
    assert_eq!(of("gemini", &long, here).2["command"], long, "a person sees all of it");
    // A person may decide about these, and no rule does.
    for place in ["[in sub] (a command)", "[current working directory /w] (x) [background]", "[current working directory /w2]", "else"] {
        let (complete, plain, input) = of("gemini", "ls", place);
        assert_eq!((complete, plain, &input["place"]), (true, false, &place.into()), "{input}");
    }
    assert!(!of("gemini", "ls", "").0 && !of("gemini", "", here).0, "a part is missing");
    assert!(!of("qwen", "ls", here).0, "the title of another agent may be any words");
}
