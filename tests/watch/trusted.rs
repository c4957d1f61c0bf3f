//! A watcher launches nothing for an answer that its operator does not trust.

use crate::support::{World, until};

/// A watched world that counts only signed answers, and a question of `w`.
fn asked() -> World {
    let world = World::stepping("work");
    world.configure(&world.only_signed_answers());
    world.sh("ask-post -w w 'Merge?' -o a=A -o b=B");
    world
}

#[test]
fn a_round_claimed_by_hand_is_parked_before_any_launch() {
    let world = asked();
    let round = world.round("w");
    world.forge("w", "b");
    world.sh(&format!("mv m/answered/w.json m/running/w.{round}.json"));
    let _watcher = world.watch();
    let status = world.reaches("w", "parked");
    assert_eq!(status["failure"], "untrusted", "{status}");
    assert!(status["why"].as_str().unwrap().starts_with("its answer does not count: its signature"), "{status}");
    assert!(status["todo"].as_str().unwrap().contains("relaunch drop w"), "{status}");
    assert_eq!(world.logged("start "), 0, "{:#?}", world.log());
    until("it is on record", || world.audit("w").contains(&"parked".to_owned()));
    // A retry asks again.
    world.shell("relaunch retry w");
    world.reaches("w", "parked");
    assert_eq!(world.logged("start "), 0, "{:#?}", world.log());
}

#[test]
fn a_round_claimed_before_the_policy_waits_for_trust() {
    let world = World::stepping("work");
    world.sh("ask-post -w w 'Merge?' -o a=A; ask-answer w a");
    world.hold("began");
    let watcher = world.watch();
    world.held("began");
    // The machine goes down, and its operator wants signatures from now on.
    let signed_only = world.only_signed_answers();
    watcher.kill();
    world.processes("supervise").into_iter().for_each(crate::support::process::kill);
    until("the end of the agent", || world.of_runs().is_empty());
    world.let_go("began");
    world.configure(&signed_only);
    let watcher = world.watch();
    let status = world.reaches("w", "parked");
    assert_eq!(status["failure"], "untrusted", "{status}");
    watcher.stop();
    world.configure("");
    world.shell("relaunch retry w");
    world.closed("w", "delivered", 1);
}

#[test]
fn an_asker_that_waits_itself_takes_no_forged_answer() {
    let world = World::new();
    world.configure(&world.only_signed_answers());
    let mut waiter = world.command("ask-post");
    waiter.args(["-w", "w", "Merge?", "-o", "a=A", "-o", "b=B", "--wait", "5m"]);
    let mut waiter = waiter.stdout(std::process::Stdio::piped()).spawn().unwrap();
    world.appears("pending/w.json");
    world.forge("w", "b");
    world.appears("quarantine/w.json");
    world.appears("pending/w.json");
    assert!(waiter.try_wait().unwrap().is_none(), "it waits on");
    world.sh("ask-answer w a");
    let out = waiter.wait_with_output().unwrap();
    assert!(out.status.success() && String::from_utf8_lossy(&out.stdout).contains('a'), "{out:?}");
    assert_eq!(world.closed("w", "delivered", 1)[0]["answer"]["value"], "a");
}

mod promises {
    use super::*;

    #[test]
    fn a_forged_answer_starts_no_agent_and_the_proper_one_does() {
        let world = asked();
        let watcher = world.watch();
        world.forge("w", "b");
        world.appears("quarantine/w.json");
        world.appears("pending/w.json");
        watcher.says("its signature is not that of a key in answers.trusted_keys");
        world.audit_is("w", &["posted", "refused"]);
        // The forger is stubborn.
        world.forge("w", "b");
        watcher.says_times("see quarantine/", 2);
        until("the question waits again", || world.in_mailbox("pending/w.json").exists() && world.names("answered").is_empty());
        world.sh("ask-answer w a");
        assert_eq!(world.closed("w", "delivered", 1)[0]["answer"]["value"], "a");
        assert_eq!((world.logged("start w/"), world.logged("shown ")), (1, 1), "{:#?}", world.log());
    }
}
