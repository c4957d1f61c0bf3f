//! `relaunch spawn --fork`: the child is a fork of its parent's session, and the API can take its prefix from the prompt cache.

use crate::support::claude::api::Request;
use crate::support::claude::bash;
use crate::support::process::command_line;
use crate::support::{ClaudeWorld, LIMIT, Signal, signal};
use serde_json::{Value, json};

/// The beginning of a fork's first message.
const TOLD: &str = "You are a fork of the session of workflow root.";
const SPAWN: &str = "relaunch spawn --fork -w child --prompt 'Say what you saw.'";

fn chain() -> ClaudeWorld {
    let mut world = ClaudeWorld::new();
    world.configure("[relaunch]\nbackoff = '10ms'\n[runner.claude]\nallowed_tools = [\"Bash(ask-post:*)\", \"Bash(relaunch spawn:*)\"]\n");
    world.keep_watching_from_the_start();
    world.api.on("Look around.", json!([bash("echo walnut"), bash(SPAWN)]));
    world
}

fn start(world: &ClaudeWorld) -> String {
    world.run("relaunch", &["spawn", "-w", "root", "--prompt", "Look around."]).ok().stdout
}

fn session(world: &ClaudeWorld, id: &str) -> String {
    world.status(id)["session_id"].as_str().expect("a session").to_owned()
}

/// A request's part without the marks of what is to be cached, which move with each message.
fn unmarked(part: &Value) -> Value {
    match part {
        Value::Object(fields) => {
            fields.iter().filter(|(name, _)| *name != "cache_control").map(|(n, v)| (n.clone(), unmarked(v))).collect()
        }
        Value::Array(all) => all.iter().map(unmarked).collect(),
        other => other.clone(),
    }
}

fn of_session(world: &ClaudeWorld, session: &str) -> Vec<Request> {
    world.api.turns().into_iter().filter(|turn| turn.session_id().as_deref() == Some(session)).collect()
}

#[test]
fn a_fork_sends_its_parents_prefix_byte_by_byte() {
    let world = chain();
    world.api.on(TOLD, json!([{"text": "I saw a walnut."}]));
    assert_eq!(start(&world), "I saw a walnut.\n");
    let (root, child) = (session(&world, "root"), session(&world, "child"));
    assert_ne!(root, child);
    let (parents, forks) = (of_session(&world, &root), of_session(&world, &child));
    assert_eq!((parents.len(), forks.len()), (3, 1));
    // The request that was answered with the spawn.
    let (parent, fork) = (&parents[1], &forks[0]);
    for part in ["model", "system", "tools", "thinking"] {
        assert_eq!(unmarked(&fork.body[part]).to_string(), unmarked(&parent.body[part]).to_string(), "{part}");
    }
    let prefix = parent.messages().len();
    let bytes = |request: &Request| unmarked(&Value::Array(request.messages()[..prefix].to_vec())).to_string();
    assert!(prefix >= 3 && bytes(fork) == bytes(parent), "{}\n\n{}", bytes(fork), bytes(parent));
    let text = fork.model_text();
    assert!(text.contains("walnut") && text.contains("\n> Say what you saw.\n"), "{text}");
    assert_eq!(text.matches(TOLD).count(), 1, "{text}");
    // The parent's session goes on with the reply as the call's result, and knows nothing of the fork.
    assert_eq!(parents[2].tool_results(), ["walnut", "I saw a walnut."]);
    let transcript = std::fs::read_to_string(world.transcript_of(&root).expect("it")).expect("a text");
    assert!(!transcript.contains(TOLD) && !transcript.contains(&child));
    let launched = world.launches().pop().expect("a launch");
    assert!(launched.args.contains(&format!("--resume={root} --fork-session")) && launched.args.contains(&child), "{launched:#?}");
}

#[test]
fn a_fork_that_asks_goes_on_in_its_own_session() {
    let world = chain();
    world.api.on(TOLD, json!([bash("ask-post 'Which nut?'")]));
    world.api.on("User chose: walnut", json!([{"text": "It is a walnut."}]));
    world.api.on("child finished. Its reply:\n> It is a walnut.", json!([{"text": "heard"}]));
    assert_eq!(start(&world), "SGN_PEND_STARTED (root)\n");
    let kept = |id: &str| world.document(&format!("workflows/{id}.json"))["session_id"].as_str().expect("a session").to_owned();
    let (root, child) = (kept("root"), kept("child"));
    world.answer("child", "walnut");
    world.wait_status("root", "told", |s| s["state"] == "delivered" && s["result"] == "heard");
    let launches = world.launches();
    assert!(launches[2].args.contains(&format!("--resume={child} --fork-session")), "{launches:#?}");
    assert!(launches[3].args.contains(&format!("--resume={root} --fork-session")), "{launches:#?}");
    let told = world.api.requests_with_text("User chose: walnut").pop().expect("a turn").model_text();
    assert_eq!((told.matches(TOLD).count(), told.matches("QUESTION_POSTED:child").count()), (1, 1), "{told}");
}

mod promises {
    use super::*;

    #[test]
    fn a_killed_fork_forks_the_same_session_again() {
        let world = chain();
        world.api.on(TOLD, json!([{"stall": true}]));
        world.run("relaunch", &["spawn", "--background", "-w", "root", "--prompt", "Look around."]).ok();
        world.api.wait_for_text(TOLD, 1, LIMIT);
        world.api.on(TOLD, json!([{"text": "I saw a walnut."}]));
        let of_child = |pid: &i32| command_line(*pid).contains(" child ");
        let supervisor = world.processes("supervise").into_iter().find(of_child).expect("its supervisor");
        signal(supervisor, Signal::KILL);
        world.wait_status("root", "done", |s| s["state"] == "delivered" && s["result"] == "I saw a walnut.");
        let root = session(&world, "root");
        let forks: Vec<_> = world.launches().into_iter().filter(|l| l.args.contains(&format!("--resume={root} --fork-session"))).collect();
        assert_eq!(forks.len(), 2, "{forks:#?}");
        assert_ne!(forks[0].args, forks[1].args, "another session");
        let told = of_session(&world, &session(&world, "child")).pop().expect("a turn").model_text();
        assert_eq!(told.matches(TOLD).count(), 1, "{told}");
    }
}
