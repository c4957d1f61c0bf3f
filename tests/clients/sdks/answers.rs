//! A call awaits a person, its process ends, and the runner goes on with the answer.

use crate::clients::sdks::host::{Host, Sdk};
use crate::support::needs;

/// The last result of the host. It holds the words that the model was told.
fn result(host: &Host, workflow: &str) -> String {
    host.world.status(workflow)["result"].as_str().unwrap_or_default().to_owned()
}

fn makes_the_call_after_the_answer(sdk: Sdk) {
    goes_on_after_the_answer(Host::new(sdk));
}

fn goes_on_after_the_answer(mut host: Host) -> Host {
    let sdk = host.sdk;
    let command = "echo ran | tee -a effects";
    let question = host.asks("sdk-1", &[command]);
    assert!(question.to_string().contains(command), "the call is shown whole: {question}");
    assert_eq!(question["sdk"]["name"], sdk.key());
    assert_eq!(host.effects(), [""; 0], "nothing is done before the answer");
    host.world.keep_watching();
    host.answer("sdk-1", "allow");
    host.world.closed("sdk-1", "delivered", 1);
    assert_eq!(host.effects(), ["ran"], "{sdk:?}");
    assert!(result(&host, "sdk-1").contains("ran"), "{:?}", host.world.status("sdk-1"));
    assert_eq!(host.starts(), 2);
    if sdk != Sdk::LangGraph {
        assert_eq!(host.told().iter().map(|told| told.trim()).collect::<Vec<_>>(), ["ran"], "{sdk:?}: the model was told the result, once");
    }
    host
}

fn tells_a_refusal_and_asks_again(sdk: Sdk) {
    let mut host = Host::new(sdk);
    host.asks("sdk-1", &["echo first >> effects", "echo second >> effects"]);
    host.world.keep_watching();
    host.world.ok("ask-answer", &["decline", "sdk-1", "--note", "not today"]);
    host.world.closed("sdk-1", "delivered", 1);
    host.answer("sdk-1", "allow");
    host.world.closed("sdk-1", "delivered", 2);
    assert_eq!(host.effects(), ["second"], "{sdk:?}");
    let told = host.told();
    assert!(told.len() == 2 && told[0].contains("not today"), "{sdk:?}: {told:?}");
}

#[test]
fn a_claude_session_is_told_a_refusal_and_asks_again() {
    needs!("python-sdks");
    tells_a_refusal_and_asks_again(Sdk::Claude);
}

#[test]
fn an_openai_agent_is_told_a_refusal_and_asks_again() {
    needs!("python-sdks");
    tells_a_refusal_and_asks_again(Sdk::OpenAi);
}

#[test]
fn the_ai_sdk_is_told_a_refusal_and_asks_again() {
    needs!("node", "node-sdks");
    tells_a_refusal_and_asks_again(Sdk::Ai);
}

#[test]
fn a_claude_session_of_node_is_told_a_refusal_and_asks_again() {
    needs!("node", "node-sdks");
    tells_a_refusal_and_asks_again(Sdk::ClaudeJs);
}

#[test]
fn an_openai_agent_of_node_is_told_a_refusal_and_asks_again() {
    needs!("node", "node-sdks");
    tells_a_refusal_and_asks_again(Sdk::OpenAiJs);
}

/// Everything that the model was told after the answer: what the last request says, and the host's last result.
fn heard(host: &Host, workflow: &str) -> String {
    let model = host.world.api.turns().last().map(|turn| turn.model_text()).unwrap_or_default();
    model + &result(host, workflow)
}

/// The tool's name in the question and in the words for the model.
fn tool(sdk: Sdk) -> &'static str {
    match sdk {
        Sdk::Claude | Sdk::ClaudeJs => "Bash",
        Sdk::OpenAi | Sdk::OpenAiJs => "shell of operator",
        Sdk::LangGraph | Sdk::Ai => "shell",
    }
}

fn is_told_a_note_beside_allow(sdk: Sdk) {
    let mut host = Host::new(sdk);
    // A graph of the example makes one call.
    let commands = &["echo ran | tee -a effects", "echo next | tee -a effects"][..if sdk == Sdk::LangGraph { 1 } else { 2 }];
    host.asks("sdk-1", commands);
    host.world.keep_watching();
    host.answer_with("sdk-1", "allow", &["--note", "only this once"]);
    host.world.closed("sdk-1", "delivered", 1);
    let words = format!("Your user allowed this call of {}, and says: only this once\nThis allows no other call.", tool(sdk));
    let told = heard(&host, "sdk-1");
    assert!(told.contains(&words) && told.contains("ran"), "{sdk:?}: {told}");
    assert_eq!(host.effects(), ["ran"], "{sdk:?}");
    if commands.len() == 2 {
        host.answer("sdk-1", "allow");
        host.world.closed("sdk-1", "delivered", 2);
        assert_eq!(host.effects(), ["ran", "next"], "{sdk:?}");
        let told = heard(&host, "sdk-1");
        assert_eq!(told.matches(&words).count(), 1, "{sdk:?}: a later process still tells it, once: {told}");
    }
}

