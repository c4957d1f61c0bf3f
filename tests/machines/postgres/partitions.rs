//! Host, database or person is cut off: the cases of `docs/guide-sync.md`.

use std::sync::Arc;

use super::cluster::{Cluster, Database};
use super::host::{Host, Person, asked, laptop};
use crate::support::{Signal, needs, signal, until};

#[test]
fn an_absent_host_works_on_and_an_offer_learns_that_it_lost() {
    needs!("postgres");
    let (_database, host, mut ann) = laptop();
    host.ask("docs");
    host.ask("free");
    host.sync();
    let (late, free) = (ann.offer("laptop", "docs", "b"), ann.offer("laptop", "free", "b"));
    // No process of the host runs: the machine sleeps or its link is cut. Its terminal goes on.
    host.world.ok("ask-answer", &["docs", "a", "--by", "bob"]);
    host.world.ok("relaunch", &["docs"]);
    assert_eq!((ann.told(&late), ann.told(&free)), (None, None), "nobody is told anything early");
    assert_eq!(ann.sees("laptop", "docs").expect("known").2, "pending");
    host.sync();
    let told = ann.told(&late).expect("a verdict");
    assert!(told.outcome == "lost" && told.said.contains("answered by bob"), "{told:?}");
    assert_eq!(ann.told(&free).expect("a verdict").outcome, "accepted");
    assert_eq!(ann.sees("laptop", "docs").expect("known").2, "delivered");
}

#[test]
fn while_the_database_is_down_a_host_goes_on() {
    needs!("postgres");
    let database = Database::in_cluster(Arc::new(Cluster::new()));
    let host = Host::new(&database, "laptop");
    let sync = host.serve();
    host.ask("docs");
    let mut ann = Person::new(&database, "ann");
    ann.sees_state("laptop", "docs", "pending");
    let offer = ann.offer("laptop", "docs", "b");
    assert_eq!(ann.hears(&offer).outcome, "accepted");
    database.cluster.crash();
    host.says("error: the database");
    let begun = std::time::Instant::now();
    host.ask("new");
    host.world.ok("ask-answer", &["new", "a"]);
    host.world.ok("relaunch", &["docs"]);
    assert!(begun.elapsed() < std::time::Duration::from_secs(60), "nothing waits for the database");
    let doctor = host.world.run("askbox", &["doctor"]);
    assert!(doctor.code() == 1 && doctor.stdout.contains("sync_failing: host laptop"), "{}", doctor.stdout);
    database.cluster.start();
    host.says("is there again");
    let mut ann = Person::new(&database, "ann");
    ann.sees_state("laptop", "docs", "delivered");
    ann.sees_state("laptop", "new", "answered");
    assert_eq!(ann.told(&offer).expect("what was acknowledged is there").outcome, "accepted");
    // No watcher takes the answer to `new`, which the doctor tells too.
    let doctor = host.world.run("askbox", &["doctor"]).stdout;
    assert!(
        doctor.contains("askbox sync runs as the host laptop: database reached") && doctor.contains(", 1 offer accepted since it started"),
        "{doctor}"
    );
    drop(sync);
}

#[test]
fn a_host_whose_server_hangs_answers_here_and_goes_on() {
    needs!("postgres");
    let (database, host, mut ann) = laptop();
    let sync = host.serve();
    host.says("is the host");
    // A row that the host wants to write is locked: the statement waits, as it does when a server hangs.
    host.ask("docs");
    ann.sees_state("laptop", "docs", "pending");
    let mut owner = database.connect("owner");
    let mut held = owner.transaction().expect("a transaction");
    held.execute("UPDATE askbox.host SET epoch = epoch", &[]).expect("the row is locked");
    host.world.ok("ask-answer", &["docs", "a"]);
    host.world.ok("relaunch", &["docs"]);
    assert_eq!(ann.sees("laptop", "docs").expect("known").2, "pending");
    held.rollback().expect("free again");
    ann.sees_state("laptop", "docs", "delivered");
    drop(sync);
}

