//! The words of `askbox doctor` on a machine that brings its questions into a database.

use super::host::{asked, laptop};
use crate::support::{Signal, needs, signal, until};

#[test]
fn the_doctor_says_that_no_process_syncs_where_one_is_wanted() {
    needs!("postgres");
    let (_database, host, _) = asked();
    let doctor = host.world.run("askbox", &["doctor"]);
    assert!(doctor.code() == 1 && doctor.stdout.contains("no_sync: host laptop: askbox sync does not run"), "{doctor:?}");
    assert!(doctor.stdout.contains("  $ askbox sync run\n"), "{doctor:?}");
    // The machine is a host no more: its configuration says nothing of it, and its mailbox still has the files.
    host.world.configure("");
    let doctor = host.world.run("askbox", &["doctor"]).ok();
    assert!(doctor.stdout.contains("askbox sync does not run as the host laptop"), "{doctor:?}");
}

#[test]
fn the_doctor_says_how_far_behind_a_host_is() {
    needs!("postgres");
    let (_database, host, mut ann) = laptop();
    let sync = host.serve();
    host.ask("docs");
    ann.sees_state("laptop", "docs", "pending");
    let offer = ann.offer_for("laptop", "docs", &"aa".into());
    let id = ann.send("laptop", &offer).expect("the offer is taken");
    assert_eq!(ann.hears(&id).outcome, "invalid");
    let refused = "docs: an answer of ann was not accepted (invalid)";
    until("the doctor knows", || host.world.run("askbox", &["doctor"]).stdout.contains(refused));
    // As if the database had not been reached for long: the process tells each heartbeat.
    let state = host.world.in_mailbox("sync/state.json");
    let mut old = host.world.json(&state);
    old["reached_at"] = "2026-01-01T00:00:00Z".into();
    let doctor = until("the doctor reads that, and not the next heartbeat", || {
        std::fs::write(&state, old.to_string()).expect("writable");
        let doctor = host.world.run("askbox", &["doctor"]);
        Some(doctor).filter(|doctor| doctor.stdout.contains("sync_behind: host laptop: runs, and reached the database last "))
    });
    assert_eq!(doctor.code(), 1, "{doctor:?}");
    // Another process of this kind would end at once: the way to the database is what a person looks at.
    assert!(doctor.stdout.contains("  $ psql ") && doctor.stdout.contains(" -c 'SELECT 1'\n"), "{doctor:?}");
    // Unless a signal has stopped it.
    signal(sync.pid(), Signal::STOP);
    let doctor = until("the doctor reads that of the stopped process", || {
        std::fs::write(&state, old.to_string()).expect("writable");
        Some(host.world.run("askbox", &["doctor"])).filter(|doctor| doctor.stdout.contains("which a signal has stopped\n"))
    });
    assert!(doctor.stdout.contains(&format!("  $ kill -CONT {}\n", sync.pid())), "{doctor:?}");
    signal(sync.pid(), Signal::CONT);
    // The next process would not begin with what the file says now.
    host.world.reconfigure("database = \"", "database = \"password=x ");
    let doctor = host.world.run("askbox", &["doctor"]);
    assert!(doctor.code() == 1 && doctor.stdout.contains("config: sync.database: ") && doctor.stdout.contains("password"), "{doctor:?}");
}

#[test]
fn the_doctor_names_a_database_that_is_not_utf8() {
    needs!("postgres");
    let (database, host, _) = asked();
    let named = |name: &str| database.address("owner").replace(&database.name, name);
    let latin = "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0";
    database.connect("owner").batch_execute(latin).expect("another database");
    let of = |address: &str| {
        host.world.configure(&format!("[sync]\ndatabase = \"{address}\"\n"));
        host.world.run("askbox", &["doctor"]).stdout
    };
    assert!(!of(&named(&database.name)).contains("database_encoding"));
    let said = of(&named("latin"));
    assert!(said.contains("database_encoding: host laptop: its database keeps text as LATIN1, not as UTF-8"), "{said}");
    let mend = said.lines().skip_while(|line| !line.starts_with("database_encoding")).nth(1).expect("a command");
    let statement = mend.split('"').nth(1).expect("a statement");
    assert!(mend.starts_with(&format!("  $ psql '{}' -c ", named("latin"))), "{mend}");
    database.connect("owner").batch_execute(statement).expect("a database in UTF-8");
    assert!(!of(&named("askbox_utf8")).contains("database_encoding"));
}