#[test]
fn a_claude_session_is_told_a_note_beside_allow() {
    needs!("python-sdks");
    is_told_a_note_beside_allow(Sdk::Claude);
}

#[test]
fn an_openai_agent_is_told_a_note_beside_allow() {
    needs!("python-sdks");
    is_told_a_note_beside_allow(Sdk::OpenAi);
}

#[test]
fn a_langgraph_node_is_told_a_note_beside_allow() {
    needs!("python-sdks");
    is_told_a_note_beside_allow(Sdk::LangGraph);
}

#[test]
fn the_ai_sdk_is_told_a_note_beside_allow() {
    needs!("node", "node-sdks");
    is_told_a_note_beside_allow(Sdk::Ai);
}

#[test]
fn a_claude_session_of_node_is_told_a_note_beside_allow() {
    needs!("node", "node-sdks");
    is_told_a_note_beside_allow(Sdk::ClaudeJs);
}

#[test]
fn an_openai_agent_of_node_is_told_a_note_beside_allow() {
    needs!("node", "node-sdks");
    is_told_a_note_beside_allow(Sdk::OpenAiJs);
}

/// A change that cannot be read is asked about again. One that can be read is what runs.
fn makes_the_changed_call(sdk: Sdk) {
    makes_the_changed_call_of(Host::new(sdk));
}

fn makes_the_changed_call_of(mut host: Host) {
    let sdk = host.sdk;
    host.asks("sdk-1", &["echo ran | tee -a effects"]);
    host.world.keep_watching();
    for count in 1..=2 {
        host.answer("sdk-1", "{\"line\": \"echo lost >> effects\"}");
        host.world.closed("sdk-1", "delivered", count);
    }
    let again = host.world.document("pending/sdk-1.json");
    assert_eq!(host.effects(), [""; 0], "{sdk:?}");
    let reason = format!("the call of {} has no argument \"line\"", tool(sdk));
    assert!(again["context"].as_str().is_some_and(|context| context.contains(&reason)), "{sdk:?}: {again}");
    host.answer("sdk-1", "{\"command\": \"echo changed | tee -a effects\"}");
    host.world.closed("sdk-1", "delivered", 3);
    assert_eq!(host.effects(), ["changed"], "{sdk:?}");
    let heard = heard(&host, "sdk-1");
    let words = format!(
        "Your user changed this call of {} before they allowed it. What was run is not what the call said, but this: \
         {{\"command\":\"echo changed | tee -a effects\"}}\nThe result is that of the changed call.",
        tool(sdk)
    );
    assert!(heard.contains(&words) && heard.contains("changed"), "{sdk:?}: {heard}");
    if sdk != Sdk::LangGraph {
        let said = host
            .world
            .api
            .turns()
            .last()
            .unwrap()
            .messages()
            .iter()
            .filter(|m| m["role"] == "assistant")
            .map(|m| m.to_string())
            .collect::<String>();
        assert!(said.contains("echo ran"), "{sdk:?}: the model's own call stays as it made it: {said}");
    }
}

#[test]
fn a_claude_session_makes_the_call_that_its_user_changed() {
    needs!("python-sdks");
    makes_the_changed_call(Sdk::Claude);
}

#[test]
fn an_openai_agent_makes_the_call_that_its_user_changed() {
    needs!("python-sdks");
    makes_the_changed_call(Sdk::OpenAi);
}

#[test]
fn a_langgraph_node_makes_the_call_that_its_user_changed() {
    needs!("python-sdks");
    makes_the_changed_call(Sdk::LangGraph);
}

#[test]
fn the_ai_sdk_makes_the_call_that_its_user_changed() {
    needs!("node", "node-sdks");
    makes_the_changed_call(Sdk::Ai);
}

#[test]
fn a_claude_session_of_node_makes_the_changed_call() {
    needs!("node", "node-sdks");
    makes_the_changed_call(Sdk::ClaudeJs);
}

#[test]
fn an_openai_agent_of_node_makes_the_changed_call() {
    needs!("node", "node-sdks");
    makes_the_changed_call(Sdk::OpenAiJs);
}

