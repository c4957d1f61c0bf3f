//! Graphs of LangGraph: interrupts behind one another, and nodes that run again.

use crate::sdks::host::{Host, Sdk};
use crate::support::needs;

#[test]
fn a_second_permission_of_a_node_does_not_repeat_the_first() {
    needs!("python-sdks");
    let mut host = Host::new(Sdk::LangGraph);
    let behind = "    made = subprocess.run(state[\"command\"], shell=True, text=True, capture_output=True).stdout\n    \
                  return {\"output\": str(askbox.langgraph.why_not(\"next\", \"x\")) + made}\n";
    let line = "    return {\"output\": subprocess.run(state[\"command\"], shell=True, text=True, capture_output=True).stdout}\n";
    host.rewrite(line, behind);
    host.asks("sdk-1", &["echo ran | tee -a effects"]);
    host.world.keep_watching();
    host.answer("sdk-1", "allow");
    host.world.closed("sdk-1", "delivered", 1);
    assert_eq!(host.effects(), ["ran"]);
    let second = host.world.document("pending/sdk-1.json");
    assert!(second["question"].as_str().is_some_and(|question| question.starts_with("Allow next?")), "{second}");
    host.answer("sdk-1", "allow");
    host.world.closed("sdk-1", "delivered", 2);
    assert_eq!(host.effects(), ["ran"], "the node ran from its top again, and the call was not made again");
    let status = host.world.status("sdk-1");
    assert!(status["result"].as_str().is_some_and(|result| result.contains("may have been made already")), "{status}");
}

#[test]
fn a_graph_without_a_lasting_checkpointer_is_refused() {
    needs!("python-sdks");
    let host = Host::new(Sdk::LangGraph);
    host.rewrite("checkpointer=saver", "checkpointer=None");
    let outcome = host.begin("sdk-1", &["true"]);
    assert_eq!(outcome.code(), 2, "{}", outcome.words());
    assert!(outcome.words().contains("hint: compile the graph with a SqliteSaver"), "{}", outcome.words());
}
