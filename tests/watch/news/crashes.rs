//! News are never forgotten and never come under two ids, whatever process is killed.

use std::collections::{BTreeMap, BTreeSet};

use super::{told, words, world_with_desk};
use crate::support::needs;
use crate::support::{Dice, Signal, number, signal, until};

/// The ids that each event of each workflow was told under.
fn ids(world: &crate::support::World) -> BTreeMap<String, BTreeSet<String>> {
    let mut ids = BTreeMap::<String, BTreeSet<String>>::new();
    for news in told(world) {
        let event = format!("{} {}", news["event"].as_str().unwrap_or_default(), news["workflow_id"].as_str().unwrap_or_default());
        ids.entry(event).or_default().insert(news["id"].as_str().unwrap_or_default().to_owned());
    }
    ids
}

/// Whether there are so many records, and each says that its first event was told.
fn are_sent(world: &crate::support::World, number: usize) -> bool {
    let records = super::records(world, "desk");
    records.len() == number && records.iter().all(|name| world.document(&format!("news/desk/{name}"))["events"][0]["state"] == "sent")
}

#[test]
fn of_two_watchers_one_tells_and_the_other_one_takes_over() {
    let world = world_with_desk("work", "[notify]\ngrace = \"0s\"");
    let first = world.watch();
    let _second = world.watch();
    for n in 0..5 {
        world.ok("ask-post", &["-w", &format!("w{n}"), "Merge?"]);
    }
    // The teller must have written down all that it told before it is killed: the next one tells the rest again.
    until("all are known to be told", || are_sent(&world, 5));
    first.kill();
    world.ok("ask-post", &["-w", "w5", "Merge?"]);
    until("the sixth is told", || words(&world).contains(&"asked w5".into()));
    let told = words(&world);
    assert_eq!(told.len(), 6, "{told:?}");
}

#[test]
fn a_failing_target_is_told_later_and_the_doctor_names_it() {
    let world = world_with_desk("work", "[notify]\ngrace = \"0s\"");
    std::fs::write(world.agent("desk_fails"), "").expect("a file");
    let watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    watcher.says("target desk");
    until("the doctor says so", || world.run("askbox", &["doctor"]).words().contains("not_told: target desk: could not be told"));
    std::fs::remove_file(world.agent("desk_fails")).expect("it is there");
    until("the doctor is content", || world.run("askbox", &["doctor"]).words().contains("Target desk (exec): last told"));
    assert!(!world.run("askbox", &["doctor"]).words().contains("not_told"));
    let all = told(&world);
    assert!(all.len() >= 2 && all.iter().all(|news| news["id"] == all[0]["id"]), "{all:#?}");
}

#[test]
fn a_record_that_cannot_be_read_stops_nobody_from_being_told() {
    let world = world_with_desk("work", "[notify]\ngrace = \"0s\"");
    let watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    until("it is told", || words(&world).len() == 1);
    watcher.kill();
    for name in world.names("news/desk") {
        std::fs::write(world.in_mailbox(format!("news/desk/{name}")), "torn").expect("a record");
    }
    let watcher = world.watch();
    watcher.says("is no record of news");
    // It is told again, with the same id.
    until("it is told again", || words(&world).len() == 2);
    assert_eq!(told(&world)[0]["id"], told(&world)[1]["id"]);
    world.ok("ask-post", &["-w", "other", "Merge?"]);
    until("the next one is told", || words(&world).contains(&"asked other".into()));
}

#[test]
fn what_could_not_be_written_down_is_told_once_it_can_be() {
    let world = world_with_desk("work", "[notify]\ngrace = \"0s\"");
    let watcher = world.watch();
    world.ok("ask-post", &["-w", "first-one", "Merge?"]);
    until("it is known to be told", || are_sent(&world, 1));
    let (folder, aside) = (world.in_mailbox("news/desk"), world.in_mailbox("news/aside"));
    std::fs::rename(&folder, &aside).expect("the folder");
    std::fs::write(&folder, "in the way").expect("a file");
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    watcher.says("error: cannot");
    std::fs::remove_file(&folder).expect("it is there");
    std::fs::rename(&aside, &folder).expect("the folder");
    until("it is told", || words(&world).contains(&"asked docs".into()));
}

