//! How an agent that speaks ACP is stopped.

use super::*;

#[test]
fn an_acp_agent_that_ignores_the_cancel_is_ended_with_its_tools() {
    let world = world("", "");
    fs::write(world.agent("deaf_to_cancel"), "").unwrap();
    turns(&world, &[json!([{"pause": "here"}, {"deaf": true}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    at(&world, "here");
    world.ok("relaunch", &["stop", "acp-1"]);
    world.reaches("acp-1", "interrupted");
    let notes: Vec<_> = events(&world, "acp-1", 1).iter().filter_map(|event| event["text"].as_str().map(str::to_owned)).collect();
    assert!(
        notes.iter().any(|note| note == "ladder: in-band interrupt") && notes.iter().any(|note| note == "ladder: SIGTERM"),
        "{notes:?}"
    );
    assert!(world.processes("acp.py").is_empty());
}

mod promises {
    use super::*;

    #[test]
    fn a_stopped_acp_agent_cancels_its_turn_and_exits() {
        let world = world("", "");
        turns(&world, &[json!([{"say": "working"}, {"run": "echo $$ > $AGENT_DIR/shell; exec sleep 600"}])]);
        let _watcher = world.watch();
        world.ask_and_answer("acp-1");
        until("the tool runs", || world.agent("shell").exists());
        world.ok("relaunch", &["stop", "acp-1"]);
        world.reaches("acp-1", "interrupted");
        assert_eq!(called(&world).last().map(String::as_str), Some("session/close"));
        assert!(called(&world).contains(&"session/cancel".to_owned()));
        assert!(world.processes("acp.py").is_empty() && world.processes("sleep 600").is_empty());
        let last = events(&world, "acp-1", 1).pop().unwrap();
        assert_eq!((&last["type"], &last["tool_calls"][0]["name"]), (&"interrupted".into(), &"Bash".into()));
    }
}
