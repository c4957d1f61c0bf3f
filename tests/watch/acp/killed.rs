//! An agent that speaks ACP, its supervisor and the watcher are killed. The message comes once, or again with a remark.

use super::*;
use crate::support::kill;

const WORK: &str = "echo ran >> $AGENT_DIR/effects";

/// The pid of the agent at `pause`.
fn at(world: &World, step: &str) -> i32 {
    let path = world.agent(&format!("at.{step}"));
    until("the agent comes to its step", || fs::read_to_string(&path).ok()?.trim().parse().ok())
}

/// Kills the agent at a step, in its first attempt. Returns the texts of all prompts once the round is delivered.
fn told_after_kill(runner: &str, first: Value, who: &str) -> (World, Vec<String>) {
    let world = world(runner, "");
    let has_worked = first[0].get("run").is_some();
    turns(&world, &[first, json!([{"say": "done"}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    let agent = at(&world, "here");
    // The supervisor may read behind the agent.
    until("its work is on record", || !has_worked || types(&events(&world, "acp-1", 1)).contains(&"tool_result"));
    let supervisor = world.processes("relaunch supervise");
    match who {
        "agent" => kill(agent),
        _ => supervisor.into_iter().for_each(kill),
    }
    world.closed("acp-1", "delivered", 1);
    assert!(world.processes("acp.py").is_empty(), "nobody is left");
    assert_eq!(lines(&world, "starts").len(), 2);
    let told = told(&world);
    assert_eq!(told.len(), 2, "{told:?}");
    (world, told)
}

#[test]
fn an_agent_that_was_at_work_is_told_to_continue() {
    for who in ["agent", "supervisor"] {
        let (world, told) = told_after_kill("", json!([{"run": WORK}, {"pause": "here"}]), who);
        assert!(told[1].contains("Continue where you left off") && !told[1].contains("User chose"), "{who}: {}", told[1]);
        assert!(called(&world).contains(&"session/resume".to_owned()));
        assert_eq!(lines(&world, "effects").len(), 1, "{who}");
    }
}

#[test]
fn the_history_shows_that_a_silent_agent_has_its_message() {
    let (world, told) = told_after_kill("env = { ACP_CAN = \"load,resume,modes\" }", json!([{"pause": "here"}]), "supervisor");
    assert!(told[1].contains("Continue where you left off"), "{}", told[1]);
    assert!(called(&world).contains(&"session/load".to_owned()) && !called(&world).contains(&"session/resume".to_owned()));
}

#[test]
fn a_message_that_may_be_lost_is_sent_again_with_a_remark() {
    // Without the history nobody knows; and the agent that forgets has it not.
    for (can, step) in [("resume,modes", json!([{"pause": "here"}])), ("load,modes", json!([{"forget": true}, {"pause": "here"}]))] {
        let world = world(&format!("env = {{ ACP_CAN = \"{can}\" }}"), "");
        // The session has something to play back: the round before.
        turns(&world, &[json!([{"run": "ask-post -w acp-1 'Next?' -o a=A"}, {"say": "asked"}]), step, json!([{"say": "done"}])]);
        let _watcher = world.watch();
        world.ask_and_answer("acp-1");
        world.closed("acp-1", "delivered", 1);
        world.ok("ask-answer", &["acp-1", "a"]);
        kill(at(&world, "here"));
        world.closed("acp-1", "delivered", 2);
        let told = told(&world);
        assert_eq!(told.len(), 3);
        assert!(told[2].contains("User chose: a") && told[2].contains("You may have had this message before"), "{can}: {}", told[2]);
    }
}

#[test]
fn a_lost_session_is_begun_anew_with_the_message() {
    let world = world("", "");
    turns(&world, &[json!([{"run": WORK}, {"pause": "here"}]), json!([{"say": "done"}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    let agent = at(&world, "here");
    fs::remove_dir_all(world.agent("sessions")).unwrap();
    kill(agent);
    world.closed("acp-1", "delivered", 1);
    let told = told(&world);
    assert!(told[1].contains("User chose: a") && told[1].contains(WORK), "it reads the calls of the attempt before: {}", told[1]);
    assert!(told[1].contains("You may have had this message before"), "{}", told[1]);
}
