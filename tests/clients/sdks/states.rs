//! States that a host cannot read: its round is parked at once, and nothing is done.

use serde_json::Value;

use crate::clients::sdks::host::{Host, Sdk};
use crate::support::needs;

/// Expects that the answer parks the round in the first attempt, with these words.
#[track_caller]
fn is_parked(mut host: Host, words: &str) {
    let starts = host.starts();
    host.world.keep_watching();
    host.answer("sdk-1", "allow");
    let status = host.world.reaches("sdk-1", "parked");
    assert_eq!(host.effects(), [""; 0], "{:?}", host.sdk);
    assert_eq!(host.starts(), starts + 1, "{:?}: it is not tried again", host.sdk);
    assert!(status.to_string().contains(words), "{:?}: {status}", host.sdk);
}

fn asked(sdk: Sdk) -> Host {
    let host = Host::new(sdk);
    host.asks("sdk-1", &["echo ran >> effects"]);
    host
}

#[test]
fn a_saved_state_of_another_version_is_parked() {
    needs!("python-sdks", "node", "node-sdks");
    for sdk in [Sdk::LangGraph, Sdk::Ai] {
        let host = asked(sdk);
        let mut state = host.saved("sdk-1");
        state["v"] = 2.into();
        host.save("sdk-1", &state);
        is_parked(host, "has version 2, and this helper reads 1");
    }
}

#[test]
fn an_answer_to_other_calls_than_the_saved_ones_is_parked() {
    needs!("python-sdks", "node", "node-sdks");
    for sdk in [Sdk::LangGraph, Sdk::Ai] {
        let host = asked(sdk);
        let mut state = host.saved("sdk-1");
        state["question"]["sdk"]["calls"][0] = "another_call".into();
        host.save("sdk-1", &state);
        is_parked(host, "about other calls");
    }
}

#[test]
fn a_run_state_of_an_unknown_schema_is_parked() {
    needs!("python-sdks", "node", "node-sdks");
    for sdk in [Sdk::OpenAi, Sdk::OpenAiJs] {
        let host = asked(sdk);
        let mut state = host.saved("sdk-1");
        let mut run: Value = serde_json::from_str(state["state"].as_str().unwrap()).unwrap();
        run["$schemaVersion"] = "9.0".into();
        state["state"] = run.to_string().into();
        host.save("sdk-1", &state);
        is_parked(host, "cannot be read by this program");
    }
}

#[test]
fn a_host_whose_agent_or_tool_was_renamed_is_parked() {
    needs!("python-sdks", "node", "node-sdks");
    for (sdk, from, to, words) in [
        (Sdk::OpenAi, "name=\"operator\"", "name=\"someone\"", "cannot be read by this program"),
        (Sdk::OpenAi, "async def shell(", "async def other(", "has no tool shell"),
        (Sdk::Ai, "tools: { shell }", "tools: { other: shell }", "the tool shell, which this program does not have"),
        (Sdk::LangGraph, ".add_node(act)", ".add_node(\"act_2\", act)", "a node that this graph does not have"),
        (Sdk::Claude, "import asyncio\n", "import asyncio, os; os.chdir(\"/\")\n", "is not there"),
        (Sdk::OpenAiJs, "name: \"operator\"", "name: \"someone\"", "cannot be read by this program"),
        (Sdk::OpenAiJs, "name: \"shell\"", "name: \"other\"", "Tool shell not found"),
        (Sdk::ClaudeJs, "const [workflow", "process.chdir(\"/\");\nconst [workflow", "is not there"),
    ] {
        let host = asked(sdk);
        host.rewrite(from, to);
        if sdk == Sdk::LangGraph {
            host.write(
                &host.source().replace("START, \"act\"", "START, \"act_2\"").replace("\"act\", END", "\"act_2\", END"),
                "exec $HOST \"$@\"",
            );
        } else if to.contains("def other") {
            host.write(&host.source().replace("[shell", "[other"), "exec $HOST \"$@\"");
        }
        is_parked(host, words);
    }
}
