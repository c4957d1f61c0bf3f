//! The process of a host is killed right before each of its system calls that changes or opens anything, one after the other, while an
//! offer waits. The next process must find nothing lost, doubled or shown wrongly.

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::cluster::Database;
use super::host::{Host, Person};
use crate::support::{World, in_parallel, needs, output, points_of_every_run, strace};

/// The calls that change something, here or in the database.
const CALLS: [&str; 14] = [
    "openat", "openat2", "write", "sendto", "recvfrom", "connect", "fsync", "renameat2", "linkat", "unlinkat", "mkdirat", "flock",
    "utimensat", "fdatasync",
];

/// A host with a question that it has told, and an offer for it.
fn setup(database: &Database, name: &'static str) -> (Host, Person, String) {
    let host = Host::with(database, name, World::stepping("work"));
    host.once(&["--take-over"]).ok();
    host.world.ok("checkpoint", &["save", "docs", "--step", "review"]);
    host.ask("docs");
    host.sync();
    let mut ann = Person::new(database, "ann");
    let offer = ann.offer(name, "docs", "b");
    (host, ann, offer)
}

#[test]
fn a_host_killed_at_any_point_decides_each_offer_once() {
    needs!("postgres", "strace");
    let database = Database::new();
    let reference = || {
        let (host, _, _) = setup(&database, "laptop");
        let trace = host.world.path("trace");
        let set = format!("trace={}", CALLS.join(","));
        let before = strace(&["-f", "-qq", "-e", &set, "-e", "signal=none", "-o", trace.to_str().expect("a path")]);
        output(host.world.wrapped(&before, "askbox").args(["sync", "run", "--once"])).ok();
        let text = std::fs::read_to_string(&trace).expect("a trace");
        let count =
            |call: &str| text.lines().filter(|l| l.split_whitespace().nth(1).is_some_and(|w| w.starts_with(&format!("{call}(")))).count();
        CALLS.iter().flat_map(|call| (1..=count(call)).map(|n| (*call, n))).collect::<Vec<_>>()
    };
    let points = points_of_every_run(reference);
    assert!(points.len() > 40, "{points:?}");
    // Three hosts at a time, each killed at its own points: a role is one host.
    let hosts = ["laptop", "build", "tower"];
    let lanes: Vec<(&'static str, Vec<_>)> =
        hosts.iter().enumerate().map(|(n, host)| (*host, points.iter().skip(n).step_by(hosts.len()).copied().collect())).collect();
    let kills = AtomicUsize::new(0);
    in_parallel(hosts.len(), &lanes, |(name, points)| {
        for (call, n) in points {
            let when = format!("killed before {call} number {n}");
            let (host, mut ann, offer) = setup(&database, name);
            let inject = format!("inject={call}:signal=KILL:when={n}");
            let before = strace(&["-f", "-qq", "-e", &format!("trace={call}"), "-e", &inject, "-e", "signal=none", "-o", "/dev/null"]);
            let out = output(host.world.wrapped(&before, "askbox").args(["sync", "run", "--once"]));
            let killed = out.status.signal() == Some(9);
            assert!(killed || out.status.success(), "{when}: {}", out.words());
            kills.fetch_add(usize::from(killed), Ordering::Relaxed);
            host.world.assert_whole(&when);
            // Nobody is told that an answer was accepted before it lies in the mailbox.
            let answered = host.world.in_mailbox("answered/docs.json");
            if let Some(told) = ann.told(&offer) {
                assert!(answered.exists() && told.outcome == "accepted", "{when}: {told:?}");
            }
            if ann.sees(name, "docs").is_some_and(|(_, _, state)| state != "pending") {
                assert!(answered.exists(), "{when}: shown wrongly");
            }
            // Somebody here answers too, before the next process comes.
            let local = host.world.run("ask-answer", &["docs", "a"]);
            host.sync();
            let told = ann.told(&offer).unwrap_or_else(|| panic!("{when}: the offer is lost"));
            let answer = host.world.document("answered/docs.json")["answer"].clone();
            let (value, outcome) = if local.code() == 0 { ("a", "lost") } else { ("b", "accepted") };
            assert_eq!((answer["value"].as_str(), told.outcome.as_str()), (Some(value), outcome), "{when}: {told:?} {}", local.words());
            assert_eq!(host.world.document("checkpoints/docs.json")["user_answer"], value, "{when}");
            // The line of the audit comes last, and may be missing after a kill.
            assert!(host.world.audit("docs").iter().filter(|event| *event == "answered").count() <= 1, "{when}");
            ann.sees_state(name, "docs", "answered");
        }
    });
    let kills = kills.into_inner();
    eprintln!("killed at {kills} of {} points", points.len());
    assert!(kills * 10 >= points.len() * 9, "only {kills} of {} points were reached", points.len());
}
