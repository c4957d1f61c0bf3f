//! Which events are told.

use super::{records, told, words, world_with_desk};
use crate::support::until;

#[test]
fn failures_are_told_even_if_the_answer_came_first() {
    let world = world_with_desk("exit 3", "attempts = 2\n[notify]\ngrace = \"1h\"");
    // A failure that is being mended when the teller looks is not told.
    world.reconfigure("backoff = \"50ms\"\nbackoff_max = \"500ms\"", "backoff = \"1h\"\nbackoff_max = \"1h\"");
    let _watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    world.ok("ask-answer", &["docs", "yes"]);
    until("the failure is told", || words(&world).contains(&"failed docs".into()));
    // The supervisor of the first attempt may still be ending, and the command is refused until then.
    until("it is tried by hand", || {
        world.run("relaunch", &["docs"]);
        world.state("docs") == "parked"
    });
    until("the end is told", || words(&world).contains(&"parked docs".into()));
    assert_eq!(words(&world), ["failed docs", "parked docs"]);
    let all = told(&world);
    assert_eq!((all[0]["attempt"].as_i64(), all[1]["attempt"].as_i64()), (Some(1), Some(2)));
    assert!(all[1]["why"].as_str().is_some_and(|why| !why.is_empty()), "{all:#?}");
    assert!(all[1]["title"].as_str().is_some_and(|title| title.contains("docs needs you")), "{all:#?}");
}

#[test]
fn an_expiry_is_told_before_its_time_and_when_it_is_over() {
    let world = world_with_desk("work", "[notify]\ngrace = \"0s\"\nexpiring = \"30m\"");
    let _watcher = world.watch();
    // A quarter of its time before its end: the teller has to look in that quarter.
    world.ok("ask-post", &["-w", "docs", "Merge?", "--timeout", "60s"]);
    until("all is told", || words(&world).len() == 3);
    assert_eq!(words(&world), ["asked docs", "expiring docs", "overdue docs"]);
}

#[test]
fn a_target_is_told_the_events_it_wants_and_the_log_all() {
    let world = world_with_desk("work", "[notify]\ngrace = \"0s\"");
    world.reconfigure("[target.desk]", "[target.desk]\nevents = [\"delivered\", \"parked\"]");
    let watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    world.ok("ask-answer", &["docs", "yes"]);
    watcher.says("delivered  docs  attempt 1");
    // It was not told of the question, so it is not told what became of it.
    assert_eq!(words(&world), [] as [&str; 0]);
}

#[test]
fn an_answer_that_is_taken_back_makes_the_question_news_again() {
    let world = world_with_desk("work", "[notify]\ngrace = \"0s\"");
    world.ok("relaunch", &["pause"]);
    let _watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    until("the question is told", || words(&world).contains(&"asked docs".into()));
    world.ok("ask-answer", &["docs", "yes"]);
    until("the answer is told", || words(&world).contains(&"answered docs".into()));
    world.ok("ask-answer", &["undo", "docs"]);
    until("the question is told again", || words(&world).iter().filter(|word| **word == "asked docs").count() == 2);
    let ids: std::collections::BTreeSet<_> = told(&world).iter().map(|news| news["id"].to_string()).collect();
    assert_eq!(ids.len(), 3, "each event has an id of its own");
}

mod promises {
    use super::*;

    #[test]
    fn question_answer_and_delivery_are_told_once_each() {
        let world = world_with_desk("work", "[notify]\ngrace = \"0s\"");
        let _watcher = world.watch();
        let long = format!("Merge {}?", "very ".repeat(60));
        world.ok("ask-post", &["-w", "docs", &long, "--context", "a secret context", "-o", "a=A", "-o", "b=B"]);
        until("the question is told", || words(&world).contains(&"asked docs".into()));
        world.ok("ask-answer", &["docs", "a", "--by", "ann"]);
        until("its end is told", || words(&world).contains(&"delivered docs".into()));
        assert_eq!(words(&world), ["asked docs", "answered docs", "delivered docs"]);
        let all = told(&world);
        assert_eq!(
            (all[1]["by"].as_str(), all[1]["through"].as_str(), all[1]["outcome"].as_str()),
            (Some("ann"), Some("ask-answer"), Some("answered"))
        );
        assert_eq!(all[2]["attempt"], 1);
        assert!(all.iter().all(|news| news["question"].as_str().expect("a question").chars().count() <= 121), "{all:#?}");
        assert!(!format!("{all:?}").contains("secret"), "the context was told");
        until("nothing is kept of a round that is over", || records(&world, "desk").is_empty());
    }

    #[test]
    fn a_withdrawn_question_is_told_and_an_event_wait_is_not() {
        let world = world_with_desk("work", "[notify]\ngrace = \"0s\"");
        let _watcher = world.watch();
        world.ok("ask-post", &["-w", "later", "Wait.", "--until", "2099-01-01T00:00:00Z"]);
        world.ok("ask-post", &["-w", "docs", "Merge?"]);
        until("the question is told", || words(&world).contains(&"asked docs".into()));
        world.ok("ask-answer", &["cancel", "docs"]);
        until("its end is told", || words(&world).len() == 2);
        assert_eq!(told(&world)[1]["outcome"], "withdrawn");
        assert_eq!(words(&world), ["asked docs", "answered docs"]);
    }
}
