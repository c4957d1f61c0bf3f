//! Only one of a mailbox and its copy is the host.

use std::process::Command;

use super::cluster::Database;
use super::host::{Host, asked, laptop};
use crate::support::{Signal, World, needs, output, signal, until};

/// A copy of the host's mailbox on another machine.
fn copy(database: &Database, host: &Host) -> Host {
    let world = World::stepping("work");
    // A file that its process replaces just then may vanish under the copy.
    until("a whole copy", || {
        let _absent_at_first = std::fs::remove_dir_all(world.mailbox());
        output(Command::new("cp").arg("-a").arg(host.world.mailbox()).arg(world.mailbox())).code() == 0
    });
    let twin = Host { world, name: host.name };
    twin.configure(database, "200ms");
    twin
}

#[test]
fn a_fenced_host_changes_nothing_any_more() {
    needs!("postgres");
    let (database, host, _) = asked();
    let twin = copy(&database, &host);
    twin.sync();
    let before = database.value("SELECT md5(string_agg(q::text, '')) FROM askbox.question q");
    host.world.ok("ask-answer", &["docs", "a"]);
    host.ask("more");
    assert_eq!(host.once(&[]).code(), 4);
    assert_eq!(database.value("SELECT md5(string_agg(q::text, '')) FROM askbox.question q"), before);
}

#[test]
fn a_new_mailbox_is_not_the_host_whose_role_it_has() {
    needs!("postgres");
    let (database, host, mut ann) = asked();
    let other = Host::new(&database, "laptop");
    let out = other.once(&[]);
    assert_eq!(out.code(), 4, "{}", out.words());
    // Its start has not fenced the first one.
    host.sync();
    assert_eq!(other.once(&["--take-over"]).code(), 0);
    // A round that the other mailbox does not have is over.
    ann.sees_state("laptop", "docs", "gone");
}

#[test]
fn what_waits_here_is_seen_again_after_a_take_over() {
    needs!("postgres");
    let (database, host, mut ann) = asked();
    let twin = copy(&database, &host);
    // The copy does not have this one, and answers the other one.
    host.ask("later");
    host.sync();
    assert_eq!(twin.once(&["--take-over"]).code(), 0);
    ann.sees_state("laptop", "later", "gone");
    twin.world.ok("ask-answer", &["docs", "a"]);
    twin.sync();
    ann.sees_state("laptop", "docs", "answered");
    assert_eq!(host.once(&["--take-over"]).code(), 0);
    for workflow in ["docs", "later"] {
        ann.sees_state("laptop", workflow, "pending");
        let offer = ann.offer("laptop", workflow, "b");
        host.sync();
        assert_eq!(ann.hears(&offer).outcome, "accepted", "{workflow}");
    }
    assert_eq!(twin.once(&[]).code(), 4);
}

#[test]
fn a_connection_that_breaks_takes_nothing_over_again() {
    needs!("postgres");
    let (database, host, _) = asked();
    let twin = copy(&database, &host);
    let mut sync = host.serve_with(&["--take-over"]);
    host.says("is the host laptop");
    // It loses its connection, and the copy becomes the host before it notices.
    signal(sync.pid(), Signal::STOP);
    let cut =
        "SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity WHERE usename = 'laptop' AND datname = current_database()";
    // An earlier connection may be ending still.
    assert_ne!(database.value(cut).as_deref(), Some("0"));
    assert_eq!(twin.once(&["--take-over"]).code(), 0);
    signal(sync.pid(), Signal::CONT);
    assert_eq!(sync.wait().code(), Some(4), "{}", host.log());
    assert_eq!(twin.once(&[]).code(), 0);
}

#[test]
fn two_processes_on_one_mailbox_are_one_too_many() {
    needs!("postgres");
    let (_database, host, _) = laptop();
    let _sync = host.serve();
    host.says("is the host");
    let out = host.once(&[]);
    assert!(out.code() == 4 && out.stderr.contains("another askbox sync runs on this mailbox"), "{}", out.words());
}

mod promises {
    use super::*;

    #[test]
    fn a_copied_mailbox_fences_the_other_one_which_stops() {
        needs!("postgres");
        let (database, host, mut ann) = laptop();
        let mut sync = host.serve();
        host.says("is the host laptop (epoch 1)");
        host.ask("docs");
        ann.sees_state("laptop", "docs", "pending");
        let twin = copy(&database, &host);
        let _twins = twin.serve();
        twin.says("is the host laptop (epoch 2)");
        // The first one ends by itself, with a conflict, and the doctor shows it.
        assert_eq!(sync.wait().code(), Some(4));
        assert!(host.world.document("sync/epoch.json")["fenced_at"].is_string());
        let again = host.once(&[]);
        assert_eq!(again.code(), 4, "{}", again.words());
        assert!(
            again.stderr.contains("another mailbox is the host laptop by now") && again.stderr.contains("--take-over"),
            "{}",
            again.stderr
        );
        let doctor = host.world.run("askbox", &["doctor"]);
        assert!(
            doctor.code() == 1 && doctor.stdout.contains("fenced: ") && doctor.stdout.contains("askbox sync run --take-over"),
            "{doctor:?}"
        );
        // Only the twin decides.
        let offer = ann.offer("laptop", "docs", "b");
        assert_eq!(ann.hears(&offer).outcome, "accepted");
        assert_eq!(twin.world.document("answered/docs.json")["answer"]["offer_id"], offer.as_str());
        assert!(host.world.in_mailbox("pending/docs.json").exists());
        // A person decides otherwise: then the twin is the one that stops.
        let taken = host.once(&["--take-over"]);
        assert_eq!(taken.code(), 0, "{}", taken.words());
        until("the twin has ended", || twin.world.processes("sync run").is_empty());
        assert!(twin.log().contains("another mailbox is the host laptop"), "{}", twin.log());
        assert!(host.world.document("sync/epoch.json")["fenced_at"].is_null());
    }

    #[test]
    fn a_process_killed_at_its_start_does_not_fence_the_next() {
        needs!("postgres");
        let (database, host, mut ann) = asked();
        // The remains of a killed process: its token in the file, and its statement, which the database carries out later.
        let late = uuid::Uuid::new_v4().to_string();
        let path = host.world.in_mailbox("sync/epoch.json");
        let mut file = host.world.json(&path);
        file["tokens"].as_array_mut().expect("tokens").push(late.clone().into());
        std::fs::write(&path, file.to_string()).expect("writable");
        let mut killed = database.connect("laptop");
        let mut statement = killed.transaction().expect("a transaction");
        assert_eq!(
            statement.execute("UPDATE askbox.host SET token = $1::text::uuid WHERE host = current_user", &[&late]).expect("its row"),
            1
        );
        let out = std::thread::scope(|scope| {
            let next = scope.spawn(|| host.once(&[]));
            let waits = "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
            until("the next one has looked and begins", || database.value(waits).as_deref() == Some("1"));
            statement.commit().expect("it is carried out");
            next.join().expect("the next one")
        });
        assert_eq!(out.code(), 0, "{}", out.words());
        let offer = ann.offer("laptop", "docs", "b");
        host.sync();
        assert_eq!(ann.hears(&offer).outcome, "accepted");
        assert_eq!(host.world.json(&path)["tokens"].as_array().map(Vec::len), Some(1));
    }
}