mod promises {
    use super::*;

    #[test]
    fn a_killed_teller_forgets_nothing_and_keeps_its_ids() {
        let world = world_with_desk("work", "[notify]\ngrace = \"0s\"");
        let mut dice = Dice::new(number("ASKBOX_STORM_SEED", 20_261_123) as u64);
        let mut watcher = world.watch();
        for n in 0..50 {
            world.ok("ask-post", &["-w", &format!("w{n}"), "Merge?", "-o", "a=A", "-o", "b=B"]);
            if n % 2 == 1 {
                world.ok("ask-answer", &[&format!("w{}", n - dice.roll(2)), "a"]);
            }
            if dice.roll(3) == 0 {
                signal(watcher.process.pid(), Signal::KILL);
                watcher = world.watch();
            }
        }
        let answered: Vec<String> =
            (0..50).map(|n| format!("w{n}")).filter(|w| !world.in_mailbox(format!("pending/{w}.json")).exists()).collect();
        until("every question that waits is told", || {
            let told = words(&world);
            // Many at once are told as one.
            told.iter().any(|word| word == "several")
                || (0..50).map(|n| format!("w{n}")).filter(|w| !answered.contains(w)).all(|w| told.contains(&format!("asked {w}")))
        });
        for w in &answered {
            world.closed(w, "delivered", 1);
        }
        let not_told = || {
            let told = words(&world);
            let asked = answered.iter().filter(|w| told.contains(&format!("asked {w}")));
            let not_told = asked.filter(|w| !told.contains(&format!("answered {w}")));
            not_told
                .map(|w| format!("{w}: {:?}", super::super::records(&world, "desk")))
                .filter(|_| !told.contains(&"several".into()))
                .collect::<Vec<_>>()
        };
        let begun = std::time::Instant::now();
        until("what was told to be asked is told to be answered", || not_told().is_empty() || begun.elapsed().as_secs() > 100);
        assert_eq!(not_told(), [] as [String; 0], "{:#?}", words(&world));
        for (event, ids) in ids(&world).iter().filter(|(event, _)| !event.starts_with("several")) {
            assert_eq!(ids.len(), 1, "{event} was told under {ids:?}");
        }
    }

    #[test]
    fn the_doctor_says_that_news_wait_behind_a_hung_watcher() {
        needs!("jq");
        let world = world_with_desk("work", "[notify]\ngrace = \"0s\"\ntime_limit = \"1s\"");
        let first = world.watch();
        world.ok("ask-post", &["-w", "one", "Merge?"]);
        until("it is told, so the first watcher is the one that tells", || are_sent(&world, 1));
        let _second = world.watch();
        signal(first.process.pid(), Signal::STOP);
        world.ok("ask-post", &["-w", "two", "Merge?"]);
        let doctor = || world.shell("askbox doctor").stdout;
        assert!(!doctor().contains("news_wait"), "{}", doctor());
        let file = world.in_mailbox("pending/two.json").display().to_string();
        world.sh(&format!(
        "at=$(date -u -d '70 seconds ago' +%FT%T.000Z) && jq --arg at $at '.timestamp = $at' {file} >aged && cp aged {file} && touch -d $at {file}"
    ));
        let said = doctor();
        assert!(said.contains("news_wait: target desk: an event was to be told, the oldest 1m"), "{said}");
        assert!(said.contains(&format!("process {} (relaunch), which a signal has stopped", first.process.pid())), "{said}");
        world.sh(&format!("kill -CONT {}", first.process.pid()));
        until("it is told", || words(&world).contains(&"asked two".into()));
        until("nothing waits", || !doctor().contains("news_wait"));
    }
}
