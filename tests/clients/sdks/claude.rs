//! Sessions of the Claude Agent SDK: the questions of the model, and the traps of a resumed session.

use serde_json::json;

use crate::clients::sdks::host::{Host, Sdk};
use crate::support::{needs, output};

/// The helpers for Python and for TypeScript.
const BOTH: [Sdk; 2] = [Sdk::Claude, Sdk::ClaudeJs];

fn asks_the_person(host: &Host, questions: &serde_json::Value) {
    let script = json!([{"tool": "AskUserQuestion", "input": {"questions": questions}}]);
    let outcome = output(&mut host.command(&["sdk-1", &format!("Go. @@{script}")]));
    assert_eq!(outcome.code(), 6, "{}", outcome.words());
}

#[test]
fn a_claude_session_is_told_the_answers_to_its_questions() {
    needs!("python-sdks", "node", "node-sdks");
    BOTH.into_iter().for_each(is_told_the_answers);
}

fn is_told_the_answers(sdk: Sdk) {
    let mut host = Host::new(sdk);
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
    host.world.ok("ask-answer", &["sdk-1", &format!("{}=9090", ids[0]), &format!("{}=a,c", ids[1]), "--note", "for now"]);
    host.world.closed("sdk-1", "delivered", 1);
    let told = host.told();
    assert!(told.len() == 1 && told[0].contains("\"Which port?\"=\"9090\"") && told[0].contains("\"Which hosts?\"=\"a, c\""), "{told:?}");
    let heard = host.world.api.turns().last().unwrap().model_text();
    assert!(heard.contains("The user added: for now"), "{heard}");
}

/// The SDK reports one deferred call of a message. No other one may vanish without words.
#[test]
fn no_call_of_one_message_of_a_claude_session_vanishes() {
    needs!("python-sdks", "node", "node-sdks");
    BOTH.into_iter().for_each(loses_no_call);
}

fn loses_no_call(sdk: Sdk) {
    let mut host = Host::new(sdk);
    let call = |word: &str| json!({"tool": "Bash", "input": {"command": format!("echo {word} | tee -a effects")}});
    let path = host.world.work().join("free");
    std::fs::write(&path, "needs nobody").unwrap();
    let free = json!({"tool": "Read", "input": {"file_path": path}});
    let script = json!([{"tools": [free, call("one"), call("two"), free, call("three")]}, call("two"), {"text": "all done"}]);
    let outcome = output(&mut host.command(&["sdk-1", &format!("Go. @@{script}")]));
    assert_eq!(outcome.code(), 6, "{}", outcome.words());
    let first = host.world.document("pending/sdk-1.json");
    assert!(first["question"].as_str().is_some_and(|question| question.contains("echo one ")), "{first}");
    host.world.keep_watching();
    host.answer("sdk-1", "allow");
    host.world.closed("sdk-1", "delivered", 1);
    let told = host.told();
    let later = "Your user has not answered an earlier question yet: Allow Bash?. A person has to allow this call too: make it again once that answer is there.";
    let count = |words: &str| told.iter().filter(|told| told.contains(words)).count();
    assert_eq!((count("one"), count(later), count("needs nobody"), told.len()), (1, 2, 2, 5), "{told:?}");
    host.answer("sdk-1", "allow");
    host.world.closed("sdk-1", "delivered", 2);
    assert_eq!(host.effects(), ["one", "two"]);
}

#[test]
fn a_claude_session_is_told_that_nobody_answers() {
    needs!("python-sdks", "node", "node-sdks");
    BOTH.into_iter().for_each(is_told_that_nobody_answers);
}

fn is_told_that_nobody_answers(sdk: Sdk) {
    let mut host = Host::new(sdk);
    let options = json!([{"label": "a", "description": "A"}, {"label": "b", "description": "B"}]);
    asks_the_person(&host, &json!([{"question": "Which?", "header": "Which", "multiSelect": false, "options": options}]));
    host.world.keep_watching();
    host.world.ok("ask-answer", &["decline", "sdk-1", "--note", "decide it yourself"]);
    host.world.closed("sdk-1", "delivered", 1);
    let told = host.told();
    let words = "The user declined to answer. They say: decide it yourself\nDo not guess an answer: go on without it";
    assert!(told.len() == 1 && told[0].contains(words), "{told:?}");
}

#[test]
fn a_killed_claude_session_without_an_open_call_goes_on() {
    needs!("python-sdks", "node", "node-sdks");
    BOTH.into_iter().for_each(goes_on_without_an_open_call);
}

fn goes_on_without_an_open_call(sdk: Sdk) {
    let mut host = Host::new(sdk);
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
    needs!("python-sdks", "node", "node-sdks");
    BOTH.into_iter().for_each(begins_anew);
}

fn begins_anew(sdk: Sdk) {
    let mut host = Host::new(sdk);
    let first = host.asks("sdk-1", &["echo first >> effects"]);
    host.world.ok("ask-answer", &["cancel", "sdk-1"]);
    let second = host.asks("sdk-1", &["echo second >> effects"]);
    assert_ne!(first["sdk"]["calls"], second["sdk"]["calls"]);
    host.world.keep_watching();
    host.answer("sdk-1", "allow");
    host.world.closed("sdk-1", "delivered", 1);
    assert_eq!(host.effects(), ["second"]);
}
