//! The answer stays in the checkpoint until the next answer replaces it.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{World, until};

fn saved(world: &World) -> Value {
    world.json("m/checkpoints/w.json")
}

#[test]
fn an_answer_that_the_agent_writes_replaces_the_one_there() {
    let world = World::new();
    world.sh("checkpoint save w --step ask && ask-post Which? -w w && ask-answer w a && relaunch prompt w");
    world.sh("echo '{\"user_answer\": \"mine\"}' | checkpoint save w");
    assert_eq!((&saved(&world)["user_answer"], saved(&world).get("user_answer_to")), (&json!("mine"), None));
    world.sh("echo '{\"user_answer\": null}' | checkpoint save w");
    assert_eq!(saved(&world)["user_answer"], Value::Null);
    world.sh("checkpoint save w --step two");
    assert_eq!(saved(&world)["user_answer"], Value::Null);
}

#[test]
fn an_answer_by_hand_survives_a_save_for_its_question_only() {
    let world = World::stepping("work");
    let write = |path: &str, age: u64| {
        let file = std::fs::File::options().write(true).open(world.path(path)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
    };
    // The answer is older than the question, so it does not count. The save must not make it younger.
    world.sh("echo '{\"user_answer\": \"old\"}' | checkpoint save w");
    write("m/checkpoints/w.json", 60);
    world.sh("ask-post Which? -w w && checkpoint save w --step two");
    assert_eq!(saved(&world)["user_answer"], "old");
    world.sh("mv m/pending/w.json m/answered/w.json");
    write("m/answered/w.json", 10);
    let watcher = world.watch();
    world.appears("pending/w.json");
    assert!(!world.names("answered").iter().any(|n| n == "w.json"), "{}", watcher.log());
    // Written after the question, it is the answer, and an agent that saves its state meanwhile does not lose it.
    drop(watcher);
    world.sh("mv m/pending/w.json m/answered/w.json");
    write("m/answered/w.json", 10);
    world.sh("jq '.user_answer = \"new\"' m/checkpoints/w.json > t && mv t m/checkpoints/w.json && checkpoint save w --step three");
    let _watcher = world.watch();
    until("it is answered", || world.audit("w").contains(&"delivered".to_owned()));
    assert_eq!(world.closed("w", "delivered", 1)[0]["answer"]["value"], "new");
}

/// A question that waits, with the checkpoint that an `ask-answer` leaves if it is killed before its answer counts.
fn half_answered() -> World {
    let world = World::new();
    world.sh("checkpoint save w --step review; ask-post -w w 'Deploy?' -t yes_no");
    let mut checkpoint = world.document("checkpoints/w.json");
    checkpoint["user_answer"] = "yes".into();
    checkpoint["user_answer_to"] = world.round("w").into();
    std::fs::write(world.in_mailbox("checkpoints/w.json"), checkpoint.to_string()).expect("a file");
    world
}

fn holds_an_answer(world: &World) -> bool {
    let checkpoint = world.document("checkpoints/w.json");
    checkpoint.get("user_answer").is_some() || checkpoint.get("user_answer_to").is_some()
}

#[test]
fn an_answer_that_nobody_accepted_leaves_the_checkpoint() {
    for look in
        ["checkpoint env w", "checkpoint show w", "checkpoint show w --json", "ask-answer cancel w", "ask-post -w w 'Else?' --supersede"]
    {
        let world = half_answered();
        let said = world.sh(look);
        assert!(!said.contains("yes"), "{look}: {said}");
        assert!(!holds_an_answer(&world), "{look}");
        assert_eq!(world.sh("checkpoint get w current_step"), "review", "{look}");
    }
    let world = half_answered();
    world.refused(3, "checkpoint get w user_answer");
    world.sh("ask-answer w no");
    assert_eq!(world.sh("checkpoint get w user_answer"), "no");
}

#[test]
fn an_answered_question_waits_no_more_if_its_file_is_there() {
    let looks = [
        ("ask-answer list", "no question is pending"),
        ("ask-answer list --json", ""),
        ("ask-answer show w", "answered"),
        ("ask-answer show w --json | jq -r .state", "answered"),
    ];
    for (look, expected) in looks {
        let world = World::new();
        world.sh("ask-post -w w 'Deploy?' -t yes_no && cp m/pending/w.json kept && ask-answer w yes");
        // The program that answered was killed before it removed the question.
        world.sh("mv kept m/pending/w.json");
        let said = world.sh(&format!("{look} 2>&1"));
        assert!(said.contains(expected) && (!expected.is_empty() || said.is_empty()), "{look}: {said}");
    }
}

mod promises {
    use super::*;

    #[test]
    fn an_agent_that_saves_after_the_answer_keeps_the_answer() {
        let world = World::new();
        world.sh("checkpoint save w --step ask && ask-post Which? -w w -o a=A -o b=B && ask-answer w a && relaunch prompt w");
        let first = saved(&world)["user_answer_to"].clone();
        for save in [
            "checkpoint save w --step two",
            "echo '{\"current_step\":\"three\"}' | checkpoint save w",
            "jq 'del(.user_answer_to)' m/checkpoints/w.json | checkpoint save w",
        ] {
            world.sh(save);
            assert_eq!((&saved(&world)["user_answer"], &saved(&world)["user_answer_to"]), (&json!("a"), &first), "{save}");
        }
        assert_eq!(world.sh("checkpoint get w user_answer"), "a");
        assert_eq!(world.sh("eval \"$(checkpoint env w)\"; echo $USER_ANSWER"), "a");
        world.sh("ask-post Again? -w w && checkpoint save w --step four && ask-answer w yes");
        assert_eq!(saved(&world)["user_answer"], "yes");
        assert_ne!(saved(&world)["user_answer_to"], first);
    }
}

#[test]
fn an_earlier_answer_is_not_that_of_the_question_that_waits() {
    let world = World::new();
    world.sh("checkpoint save w --step staging && ask-post 'Deploy to staging?' -w w -t yes_no && ask-answer w yes && relaunch prompt w");
    assert_eq!(world.sh("checkpoint get w user_answer"), "yes");
    world.sh("ask-post 'Deploy to production?' -w w -t yes_no");
    world.refused(3, "checkpoint get w user_answer");
    assert!(world.sh("checkpoint env w").contains("USER_ANSWER=''"));
    assert!(!world.sh("checkpoint show w").contains("yes"));
    assert_eq!(saved(&world)["user_answer"], "yes", "the file keeps it until the next answer");
    world.sh("ask-answer w no && relaunch prompt w");
    assert_eq!(world.sh("checkpoint get w user_answer"), "no");
}
