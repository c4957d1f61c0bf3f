//! Sessions of the Claude Agent SDK: the questions of the model, and the traps of a resumed session.

use serde_json::json;

use crate::clients::sdks::host::{Host, Sdk};
use crate::support::{needs, output};

fn asks_the_person(host: &Host, questions: &serde_json::Value) {
    let script = json!([{"tool": "AskUserQuestion", "input": {"questions": questions}}]);
    let outcome = output(&mut host.command(&["sdk-1", &format!("Go. @@{script}")]));
    assert_eq!(outcome.code(), 6, "{}", outcome.words());
}

#[test]
fn a_claude_session_is_told_the_answers_to_its_questions() {
    needs!("python-sdks");
    let mut host = Host::new(Sdk::Claude);
    let option = |label: &str| json!({"label": label, "description": format!("about {label}")});
    asks_the_person(
        &host,
        &json!([
            {"question": "Which port?", "header": "Port", "multiSelect": false, "options": [option("8080"), option("9090")]},
            {"question": "Which hosts?", "header": "Hosts", "multiSelect": true, "options": [option("a"), option("b"), option("c")]},
        ]),
    );
    let document = host.world.document("pending/sdk-1.json");
    let ids: Vec<_> = document["questions"].as_array().unwrap().iter().map(|part| part["id"].as_str().unwrap()).collect();
    assert!(ids[0].ends_with("/1") && ids[1].ends_with("/2") && ids[0].starts_with("toolu"), "{ids:?}");
    host.world.keep_watching();
    host.world.ok("ask-answer", &["sdk-1", &format!("{}=9090", ids[0]), &format!("{}=a,c", ids[1])]);
    host.world.closed("sdk-1", "delivered", 1);
    let told = host.told();
    assert!(told.len() == 1 && told[0].contains("\"Which port?\"=\"9090\"") && told[0].contains("\"Which hosts?\"=\"a, c\""), "{told:?}");
}

#[test]
fn a_claude_session_is_told_that_nobody_answers() {
    needs!("python-sdks");
    let mut host = Host::new(Sdk::Claude);
    let options = json!([{"label": "a", "description": "A"}, {"label": "b", "description": "B"}]);
    asks_the_person(&host, &json!([{"question": "Which?", "header": "Which", "multiSelect": false, "options": options}]));
    host.world.keep_watching();
    host.world.ok("ask-answer", &["decline", "sdk-1", "--note", "decide it yourself"]);
    host.world.closed("sdk-1", "delivered", 1);
    let told = host.told();
    assert!(told.len() == 1 && told[0].contains("decide it yourself"), "{told:?}");
}

#[test]
fn a_killed_claude_session_without_an_open_call_goes_on() {
    needs!("python-sdks");
    let mut host = Host::new(Sdk::Claude);
    let pid = host.world.path("pid");
    host.write(&host.source(), &format!("echo $$ > {}; exec $HOST \"$@\"", pid.display()));
    // The reply behind the tool's result is slow: the host is killed while it waits for it.
    let script = json!([{"tool": "Bash", "input": {"command": "echo ran >> effects"}}, {"stall": true}]);
    assert_eq!(output(&mut host.command(&["sdk-1", &format!("Go. @@{script}")])).code(), 6);
    host.world.api.on("Continue.", json!([{"text": "went on"}]));
    host.world.keep_watching();
    host.answer("sdk-1", "allow");
    crate::support::until("the model is told the result", || host.world.api.turns().iter().any(|turn| !turn.tool_results().is_empty()));
    crate::support::kill(std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap());
    host.world.closed("sdk-1", "delivered", 1);
    assert_eq!(host.effects(), ["ran"]);
    assert_eq!(host.world.status("sdk-1")["result"], "went on");
}

#[test]
fn a_claude_session_begins_anew_after_a_withdrawal() {
    needs!("python-sdks");
    let mut host = Host::new(Sdk::Claude);
    let first = host.asks("sdk-1", &["echo first >> effects"]);
    host.world.ok("ask-answer", &["cancel", "sdk-1"]);
    let second = host.asks("sdk-1", &["echo second >> effects"]);
    assert_ne!(first["sdk"]["calls"], second["sdk"]["calls"]);
    host.world.keep_watching();
    host.answer("sdk-1", "allow");
    host.world.closed("sdk-1", "delivered", 1);
    assert_eq!(host.effects(), ["second"]);
}
