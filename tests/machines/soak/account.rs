//! What must hold at the end.

use std::collections::{BTreeMap, BTreeSet};

use super::load::{Ends, Load};
use crate::machines::postgres::cluster::Database;
use crate::support::{Server, World, until};

/// Every round that was asked is over as it had to be, and each that was delivered to a model was shown once. Returns how many rounds there
/// were.
pub fn check(world: &World, load: &Load) -> usize {
    for folder in ["pending", "answered", "running", "parked", "quarantine", "timers", "awaits"] {
        assert_eq!(world.names(folder), Vec::<String>::new(), "{folder}/ is not empty");
    }
    let log = world.log();
    let of_kind =
        |kind: &str| -> Vec<&str> { log.iter().filter_map(|line| line.strip_prefix(kind)?.strip_prefix(' ')?.split(' ').next()).collect() };
    assert!(of_kind("violation").is_empty(), "two agents of one round lived at once: {:?}", of_kind("violation"));
    let starts = of_kind("start");
    let once: BTreeSet<&str> = starts.iter().copied().collect();
    assert_eq!(once.len(), starts.len(), "an attempt was launched twice");
    // Each round that a model was shown, however many attempts it took.
    let mut shown: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for run in of_kind("shown") {
        let (round, _) = run.rsplit_once('/').expect("an attempt");
        shown.entry(round.split('/').next().unwrap_or_default()).or_default().insert(round);
    }
    let done = of_kind("done");
    let rounds_done: BTreeSet<&str> = done.iter().filter_map(|run| Some(run.rsplit_once('/')?.0)).collect();
    assert_eq!(rounds_done.len(), done.len(), "the work of a round was done twice");

    let mut found: BTreeMap<String, Ends> = BTreeMap::new();
    let names = world.names("closed");
    for name in names.iter().filter(|name| !name.starts_with("first.")) {
        let document = world.document(&format!("closed/{name}"));
        let workflow = document["workflow_id"].as_str().expect("an id").to_owned();
        let state = document["closed"]["state"].as_str().expect("a state").to_owned();
        *found.entry(workflow).or_default().states.entry(state).or_default() += 1;
    }
    for (workflow, ends) in &mut found {
        ends.shown = shown.get(workflow.as_str()).map_or(0, BTreeSet::len);
    }
    let expected = load.expected.lock().expect("expected");
    for (workflow, ends) in expected.iter() {
        let lines = || log.iter().filter(|line| line.contains(workflow.as_str())).collect::<Vec<_>>();
        assert_eq!(found.get(workflow), Some(ends), "{workflow}: {:#?}", lines());
    }
    assert_eq!(found.len(), expected.len(), "a workflow that nobody asked for");
    found.values().flat_map(|ends| ends.states.values()).sum()
}

/// The database knows that each round is over.
pub fn check_database(database: &Database, rounds: usize) {
    let count = |query: &str| database.value(query).and_then(|count| count.parse::<usize>().ok()).expect("a number");
    until("the database knows that all is over", || count("SELECT count(*)::text FROM askbox.question WHERE rank < 2") == 0);
    let known = count("SELECT count(*)::text FROM askbox.question");
    // A round that began and ended between two looks of the host may be missing there.
    assert!((1..=rounds).contains(&known), "{known} of {rounds}");
}

/// The webhook was told of the rounds, and of each step once.
pub fn check_news(world: &World, place: &World) {
    // What was told of a round that is over is forgotten.
    until("all news are told", || world.names("news/hook").iter().all(|name| !name.ends_with(".json")));
    let heard = Server::lines(place, "received");
    let ids: BTreeSet<String> = heard.iter().map(|line| line["id"].to_string()).collect();
    assert!(!heard.is_empty() && ids.len() == heard.len(), "{} of {} messages are different", ids.len(), heard.len());
    assert!(heard.iter().all(|line| line["signed"] == true), "a message is not signed");
}
