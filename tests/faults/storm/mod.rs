//! Promises 1 to 4 under load: many posters, answerers, cancellers and editors, two watchers and a pruner at once, left alone and then with
//! every kind of process killed, ended and stopped at random. `ASKBOX_STORM=N` sets the number of questions, `ASKBOX_STORM_SEED=N` the
//! attacker's choices.
//!
//! | file | content |
//! |---|---|
//! | `mod.rs` | the tests |
//! | `crowd.rs` | the people: who asks, answers, withdraws and prunes |
//! | `attacker.rs` | who is sent which signal, and when |
//! | `verdict.rs` | what must hold at the end, by the files and by the agents' own log |

mod attacker;
mod crowd;
mod verdict;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use attacker::attack;
use crowd::{Storm, Watch};

use crate::support::{LIMIT, Watcher, number, until};

const POSTERS: usize = 16;
const ANSWERERS: usize = 8;

#[test]
fn a_thousand_answers_make_a_thousand_launches() {
    let storm = Storm::new(number("ASKBOX_STORM", 1000), "work");
    let started = Instant::now();
    let watchers = [storm.world.start_watcher(), storm.world.start_watcher()];
    std::thread::scope(|scope| {
        (0..POSTERS).for_each(|_| drop(scope.spawn(|| storm.post())));
        (0..ANSWERERS).for_each(|_| drop(scope.spawn(|| storm.answer(|_| crowd::Manner::Plain))));
    });
    let answered = started.elapsed();
    storm.until_ended(storm.questions);
    let took = started.elapsed();
    until("the last supervisor is gone", || storm.world.of_runs().is_empty());
    watchers.into_iter().for_each(Watcher::kill);
    storm.assert_each_exactly_once();
    let log = storm.world.log();
    for kind in ["start", "shown", "done"] {
        let counts = storm.per_round(&log, kind);
        assert_eq!((counts.len(), counts.values().sum::<usize>()), (storm.questions, storm.questions), "{kind}");
    }
    assert_eq!(storm.count("parked"), 0);
    eprintln!("{} questions: asked and answered in {answered:.1?}, all delivered after {took:.1?}", storm.questions);
}

#[test]
fn every_answer_is_delivered_once_in_a_storm_of_signals() {
    let seed = number("ASKBOX_STORM_SEED", 20_261_122) as u64;
    // An agent that ignores the SIGTERM it gets when its supervisor dies: somebody must see to it that it is gone.
    let storm = Storm::new(number("ASKBOX_STORM", 120), "trap '' TERM\nsleep 0.1\nwork\nsleep 0.05");
    let started = Instant::now();
    let (signals, parked) = let_it_rage(&storm, seed);
    storm.assert_each_exactly_once();
    storm.assert_all_was_acknowledged_so();
    assert_eq!(storm.count("parked"), 0);
    let sent: usize = signals.values().sum();
    eprintln!(
        "| races: {} workflows, {} launches, {sent} signals (SIGKILL, SIGTERM, SIGSTOP) | {} | 0 | 0 | 0 | 0 | `tests/run races` |",
        storm.questions,
        storm.world.logged("start "),
        storm.questions,
    );
    eprintln!("seed {seed}, {:.1?}; {parked} were parked and retried; {signals:?}", started.elapsed());
}

#[test]
fn a_storm_whose_time_is_over_says_so_at_once_and_ends() {
    let started = Instant::now();
    // More rounds than the attacker can have parked by then.
    let storm = Storm::within(Duration::from_secs(2), 40, "sleep 1000");
    let failed = std::panic::catch_unwind(AssertUnwindSafe(|| let_it_rage(&storm, 1))).expect_err("its agents never end");
    let why = failed.downcast_ref::<String>().expect("words");
    assert!(why.contains("the storm's time is over: ") && why.contains(" of 40 rounds ended within 2s"), "{why}");
    assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
}

/// Lets a crowd work while everything is attacked, until each round is over. Returns the signals by kind, and how many rounds were parked and
/// retried.
fn let_it_rage(storm: &Storm, seed: u64) -> (BTreeMap<String, usize>, usize) {
    storm.make_old_rounds();
    let mut watchers = [storm.world.start_watcher(), storm.world.start_watcher()];
    let signals = std::thread::scope(|scope| {
        let _watch = Watch(storm);
        let attacker = scope.spawn(|| attack(storm, seed, &mut watchers));
        let pruner = scope.spawn(|| storm.prune());
        let clients: Vec<_> = (0..POSTERS)
            .map(|_| scope.spawn(|| storm.post()))
            .chain((0..ANSWERERS).map(|_| scope.spawn(|| storm.answer(crowd::manner))))
            .collect();
        clients.into_iter().for_each(|c| c.join().unwrap_or_else(|why| resume_unwind(why)));
        storm.until_ended(storm.questions * 9 / 10);
        storm.over.store(true, Ordering::Relaxed);
        pruner.join().unwrap_or_else(|why| resume_unwind(why));
        attacker.join().unwrap_or_else(|why| resume_unwind(why))
    });
    storm.until_ended(storm.questions);
    let parked = storm.retry_parked();
    until("the last supervisor is gone", || storm.world.of_runs().is_empty());
    watchers.into_iter().for_each(Watcher::kill);
    (signals, parked)
}
