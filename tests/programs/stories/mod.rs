//! Why a round stands still: each view names the same cause, and its command mends it. `tests/stories.md` is the table of faults and views.
//!
//! Each fault is planted in a world of its own. A view that prints JSON has the cause as a word. A view in words has to hold the command that
//! changes it, or the reason.

mod faults;
mod views;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::programs::stories::faults::{FAULTS, answered, watch, well};
use crate::programs::stories::views::{VIEWS, row};
use crate::support::files::write_program;
use crate::support::{in_parallel, needs, until};

#[test]
fn every_view_tells_the_same_cause_of_each_fault() {
    needs!("mount", "jq");
    let only = std::env::var("ASKBOX_TEST_FAULT").unwrap_or_default();
    let faults: Vec<_> = FAULTS.iter().filter(|fault| fault.name.contains(&only)).collect();
    let rows = Mutex::new(BTreeMap::new());
    let numbered: Vec<_> = faults.iter().enumerate().collect();
    in_parallel(4, &numbered, |(at, fault)| {
        let row =
            std::panic::catch_unwind(|| row(fault)).unwrap_or_else(|_| (String::new(), vec![format!("{} cannot be planted", fault.name)]));
        rows.lock().unwrap().insert(*at, row);
    });
    let rows: Vec<_> = rows.into_inner().unwrap().into_values().collect();
    let wrong: Vec<_> = rows.iter().flat_map(|(_, wrong)| wrong.clone()).collect();
    assert!(wrong.is_empty(), "{} cells are wrong:\n{}", wrong.len(), wrong.join("\n---\n"));
    if only.is_empty() {
        let head: Vec<_> = VIEWS.iter().map(|(name, ..)| *name).chain(["page", "inbox"]).collect();
        let mut table = format!("| fault | command | {} |\n|---|---|{}\n", head.join(" | "), "---|".repeat(head.len()));
        rows.iter().for_each(|(line, _)| writeln!(table, "{line}").unwrap());
        snapbox::assert_data_eq!(table, snapbox::file!["../../stories.md"].raw());
    }
}

#[test]
fn a_program_that_an_update_is_writing_is_waited_for() {
    let world = well();
    let _watcher = watch(&world);
    let update = std::fs::OpenOptions::new().append(true).open(world.path("agent")).unwrap();
    answered(&world);
    // With one attempt, a failure would park it. The process that is to become the agent waits.
    until("the launch waits", || !world.processes("__agent").is_empty());
    let waits = world.reaches("w", "throttled");
    assert!(waits["why"].as_str().unwrap().contains("agent: it is being replaced"), "{waits}");
    drop(update);
    world.closed("w", "delivered", 1);
}

/// Plants all faults in an order that nobody knows. Each gets a script `enter` that runs a command there. They last until the file `done` exists, for
/// an hour at most. Then the file `key` says which was which.
#[test]
#[ignore = "a person looks for the causes: tests/run trial FOLDER"]
fn an_operator_looks_for_causes_planted_blind() {
    let trial = std::path::PathBuf::from(std::env::var_os("ASKBOX_TEST_TRIAL").expect("ASKBOX_TEST_TRIAL names a folder"));
    let mut faults: Vec<_> = FAULTS.iter().filter(|fault| fault.shell == "VIEW").collect();
    faults.sort_by_cached_key(|_| uuid::Uuid::now_v7().as_u128().swap_bytes());
    let planted = Mutex::new(Vec::new());
    let numbered: Vec<_> = faults.iter().enumerate().collect();
    in_parallel(4, &numbered, |(at, fault)| {
        let world = well();
        let kept = (fault.plant)(&world);
        let variables: String = world.env().iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
        let enter = format!(
            "#!/bin/sh\ncd {}; exec env -i {variables} PATH='{}' sh -c \"$1\"\n",
            world.home().display(),
            world.path_with_programs()
        );
        write_program(&trial.join(format!("enter-{:02}", at + 1)), &enter);
        planted.lock().unwrap().push((*at, fault.cause, fault.name, world, kept));
    });
    std::fs::write(trial.join("planted"), "").unwrap();
    let end = Instant::now() + Duration::from_secs(3600);
    while !trial.join("done").exists() && Instant::now() < end {
        std::thread::sleep(Duration::from_secs(1));
    }
    let mut planted = planted.into_inner().unwrap();
    planted.sort_by_key(|(at, ..)| *at);
    let key: String = planted.iter().map(|(at, cause, name, ..)| format!("{:02} {cause} {name}\n", at + 1)).collect();
    std::fs::write(trial.join("key"), key).unwrap();
}
