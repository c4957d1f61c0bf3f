//! A call awaits a person, its process ends, and the runner goes on with the answer.

use crate::clients::sdks::host::{Host, Sdk};
use crate::support::needs;

/// The last result of the host. It holds the words that the model was told.
fn result(host: &Host, workflow: &str) -> String {
    host.world.status(workflow)["result"].as_str().unwrap_or_default().to_owned()
}

fn makes_the_call_after_the_answer(sdk: Sdk) {
    let mut host = Host::new(sdk);
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
}
