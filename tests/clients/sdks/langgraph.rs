//! Graphs of LangGraph: interrupts behind one another, and nodes that run again.

use crate::clients::sdks::host::{Host, Sdk};
use crate::support::needs;

#[test]
fn a_second_permission_of_a_node_does_not_repeat_the_first() {
    needs!("python-sdks");
    let mut host = Host::new(Sdk::LangGraph);
    let line = "    return {\"output\": made.stdout + permit.words}\n";
    let behind = "    return {\"output\": askbox.langgraph.permit(\"next\", \"x\").words + made.stdout}\n";
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

#[test]
fn an_asynchronous_graph_makes_its_call_after_the_answer() {
    needs!("python-sdks");
    let mut host = Host::new(Sdk::LangGraph);
    host.rewrite("from langgraph.checkpoint.sqlite import SqliteSaver", "from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver");
    host.rewrite("import os\n", "import asyncio\nimport os\n");
    host.rewrite("def act(", "async def act(");
    let end = host.source().split_once("with askbox.exits()").expect("the end of the example").1.to_owned();
    let asynchronous = "\n\nasync def main() -> None:\n    async with AsyncSqliteSaver.from_conn_string(os.path.expanduser(\"~/graphs.db\")) as saver:\n        \
                        result = await askbox.langgraph.ainvoke(graph.compile(checkpointer=saver), {\"command\": command}, workflow)\n        \
                        print(result[\"output\"], result[\"port\"])\n\n\nwith askbox.exits():\n    asyncio.run(main())\n";
    host.rewrite(&format!("with askbox.exits(){end}"), asynchronous);
    host.asks("sdk-1", &["echo ran | tee -a effects"]);
    assert_eq!(host.effects(), [""; 0]);
    host.world.keep_watching();
    host.answer("sdk-1", "allow");
    host.world.closed("sdk-1", "delivered", 1);
    assert_eq!(host.effects(), ["ran"]);
    let result = host.world.status("sdk-1")["result"].as_str().map(|result| result.trim().to_owned());
    assert_eq!(result.as_deref(), Some("ran\n 8080"), "the node and the interrupt got their answers");
    // A start behind the end goes on with nothing.
    host.asks("sdk-2", &["echo other >> effects"]);
    host.world.ok("ask-answer", &["decline", "sdk-2", "--note", "not today"]);
    host.world.closed("sdk-2", "delivered", 1);
    assert_eq!(host.effects(), ["ran"]);
}
