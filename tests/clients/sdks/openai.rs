//! Agents of the OpenAI Agents SDK: several calls at once, and calls of agents within agents.

use serde_json::json;

use crate::clients::sdks::host::{Host, Sdk};
use crate::support::{needs, output};

#[test]
fn parallel_and_nested_calls_are_one_question_of_parts() {
    needs!("python-sdks");
    let mut host = Host::new(Sdk::OpenAi);
    let shell = |word: &str| json!({"tool": "shell", "input": {"command": format!("echo {word} | tee -a effects")}});
    // The script of the inner agent travels in the input of its tool.
    let inner = format!("Tidy up. @@{}", json!([{"tools": [shell("three")]}, {"text": "tidied"}]));
    let calls = json!([{"tools": [shell("one"), shell("two"), {"tool": "clean", "input": {"input": inner}}]}, {"text": "all done"}]);
    let outcome = output(&mut host.command(&["sdk-1", &format!("Go. @@{calls}")]));
    assert_eq!(outcome.code(), 6, "{}", outcome.words());

    let document = host.world.document("pending/sdk-1.json");
    let parts = document["questions"].as_array().unwrap();
    assert_eq!(parts.len(), 3, "{document}");
    let asks = |agent: &str, word: &str| {
        let fits = |text: &str| text.starts_with(&format!("Allow shell of {agent}?")) && text.contains(&format!("echo {word} "));
        parts.iter().find(|part| part["question"].as_str().is_some_and(fits)).expect("its part")["id"].as_str().unwrap().to_owned()
    };
    let (one, two, three) = (asks("operator", "one"), asks("operator", "two"), asks("cleaner", "three"));
    host.world.keep_watching();
    let words = [(one, "allow"), (two, "deny"), (three, "allow")].map(|(id, value)| format!("{id}={value}"));
    host.world.ok("ask-answer", &["sdk-1", &words[0], &words[1], &words[2]]);
    host.world.closed("sdk-1", "delivered", 1);
    let mut effects = host.effects();
    effects.sort();
    assert_eq!(effects, ["one", "three"]);
    assert_eq!(host.world.status("sdk-1")["result"], "all done");
    let told = host.told().join("|");
    assert!(told.contains("one") && told.contains("did not allow") && told.contains("tidied"), "{told}");
}
