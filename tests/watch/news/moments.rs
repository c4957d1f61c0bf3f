//! People are told after the grace time, not while somebody sits at an inbox, and not in quiet hours. After that they are told all the
//! same.

use askbox::mailbox::Mailbox;
use askbox::mailbox::who::presence;

use super::{records, told, words, world_with_desk};
use crate::support::until;

#[test]
fn a_person_at_an_inbox_delays_news_and_drops_none() {
    let world = world_with_desk("exit 3", "attempts = 1\n[notify]\ngrace = \"0s\"\npresent = \"1h\"");
    let mailbox = Mailbox::open(world.mailbox()).expect("a mailbox");
    let person = presence::announce_person(&mailbox).expect("a lock");
    let _watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    // What is not seen at the inbox by itself is told at once: the program was started, and the question was not told before.
    world.ok("ask-post", &["-w", "other", "Go?"]);
    world.ok("ask-answer", &["other", "yes"]);
    until("the failure is told", || words(&world).contains(&"parked other".into()));
    assert_eq!(words(&world), ["parked other"]);
    drop(person);
    until("the question is told", || words(&world).contains(&"asked docs".into()));
}

#[test]
fn a_person_who_left_an_inbox_open_is_told_after_a_while() {
    let world = world_with_desk("work", "[notify]\ngrace = \"0s\"\npresent = \"1s\"");
    let mailbox = Mailbox::open(world.mailbox()).expect("a mailbox");
    let _person = presence::announce_person(&mailbox).expect("a lock");
    let _watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    until("the question is told", || words(&world).contains(&"asked docs".into()));
}

#[test]
fn in_quiet_hours_only_urgent_questions_are_told() {
    let clock = |minutes: i64| (chrono::Local::now() + chrono::TimeDelta::minutes(minutes)).format("%H:%M").to_string();
    let quiet = format!("{}-{}", clock(-60), clock(60));
    let world = world_with_desk("work", &format!("[notify]\ngrace = \"0s\"\nquiet = \"{quiet}\""));
    let _watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    world.ok("ask-post", &["-w", "fire", "Stop the deployment?", "--priority", "10"]);
    until("the urgent one is told", || words(&world).contains(&"asked fire".into()));
    until("the other one waits", || records(&world, "desk").len() == 2);
    assert_eq!(words(&world), ["asked fire"], "{:#?}", told(&world));
}

mod promises {
    use super::*;

    #[test]
    fn a_question_answered_within_its_grace_disturbs_nobody() {
        let world = world_with_desk("work", "[notify]\ngrace = \"1h\"");
        let watcher = world.watch();
        world.ok("ask-post", &["-w", "docs", "Merge?"]);
        until("it would be told", || !records(&world, "desk").is_empty());
        world.ok("ask-answer", &["docs", "yes"]);
        watcher.says("delivered  docs");
        until("it is over", || records(&world, "desk").is_empty());
        assert_eq!(words(&world), [] as [&str; 0]);
    }
}