/// The arguments of a change are of a type that the tool does not take.
#[test]
fn a_change_that_the_tool_does_not_take_is_no_call() {
    needs!("python-sdks", "node", "node-sdks");
    for sdk in [Sdk::Claude, Sdk::OpenAi, Sdk::Ai, Sdk::ClaudeJs, Sdk::OpenAiJs] {
        let mut host = Host::new(sdk);
        host.asks("sdk-1", &["echo ran >> effects"]);
        host.world.keep_watching();
        host.answer("sdk-1", "{\"command\": {\"line\": 5}}");
        host.world.closed("sdk-1", "delivered", 1);
        assert_eq!(host.effects(), [""; 0], "{sdk:?}");
        let again = host.world.in_mailbox("pending/sdk-1.json").exists().then(|| host.world.document("pending/sdk-1.json").to_string());
        let (words, where_to) = match sdk {
            Sdk::Claude | Sdk::ClaudeJs => ("failed schema validation", heard(&host, "sdk-1")),
            Sdk::Ai => ("does not take the changed arguments", again.unwrap_or_default()),
            _ => ("An error occurred while running the tool", heard(&host, "sdk-1")),
        };
        assert!(where_to.contains(words), "{sdk:?}: {where_to}");
    }
}

/// The host prints the texts of a stream as they come.
fn streams(sdk: Sdk) -> Host {
    let host = Host::new(sdk);
    match sdk {
        Sdk::OpenAi => host.rewrite("(agent, prompt, workflow)", "(agent, prompt, workflow, on_event=lambda event: print(event.type))"),
        Sdk::OpenAiJs => host.rewrite(" workflow))", " workflow, { onEvent: (event) => console.log(event.type) }))"),
        _ => {
            host.rewrite("generate", "stream");
            host.rewrite("prompt: ", "onChunk: ({ chunk }) => console.log(chunk.type), prompt: ");
            host.rewrite("(await stream(options, workflow)).text", "await (await stream(options, workflow)).text");
        }
    }
    host
}

fn is_streamed(host: Host) {
    let host = goes_on_after_the_answer(host);
    assert!(host.world.api.turns().iter().all(|turn| turn.body["stream"] == true), "{:?}", host.sdk);
    let result = result(&host, "sdk-1");
    let part = if host.sdk == Sdk::Ai { "text-delta" } else { "raw_" };
    assert!(result.contains(part), "{:?}: the parts are given as they come: {result}", host.sdk);
}

#[test]
fn a_streamed_run_of_an_openai_agent_makes_its_call_once() {
    needs!("python-sdks", "node", "node-sdks");
    for sdk in [Sdk::OpenAi, Sdk::OpenAiJs] {
        is_streamed(streams(sdk));
    }
}

#[test]
fn a_stream_of_the_ai_sdk_makes_its_call_once() {
    needs!("node", "node-sdks");
    is_streamed(streams(Sdk::Ai));
    let host = streams(Sdk::Ai);
    host.on_ai_6();
    is_streamed(host);
}

/// Version 7 asks for approval by an option too.
#[test]
fn the_ai_sdk_makes_a_call_that_its_option_holds_back() {
    needs!("node", "node-sdks");
    let host = Host::new(Sdk::Ai);
    host.rewrite("  needsApproval: true,\n", "");
    host.rewrite("tools: { shell }", "tools: { shell }, toolApproval: { shell: \"user-approval\" }");
    goes_on_after_the_answer(host);
}

#[test]
fn version_6_of_the_ai_sdk_makes_the_changed_call() {
    needs!("node", "node-sdks");
    let host = Host::new(Sdk::Ai);
    host.on_ai_6();
    makes_the_changed_call_of(host);
}

mod promises {
    use super::*;

    #[test]
    fn a_claude_session_makes_its_call_after_the_answer() {
        needs!("python-sdks");
        makes_the_call_after_the_answer(Sdk::Claude);
    }

    #[test]
    fn an_openai_agent_makes_its_call_after_the_answer() {
        needs!("python-sdks");
        makes_the_call_after_the_answer(Sdk::OpenAi);
    }

    #[test]
    fn a_langgraph_node_makes_its_call_after_the_answer() {
        needs!("python-sdks");
        makes_the_call_after_the_answer(Sdk::LangGraph);
    }

    #[test]
    fn a_tool_of_the_ai_sdk_is_called_after_the_answer() {
        needs!("node", "node-sdks");
        makes_the_call_after_the_answer(Sdk::Ai);
    }
    #[test]
    fn a_claude_session_of_node_makes_its_call_after_the_answer() {
        needs!("node", "node-sdks");
        makes_the_call_after_the_answer(Sdk::ClaudeJs);
    }

    #[test]
    fn an_openai_agent_of_node_makes_its_call_after_the_answer() {
        needs!("node", "node-sdks");
        makes_the_call_after_the_answer(Sdk::OpenAiJs);
    }
}
