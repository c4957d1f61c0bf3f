//! The client of the official SDK, which shares no code of ours.

use std::process::Stdio;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, ClientConfig, Implementation, ProtocolVersion};
use serde_json::json;

use crate::support::World;

/// The client's view of a call in this version of the protocol.
async fn talk(world: &World, version: ProtocolVersion) -> String {
    let mut command = tokio::process::Command::from(world.command("askbox"));
    let mut server = command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().expect("the server");
    let (stdout, stdin) = (server.stdout.take().expect("piped"), server.stdin.take().expect("piped"));
    let mut client = ClientConfig::default();
    client.client_info = Implementation::new("official", "1");
    client.protocol_version = version.clone();
    let client = client.serve((stdout, stdin)).await.expect("a session");
    assert_eq!(client.list_all_tools().await.expect("tools").len(), 7, "{version:?}");
    let call = |name: &'static str, arguments: serde_json::Value| {
        let arguments = arguments.as_object().cloned().expect("an object");
        client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments))
    };
    let posted = call("ask_user", json!({"question": "Which?", "workflow_id": "w"})).await.expect("a result");
    assert!(format!("{posted:?}").contains("QUESTION_POSTED:w"), "{posted:?}");
    let wrong = call("ask_user", json!({"questoin": "Which?"})).await.expect("a result, no error of the protocol");
    assert_eq!(wrong.is_error, Some(true));
    world.sh("ask-answer w this");
    let answered = call("check_answer", json!({"workflow_id": "w"})).await.expect("a result");
    client.cancel().await.expect("an end");
    tokio::time::timeout(Duration::from_secs(60), server.wait()).await.expect("the server ends").expect("a status");
    format!("{:?}", answered.content)
}

mod promises {
    use super::*;

    #[test]
    fn the_official_client_gets_its_answer_in_every_version() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        for version in ProtocolVersion::KNOWN_VERSIONS {
            let world = World::new().with_scripted_agent();
            world.configure("[mcp]\nwait = \"0s\"");
            let said = runtime.block_on(talk(&world, version.clone()));
            assert!(said.contains("User chose: this"), "{version:?}: {said}");
        }
    }
}
