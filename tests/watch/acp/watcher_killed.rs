//! The watcher is killed, alone or with the supervisor and the agent, at each step of a run of an agent that speaks ACP. The answer comes
//! once, the work is done once, and no process is left.

use super::*;
use crate::support::kill;

/// The work of a turn. It has one effect.
const WORK: &str = "echo ran >> $AGENT_DIR/effects";
/// The steps of the agent: before it has its message, while its message waits to be read, and in its turn.
const BEFORE: [&str; 3] = ["initialize", "session/new", "session/set_mode"];
const UNREAD: &str = "after session/set_mode";
const IN_TURN: [&str; 2] = ["writing", "tool"];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Victims {
    Watcher,
    WatcherAndSupervisor,
    All,
}

impl Victims {
    const EACH: [Self; 3] = [Self::Watcher, Self::WatcherAndSupervisor, Self::All];

    /// Kills them, except for the watcher.
    fn kill_rest(self, world: &World, agent: i32) {
        if self != Self::Watcher {
            world.processes("relaunch supervise").into_iter().for_each(kill);
        }
        if self == Self::All {
            kill(agent);
        }
    }
}

/// Kills at a step. Another watcher then looks at the round before the agent goes on.
fn killed_at(step: &str, victims: Victims) {
    let when = format!("{victims:?} killed at {step}");
    let world = world("mode = \"plan\"", "");
    let is_in_turn = IN_TURN.contains(&step);
    let first = match step {
        "writing" => json!([{"run": WORK}, {"pause": "writing"}, {"say": "done"}]),
        "tool" => {
            let tool = format!("{WORK}; echo $PPID > $AGENT_DIR/at.tool; while [ ! -e $AGENT_DIR/go.tool ]; do sleep 0.02; done");
            json!([{"run": tool}, {"say": "done"}])
        }
        _ => json!([{"run": WORK}, {"say": "done"}]),
    };
    turns(&world, &[first]);
    if !is_in_turn {
        fs::write(world.agent("hold"), step).unwrap();
    }
    let watcher = world.watch();
    world.ask_and_answer("acp-1");
    let agent = at(&world, if is_in_turn { step } else { "hold" });
    if step == UNREAD {
        let round = world.names("runs/acp-1").into_iter().find(|name| name.len() == 36).unwrap();
        world.appears(&format!("runs/acp-1/{round}/1/acp.json"));
    }
    if step == "writing" {
        until("its work is on record", || types(&events(&world, "acp-1", 1)).contains(&"tool_result"));
    }
    watcher.kill();
    victims.kill_rest(&world, agent);
    let _second = world.watch();
    if is_in_turn {
        fs::write(world.agent(&format!("go.{step}")), "").unwrap();
    } else {
        fs::remove_file(world.agent("hold")).unwrap();
    }
    world.closed("acp-1", "delivered", 1);
    until(&format!("{when}: no process is left"), || world.of_runs().is_empty());
    world.assert_whole(&when);
    let (told, starts) = (told(&world), lines(&world, "starts").len());
    let goes_on = victims == Victims::Watcher;
    assert_eq!(lines(&world, "effects").len(), 1, "{when}");
    assert_eq!(told.iter().filter(|text| text.contains("User chose: a")).count(), 1, "{when}: {told:#?}");
    assert_eq!(told.len(), if is_in_turn && !goes_on { 2 } else { 1 }, "{when}: {told:#?}");
    assert_eq!(starts, if goes_on { 1 } else { 2 }, "{when}");
    // An agent that was not written to cannot have its message.
    let is_unsure = told[0].contains("You may have had this message before");
    assert_eq!(is_unsure, step == UNREAD && !goes_on, "{when}: {}", told[0]);
}

#[test]
fn a_prompt_that_was_never_read_is_sent_again() {
    Victims::EACH.into_iter().for_each(|victims| killed_at(UNREAD, victims));
}

#[test]
fn a_watcher_killed_in_an_acp_turn_doubles_nothing() {
    for step in IN_TURN {
        Victims::EACH.into_iter().for_each(|victims| killed_at(step, victims));
    }
}

#[test]
fn a_watcher_killed_while_a_permission_is_open_loses_nothing() {
    let ask = json!({"run": WORK, "ask": true});
    for victims in Victims::EACH {
        for is_answered_alone in [true, false] {
            let when = format!("{victims:?} killed, answered without a watcher: {is_answered_alone}");
            let world = world("", "");
            turns(&world, &[json!([ask, {"say": "done"}]), json!([ask, {"say": "done"}])]);
            let watcher = world.watch();
            world.ask_and_answer("acp-1");
            until("it asks", || world.in_mailbox("pending/acp-1.json").exists());
            let agent = world.processes("acp.py")[0];
            watcher.kill();
            victims.kill_rest(&world, agent);
            let goes_on = victims == Victims::Watcher;
            let answer = || world.ok("ask-answer", &["acp-1", "once", "--round", &world.seen("acp-1")]);
            let _second = if is_answered_alone {
                answer();
                world.watch()
            } else {
                let second = world.watch();
                if !goes_on {
                    world.closed("acp-1", "delivered", 1);
                }
                answer();
                second
            };
            world.closed("acp-1", "delivered", 2);
            until(&format!("{when}: no process is left"), || world.of_runs().is_empty());
            world.assert_whole(&when);
            assert_eq!(lines(&world, "effects").len(), 1, "{when}");
            assert_eq!(told(&world).len(), if goes_on { 1 } else { 2 }, "{when}: {:#?}", told(&world));
            assert_eq!(world.status("acp-1")["result"], "done", "{when}");
        }
    }
}

mod promises {
    use super::*;

    #[test]
    fn a_watcher_killed_between_claim_and_prompt_loses_nothing() {
        for step in BEFORE {
            Victims::EACH.into_iter().for_each(|victims| killed_at(step, victims));
        }
    }
}
