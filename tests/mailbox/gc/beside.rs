//! `askbox gc` beside other programs that work on the mailbox.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::mailbox::gc::{DAY, gc, traces, world};
use crate::support::{Watcher, until};

#[test]
fn two_gcs_at_once_prune_each_round_once() {
    let world = world();
    gc(&world, &["--keep", "0s"]);
    for n in 0..40 {
        let id = format!("w{}", n % 25);
        world.ok("ask-post", &["-w", &id, "?"]);
        world.ok("ask-answer", &["cancel", &id]);
    }
    let reports: Vec<Value> = std::thread::scope(|scope| {
        let gcs: Vec<_> = (0..4).map(|_| scope.spawn(|| gc(&world, &["--keep", "0s"]))).collect();
        gcs.into_iter().map(|g| g.join().expect("a gc")).collect()
    });
    let sum = |field: &str| reports.iter().filter_map(|r| r[field].as_u64()).sum::<u64>();
    assert_eq!((sum("rounds"), sum("workflows")), (40, 25), "{reports:#?}");
    assert!(reports.iter().all(|r| r["left"].is_null()), "{reports:#?}");
    assert_eq!(traces(&world, "w"), [world.in_mailbox("answered"), world.in_mailbox("awaits"), world.in_mailbox("workflows")]);
}

/// Ends the gcs, however the storm ends.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Everything is pruned the moment it is over, while other questions of the same workflows are posted, answered and delivered.
#[test]
fn while_gc_runs_all_the_time_every_answer_is_delivered_once() {
    const WORKFLOWS: usize = 12;
    const ROUNDS: usize = 10;
    let world = world();
    let (watchers, over) = ([world.start_watcher(), world.start_watcher()], AtomicBool::new(false));
    let pruned = std::thread::scope(|scope| {
        let gcs: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut rounds = 0;
                    while !over.load(Ordering::Relaxed) {
                        rounds += gc(&world, &["--keep", "0s"])["rounds"].as_u64().unwrap_or_default();
                    }
                    rounds
                })
            })
            .collect();
        let (world, end) = (&world, Over(&over));
        let askers: Vec<_> = (0..WORKFLOWS)
            .map(|n| {
                scope.spawn(move || {
                    let id = format!("w{n}");
                    for round in 0..ROUNDS {
                        if n % 3 == 0 {
                            world.ok("checkpoint", &["save", &id, "--step", &format!("s{round}")]);
                        }
                        world.ok("ask-post", &["-w", &id, &format!("Question {round}?"), "-o", "a=A", "-o", "b=B"]);
                        world.ok("ask-answer", &[&id, "a"]);
                        // Half of them do not wait for the delivery.
                        let path = world.in_mailbox(format!("answered/{id}.json"));
                        until("it is claimed", || !path.exists());
                        if n % 2 == 0 {
                            until("it is over", || !world.names("running").iter().any(|r| r.starts_with(&format!("{id}."))));
                        }
                    }
                })
            })
            .collect();
        askers.into_iter().for_each(|a| a.join().expect("an asker"));
        until("all are delivered", || ["pending", "answered", "running"].iter().all(|f| world.names(f).is_empty()));
        until("the last supervisor is gone", || world.of_runs().is_empty() && world.processes(" supervise ").is_empty());
        drop(end);
        gcs.into_iter().map(|g| g.join().expect("a gc")).sum::<u64>()
    });
    for n in (0..WORKFLOWS).step_by(3) {
        let id = format!("w{n}");
        assert_eq!(world.ok("checkpoint", &["get", &id, "current_step"]), format!("s{}\n", ROUNDS - 1), "a checkpoint in use went");
        let then = SystemTime::now() - Duration::from_secs(DAY);
        std::fs::File::options().write(true).open(world.in_mailbox(format!("checkpoints/{id}.json"))).unwrap().set_modified(then).unwrap();
    }
    let pruned = pruned + gc(&world, &["--keep", "0s"])["rounds"].as_u64().unwrap_or_default();
    watchers.into_iter().for_each(Watcher::kill);
    let shown: Vec<String> = world.log().into_iter().filter(|l| l.starts_with("shown ")).collect();
    let rounds: std::collections::BTreeSet<&str> =
        shown.iter().filter_map(|l| l.split(' ').nth(1)?.rsplit_once('/')).map(|(r, _)| r).collect();
    assert_eq!((shown.len(), rounds.len()), (WORKFLOWS * ROUNDS, WORKFLOWS * ROUNDS), "each answer is shown once");
    assert_eq!(world.logged("violation"), 0);
    assert_eq!(pruned as usize, WORKFLOWS * ROUNDS + 1, "each round is pruned once, and the one that made the mailbox");
    for folder in ["closed", "parked", "quarantine", "runs", "workflows", "checkpoints"] {
        let left: Vec<_> = std::fs::read_dir(world.in_mailbox(folder)).unwrap().flatten().map(|e| e.file_name()).collect();
        assert!(left.is_empty(), "{folder}/ still holds {left:?}");
    }
}
