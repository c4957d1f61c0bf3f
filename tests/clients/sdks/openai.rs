//! Agents of the OpenAI Agents SDK: several calls at once, and calls of agents within agents.

use serde_json::json;

use crate::clients::sdks::host::{Host, Sdk};
use crate::support::{needs, output};

#[test]
fn parallel_and_nested_calls_are_one_question_of_parts() {
    needs!("python-sdks", "node", "node-sdks");
    for sdk in [Sdk::OpenAi, Sdk::OpenAiJs] {
        asks_in_parts(sdk);
    }
}

fn asks_in_parts(sdk: Sdk) {
    let mut host = Host::new(sdk);
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
    let change = r#"{"command": "echo 3 | tee -a effects"}"#;
    let words = [(one, "allow"), (two, "deny"), (three, change)].map(|(id, value)| format!("{id}={value}"));
    host.world.ok("ask-answer", &["sdk-1", &words[0], &words[1], &words[2], "--note", "be quick"]);
    host.world.closed("sdk-1", "delivered", 1);
    let mut effects = host.effects();
    effects.sort();
    assert_eq!(effects, ["3", "one"]);
    assert_eq!(host.world.status("sdk-1")["result"], "all done");
    let told = host.told().join("|");
    assert!(told.contains("one\n\n\nYour user allowed this call of shell of operator, and says: be quick\n"), "{told}");
    assert!(told.contains("The user refused this call. They say: be quick\n") && told.contains("tidied"), "{told}");
    let inner: Vec<_> = host.world.api.turns().iter().map(|turn| turn.tool_results().join("|")).collect();
    assert!(inner.iter().any(|told| told.starts_with("3\n\n\nYour user changed this call of shell of cleaner before")), "{inner:?}");
}

/// The SDK refuses a result that is not of the type that the tool declares. So no words can stand in it, and nothing is lost in silence.
#[test]
fn a_tool_of_openai_with_a_typed_result_loses_no_words() {
    needs!("python-sdks", "node", "node-sdks");
    let host = Host::new(Sdk::OpenAiJs);
    host.rewrite(
        "needsApproval: true,",
        "needsApproval: true,\n  outputSchema: z.object({ out: z.string() }),\n  errorFunction: (_, error) => ({ out: error.message }),",
    );
    host.rewrite("execSync(command, { encoding: \"utf8\" })", "({ out: execSync(command, { encoding: \"utf8\" }) })");
    loses_no_words(host);
    let host = Host::new(Sdk::OpenAi);
    host.rewrite("import subprocess\n", "import subprocess\nfrom dataclasses import dataclass\n");
    host.rewrite(
        "@function_tool(needs_approval=True)\nasync def shell(command: str) -> str:",
        "@dataclass\nclass Out:\n    out: str\n\n\n@function_tool(needs_approval=True, output_type=Out)\nasync def shell(command: str):",
    );
    host.rewrite(
        "    return subprocess.run(command, shell=True, text=True, capture_output=True).stdout",
        "    return Out(subprocess.run(command, shell=True, text=True, capture_output=True).stdout)",
    );
    loses_no_words(host);
}

fn loses_no_words(mut host: Host) {
    host.asks("sdk-1", &["echo one | tee -a effects", "echo two | tee -a effects"]);
    host.world.keep_watching();
    host.answer_with("sdk-1", "allow", &["--note", "be quick"]);
    host.world.closed("sdk-1", "delivered", 1);
    let again = host.world.document("pending/sdk-1.json");
    assert!(
        again["context"].as_str().is_some_and(|context| context.contains("a note beside the allowed call of shell cannot be told")),
        "{again}"
    );
    host.answer("sdk-1", r#"{"command": "echo changed"}"#);
    host.world.closed("sdk-1", "delivered", 2);
    // In Node, the tool itself brings the words into its type.
    let told = host.told().join("|").replace('\\', "");
    assert!(told.contains("Make this call instead") && told.contains(r#": {"command":"echo changed"}"#), "{told:?}");
    host.answer("sdk-1", "allow");
    host.world.closed("sdk-1", "delivered", 3);
    assert_eq!((host.effects(), host.told().last().map(String::as_str)), (vec!["two".to_owned()], Some("{\"out\":\"two\\n\"}")));
}
