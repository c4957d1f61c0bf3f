//! The watcher that runs, or does not: the configuration that it began with, and a watcher that is only a moment away.

use super::{answered, configure, findings, report, well};
use crate::support::until;

#[test]
fn doctor_names_each_key_that_is_newer_than_the_watcher() {
    let world = well();
    configure(&world, "");
    let watcher = world.watch();
    assert_eq!(findings(&world), [] as [serde_json::Value; 0]);
    configure(
        &world,
        "env = { KEY = 's3cret' }\n[metrics]\nfile = '/tmp/askbox.prom'\n[notify]\nquiet = '22:00-07:00'\n[limits]\nday_cost = 5.0\n[web]\nsession = '1h'\n",
    );
    let found = findings(&world);
    let keys: Vec<_> = found.iter().map(|found| found["subject"].as_str().unwrap()).collect();
    assert_eq!(keys, ["limits.day_cost", "metrics.file", "notify.quiet", "runner.claude.env.KEY"], "{found:#?}");
    assert!(found.iter().all(|found| found["kind"] == "newer_configuration"));
    let ends = |found: &serde_json::Value| found["problem"].as_str().unwrap().ends_with("; new runs use the new one");
    assert!(ends(&found[0]) && !ends(&found[1]));
    assert!(!std::fs::read_to_string(world.in_mailbox("locks/watchers.keys")).unwrap().contains("s3cret"));
    let mend = found[0]["mend"].as_str().unwrap();
    let (ends, starts) = mend.split_once(" && ").unwrap();
    assert_eq!(starts, "relaunch watch");
    world.sh(ends);
    until("the watcher has ended", || report(&world)["watcher"] == false);
    drop(watcher);
    let _watcher = world.watch();
    assert_eq!(findings(&world), [] as [serde_json::Value; 0]);
}

#[test]
fn a_watcher_that_restarts_within_a_second_is_not_missed() {
    let world = well();
    world.sh("relaunch pause");
    answered(&world, "w");
    assert!(findings(&world).iter().any(|found| found["kind"] == "unclaimed"));
    let (said, watcher) = std::thread::scope(|scope| {
        let doctor = scope.spawn(|| world.shell("askbox doctor"));
        std::thread::sleep(std::time::Duration::from_millis(250));
        let watcher = world.start_watcher();
        (doctor.join().unwrap().stdout, watcher)
    });
    assert!(said.contains("A watcher is running.\n") && !said.contains("unclaimed"), "{said}");
    drop(watcher);
}
