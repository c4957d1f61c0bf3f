//! An agent that speaks ACP, its supervisor and the watcher are killed. The message comes once, or again with a remark.

use super::*;
use crate::support::{Watcher, kill};

const WORK: &str = "echo ran >> $AGENT_DIR/effects";

/// Kills the agent at a step, in its first attempt. Returns the texts of all prompts once the round is delivered.
fn told_after_kill(runner: &str, first: Value, who: &str) -> (World, Vec<String>) {
    let world = world(runner, "");
    let has_worked = first.as_array().unwrap().iter().any(|step| step.get("run").is_some());
    turns(&world, &[first, json!([{"say": "done"}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    let agent = at(&world, "here");
    // The supervisor may read behind the agent.
    until("its work is on record", || !has_worked || types(&events(&world, "acp-1", 1)).contains(&"tool_result"));
    let supervisor = world.processes("relaunch supervise");
    match who {
        "agent" => kill(agent),
        "adapter" => kill(world.only_process("askbox-acp --config")),
        _ => supervisor.into_iter().for_each(kill),
    }
    world.closed("acp-1", "delivered", 1);
    assert!(world.processes("acp.py").is_empty(), "nobody is left");
    assert_eq!(lines(&world, "starts").len(), 2);
    let told = told(&world);
    assert_eq!(told.len(), 2, "{told:?}");
    (world, told)
}

/// The requests that have opened a session, in order.
fn opened(world: &World) -> Vec<String> {
    called(world).into_iter().filter(|name| matches!(name.as_str(), "session/new" | "session/resume" | "session/load")).collect()
}

/// Lets the agent ask in a first round, so that its session has a history. In the second round it works and then forgets both its message
/// and the work, and is killed at `here`. Returns the world and its watcher once the round is answered.
fn killed_before_it_wrote(more: &[Value]) -> (World, Watcher) {
    let world = world("", "");
    let ask = json!([{"run": "ask-post -w acp-1 'Next?' -o a=A"}, {"say": "asked"}]);
    turns(&world, &[&[ask, json!([{"forget": true}, {"run": WORK}, {"pause": "here"}])], more].concat());
    let watcher = world.watch();
    world.ask_and_answer("acp-1");
    world.closed("acp-1", "delivered", 1);
    world.ok("ask-answer", &["acp-1", "a"]);
    let agent = at(&world, "here");
    until("its work is on record", || types(&events(&world, "acp-1", 1)).contains(&"tool_result"));
    kill(agent);
    (world, watcher)
}

#[test]
fn only_the_lost_attempt_is_told_if_the_message_is_there() {
    // The second attempt keeps its message. The third one loses that it was told to continue, and its work.
    let kept = json!([{"pause": "kept"}]);
    let lost = json!([{"forget": true}, {"run": "echo more >> $AGENT_DIR/effects"}, {"pause": "lost"}]);
    let (world, _watcher) = killed_before_it_wrote(&[kept, lost, json!([{"say": "done"}])]);
    kill(at(&world, "kept"));
    at(&world, "lost");
    until("its work is on record", || types(&events(&world, "acp-1", 3)).contains(&"tool_result"));
    // Three times the same failure would park the round.
    world.processes("relaunch supervise").into_iter().for_each(kill);
    world.closed("acp-1", "delivered", 2);
    let told = told(&world);
    assert!(told[3].contains("Continue where you left off"), "{}", told[3]);
    assert!(told[4].contains("Continue where you left off") && !told[4].contains("User chose"), "{}", told[4]);
    assert!(told[4].contains("echo more") && !told[4].contains(WORK), "the calls of the lost attempt alone: {}", told[4]);
    assert_eq!((lines(&world, "effects").len(), told.len()), (2, 5));
}

#[test]
fn a_later_message_of_a_killed_attempt_is_looked_for() {
    // The turn ends without words, so the agent is asked to go on. It does, and loses that.
    let world = world("", "");
    let lost = json!([{"forget": true}, {"run": WORK}, {"pause": "here"}]);
    turns(&world, &[json!([{"run": "true"}]), lost, json!([{"say": "done"}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    let agent = at(&world, "here");
    until("its work is on record", || types(&events(&world, "acp-1", 1)).iter().filter(|kind| **kind == "tool_result").count() == 2);
    kill(agent);
    world.closed("acp-1", "delivered", 1);
    let told = told(&world);
    assert!(told[1].contains(" attempt 1 message 2]"), "{}", told[1]);
    assert!(told[2].contains("Continue where you left off") && told[2].contains(WORK), "{}", told[2]);
    assert_eq!(lines(&world, "effects").len(), 1);
}

#[test]
fn a_session_without_any_history_is_begun_anew() {
    let (world, told) = told_after_kill("", json!([{"forget": true}, {"run": WORK}, {"pause": "here"}]), "agent");
    assert!(told[1].contains("User chose: a") && told[1].contains(WORK), "{}", told[1]);
    assert!(told[1].contains("You may have had this message before"), "{}", told[1]);
    assert_eq!(opened(&world), ["session/new", "session/load", "session/new"]);
}

#[test]
fn the_next_round_tells_what_the_round_before_has_lost() {
    // The supervisor dies while the agent waits for a permission. So the next round sends the next message.
    for has_history in [true, false] {
        let world = world("", "");
        let ask = json!([{"run": "ask-post -w acp-1 'Next?' -o a=A"}, {"say": "asked"}]);
        let lost = json!([{"forget": true}, {"run": WORK}, {"run": "true x", "ask": true}]);
        let turns_of_both = if has_history { vec![ask, lost] } else { vec![lost] };
        turns(&world, &[turns_of_both, vec![json!([{"say": "done"}])]].concat());
        let _watcher = world.watch();
        world.ask_and_answer("acp-1");
        if has_history {
            world.closed("acp-1", "delivered", 1);
            world.ok("ask-answer", &["acp-1", "a"]);
        }
        let asks = |question: &Value| !question["approval"].is_null();
        until("it asks for a permission", || {
            let pending = world.in_mailbox("pending/acp-1.json");
            pending.exists() && asks(&world.document("pending/acp-1.json"))
        });
        let before = told(&world).len();
        world.processes("relaunch supervise").into_iter().for_each(kill);
        until("the agent is gone", || world.processes("acp.py").is_empty());
        world.closed("acp-1", "delivered", before);
        world.ok("ask-answer", &["acp-1", "once", "--round", &world.seen("acp-1")]);
        world.closed("acp-1", "delivered", before + 1);
        let told = told(&world);
        let last = told.last().unwrap();
        assert!(last.contains("It is not a new task") && last.contains("> User chose: a"), "{has_history}: {last}");
        assert!(last.contains(WORK) && last.contains("true x"), "{has_history}: {last}");
        let ends = if has_history { vec!["session/load"] } else { vec!["session/load", "session/new"] };
        assert!(opened(&world).ends_with(&ends.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()), "{:?}", opened(&world));
        assert_eq!((lines(&world, "effects").len(), told.len()), (1, before + 1));
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

mod promises {
    use super::*;

    #[test]
    fn an_agent_that_was_at_work_is_told_to_continue() {
        // An agent that can play the history back is looked after.
        for (can, method) in [("resume,load,modes", "session/load"), ("load,modes", "session/load"), ("resume,modes", "session/resume")] {
            for who in ["agent", "adapter", "supervisor"] {
                let runner = format!("env = {{ ACP_CAN = \"{can}\" }}");
                let (world, told) = told_after_kill(&runner, json!([{"run": WORK}, {"pause": "here"}]), who);
                // A session that is continued without its history may lack the call.
                let is_unsure = method == "session/resume";
                assert!(
                    told[1].contains("Continue where you left off") && told[1].contains(WORK) == is_unsure,
                    "{can}, {who}: {}",
                    told[1]
                );
                assert!(!told[1].contains("User chose"), "{can}, {who}: {}", told[1]);
                assert_eq!(opened(&world), ["session/new", method], "{can}, {who}");
                assert_eq!(lines(&world, "effects").len(), 1, "{can}, {who}");
            }
        }
    }

    #[test]
    fn words_that_a_killed_agent_lost_are_told_again() {
        let (world, _watcher) = killed_before_it_wrote(&[json!([{"say": "done"}])]);
        world.closed("acp-1", "delivered", 2);
        let told = told(&world);
        assert!(told[2].contains("User chose: a") && told[2].contains("You may have had this message before"), "{}", told[2]);
        assert!(told[2].contains("An earlier attempt at this began") && told[2].contains(WORK), "it reads its calls: {}", told[2]);
        assert_eq!(opened(&world), ["session/new", "session/resume", "session/load"], "after a normal end, nothing is played back");
        assert_eq!((lines(&world, "effects").len(), told.len()), (1, 3));
    }
}