#[test]
fn a_question_expired_by_its_hosts_clock_is_closed() {
    needs!("postgres");
    let (_database, host, mut ann) = laptop();
    let world = &host.world;
    world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "a=A", "-o", "b=B", "--timeout", "1s", "--default", "a"]);
    host.sync();
    let offer = ann.offer("laptop", "docs", "b");
    let _watcher = world.watch();
    world.closed("docs", "delivered", 1);
    assert_eq!(ann.sees("laptop", "docs").expect("known").2, "pending", "the host has not told it yet");
    host.sync();
    let told = ann.told(&offer).expect("a verdict");
    assert!(told.outcome == "closed" && told.said.contains("your answer is kept with it"), "{told:?}");
    let closed = world.closed("docs", "delivered", 1).remove(0);
    assert_eq!((&closed["answer"]["by"], &closed["late_answers"][0]["value"]), (&"default".into(), &"b".into()));
    assert_eq!(world.logged("shown "), 1, "a late answer launches nothing");
}

#[test]
fn clocks_that_differ_change_neither_who_wins_nor_what_is_shown() {
    needs!("postgres");
    let (database, host, mut ann) = laptop();
    // Senders whose clocks are ten years off, asked by a machine whose clock is off the other way.
    for (workflow, sender, asker) in
        [("ahead", "2036-01-01T00:00:00Z", "2016-01-01T00:00:00Z"), ("behind", "2016-01-01T00:00:00Z", "2036-01-01T00:00:00Z")]
    {
        let question =
            serde_json::json!({"workflow_id": workflow, "question": "Merge?", "options": {"a": "A", "b": "B"}, "timestamp": asker});
        host.world.run_with("ask-post", &["--file", "-"], question.to_string().as_bytes()).ok();
        host.sync();
        let mut offer = ann.offer_for("laptop", workflow, &"b".into());
        offer["answer"]["at"] = sender.into();
        let first = ann.send("laptop", &offer).expect("taken");
        let second = ann.offer("laptop", workflow, "a");
        host.sync();
        // The order of the offers is the database's, the time of the answer the host's.
        assert_eq!((ann.told(&first).expect("told").outcome, ann.told(&second).expect("told").outcome), ("accepted".into(), "lost".into()));
        let at = host.world.document(&format!("answered/{workflow}.json"))["answer"]["at"].as_str().expect("a time").to_owned();
        let off = chrono::DateTime::parse_from_rfc3339(&at).expect("a time").to_utc() - chrono::Utc::now();
        assert!(off.num_hours() == 0, "{at}");
        host.world.ok("relaunch", &[workflow]);
        host.sync();
        assert_eq!(ann.sees("laptop", workflow).expect("known").2, "delivered");
    }
    // How old what is known is, and how far a host's clock is off, is told by the database's clock.
    let row = "SELECT (now() - seen_at < '1 minute' AND abs(clock_ms) < 60000)::text FROM askbox.host WHERE host = 'laptop'";
    assert_eq!(database.value(row).as_deref(), Some("true"));
    let _sync = host.serve();
    host.says("is the host");
    let state = host.world.in_mailbox("sync/state.json");
    until("the state is there", || state.exists());
    let mut off = host.world.json(&state);
    off["clock_ms"] = 300_000.into();
    until("the doctor reads that, and not the next heartbeat", || {
        std::fs::write(&state, off.to_string()).expect("writable");
        let doctor = host.world.run("askbox", &["doctor"]);
        doctor.stdout.contains("clock: host laptop: the clock here is 5m ahead of the database's")
    });
}

#[test]
fn an_offer_sent_again_after_a_cut_is_one_offer() {
    needs!("postgres");
    let (database, host, mut ann) = asked();
    let offer = ann.offer_for("laptop", "docs", &"b".into());
    // The server's side of the connection is gone, and with it the reply.
    let pid: i32 = ann.client.query_one("SELECT pg_backend_pid()", &[]).expect("a pid").get(0);
    ann.send("laptop", &offer).expect("sent");
    signal(pid, Signal::TERM);
    until("the connection is gone", || ann.client.simple_query("SELECT 1").is_err());
    let mut ann = Person::new(&database, "ann");
    let id = ann.send("laptop", &offer).expect("sent again");
    host.sync();
    ann.send("laptop", &offer).expect("and again");
    assert_eq!(ann.told(&id).expect("a verdict").outcome, "accepted");
    assert_eq!(database.value("SELECT count(*)::text FROM askbox.offer").as_deref(), Some("1"));
}
