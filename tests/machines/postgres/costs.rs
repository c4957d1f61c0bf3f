//! The cost of a round, measured with the statements of a host, on a disk, with the server's own settings. It prints the figures
//! of `docs/guide-sync.md`: `tests/run costs`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use postgres::{Client, Statement};
use uuid::Uuid;

use super::cluster::{Cluster, Database};
use super::host::Host;
use super::hub::{hub, offer_to};
use crate::support::{World, in_parallel, needs, until};
use askbox::id::{QuestionId, RoundId};
use askbox::mailbox::documents::offer::{Decided, Verdict};
use askbox::mailbox::{Folder, Question};
use askbox::sync::connection;
use askbox::sync::host::store::{self, Row};

/// How long each rate is measured.
const LONG: Duration = Duration::from_secs(10);

fn on_disk(settings: &[&str]) -> Database {
    Database::in_cluster(Arc::new(Cluster::in_folder(Path::new("/var/tmp"), settings)))
}

/// A host of the database, as a process of it begins.
fn begin(database: &Database, name: &str) -> (connection::Database, Client, Statement, Uuid) {
    let of = connection::Database::at(&database.address(name), Path::new("")).unwrap();
    let mut client = of.connect().unwrap();
    let token = Uuid::new_v4();
    store::begin_epoch(&of, &mut client, None, token).unwrap().expect("a new host");
    let offers = store::prepare_offers(&of, &mut client).unwrap();
    (of, client, offers, token)
}

/// Two thousand characters that a server does not compress away.
fn text() -> String {
    (0..54).map(|_| Uuid::new_v4().to_string() + " ").collect()
}

fn number(database: &Database, query: &str) -> f64 {
    database.value(&format!("SELECT ({query})::text")).expect("a number").parse().expect("a number")
}

#[test]
#[ignore = "it measures for a minute: tests/run costs"]
fn a_full_round_has_this_rate_and_takes_this_much_disk() {
    needs!("postgres");
    // The cluster lies in memory: a disk adds only its own syncs, four a round.
    let database = Database::in_cluster(Arc::new(Cluster::new()));
    let sizes = "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE relnamespace = 'askbox'::regnamespace AND relkind = 'r'";
    database.connect("owner").batch_execute("CHECKPOINT").unwrap();
    let (wal, size) = (number(&database, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"), number(&database, sizes));
    let rounds = AtomicUsize::new(0);
    let cpu = database.cluster.cpu();
    let begun = Instant::now();
    in_parallel(3, &["laptop", "build", "tower"], |name| {
        let (of, mut client, offers, token) = begin(&database, name);
        let mut person = database.connect("ann");
        while begun.elapsed() < LONG {
            let round = RoundId { workflow: "docs".parse().unwrap(), question: QuestionId::generate() };
            let question = Question::new(round.workflow.clone(), text());
            let pending = Row::new(round.clone(), Folder::Pending, &question).unwrap();
            let write = |client: &mut Client, row: &Row, verdicts: &[Verdict]| {
                store::write(&of, client, token, false, std::slice::from_ref(row), verdicts).unwrap();
            };
            write(&mut client, &pending, &[]);
            let (offer, id, hash) = (Uuid::now_v7(), round.question.to_string(), pending.hash.to_string());
            let insert = "INSERT INTO askbox.offer (offer_id, host, workflow_id, question_id, question_hash, doc)
                VALUES ($1::text::uuid, $2::text, 'docs', $3::text::uuid, $4::text::uuid, $5)";
            person.execute(insert, &[&offer.to_string(), name, &id, &hash, &"x".repeat(300)]).unwrap();
            let waiting = store::offers(&of, &mut client, &offers, token).expect("it is the host");
            assert_eq!(waiting.len(), 1);
            let verdict = Verdict { offer_id: offer, decided: Decided::Accepted, said: "answered".into(), hint: None, warning: None };
            write(&mut client, &Row { rank: 1, state: "answered", ..pending.clone() }, &[verdict]);
            write(&mut client, &Row { rank: 2, state: "delivered", ..pending }, &[]);
            rounds.fetch_add(1, Ordering::Relaxed);
        }
    });
    let (rounds, took) = (rounds.into_inner() as f64, begun.elapsed().as_secs_f64());
    let cpu = database.cluster.cpu() - cpu;
    database.connect("owner").batch_execute("VACUUM").unwrap();
    let wal = number(&database, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')") - wal;
    let size = number(&database, sizes) - size;
    println!("full rounds (four commits, 2 KB questions, 3 hosts, in memory): {:.0}/s", rounds / took);
    println!("the server's time on a processor: {:.2} ms a round", cpu.as_secs_f64() * 1000.0 / rounds);
    println!("WAL a round: {:.1} kB; storage a round: {:.1} kB; of {rounds} rounds", wal / rounds / 1000.0, size / rounds / 1000.0);
}

#[test]
#[ignore = "it measures for a minute: tests/run costs"]
fn a_thousand_hosts_poll() {
    needs!("postgres");
    const HOSTS: usize = 1000;
    let database = on_disk(&["max_connections=1100"]);
    let mut owner = database.connect("owner");
    let make = "DO $$ BEGIN FOR n IN 0..999 LOOP EXECUTE format('CREATE ROLE h%s LOGIN IN ROLE askbox_host', n); END LOOP; END $$";
    owner.batch_execute(make).unwrap();
    let memory = || {
        let field =
            |text: &str, name: &str| text.lines().find_map(|l| l.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        let is_backend = |pid: &i32| crate::support::process::command_line(*pid).starts_with("postgres: h");
        let pids = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
        let texts = pids.filter(is_backend).filter_map(|pid| std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok());
        texts.filter_map(|text| field(&text, "Pss:")).sum::<u64>()
    };
    let begun = Instant::now();
    let mut hosts: Vec<_> = (0..HOSTS).map(|n| begin(&database, &format!("h{n}"))).collect();
    println!("{HOSTS} connections in {:.1} s", begun.elapsed().as_secs_f64());
    let idle = memory();
    let share = HOSTS / 8;
    let mut lanes: Vec<Vec<_>> = Vec::new();
    while !hosts.is_empty() {
        lanes.push(hosts.split_off(hosts.len().saturating_sub(share)));
    }
    let lanes: Vec<_> = lanes.into_iter().map(std::sync::Mutex::new).collect();
    let cpu = database.cluster.cpu();
    let (polls, begun) = (AtomicUsize::new(0), Instant::now());
    in_parallel(lanes.len(), &lanes, |lane| {
        let mut lane = lane.lock().unwrap();
        while begun.elapsed() < LONG {
            for (of, client, offers, token) in lane.iter_mut() {
                assert!(store::offers(of, client, offers, *token).expect("it is the host").is_empty());
                polls.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let rate = polls.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
    println!("polls at full load: {rate:.0}/s; {HOSTS} hosts every 2 s need {}", HOSTS / 2);
    let cpu = (database.cluster.cpu() - cpu).as_secs_f64() * 1000.0 / polls.load(Ordering::Relaxed) as f64;
    println!("the server's time on a processor: {cpu:.3} ms a poll");
    let of_each = |kib: u64| kib as f64 / 1024.0 / HOSTS as f64;
    println!("memory of a connection (PSS): {:.2} MiB when new, {:.2} MiB after polling", of_each(idle), of_each(memory()));
}

#[test]
#[ignore = "it measures for a minute: tests/run costs"]
fn from_a_click_to_the_start_it_takes_the_interval() {
    needs!("postgres");
    let database = on_disk(&[]);
    for poll in ["2s", "200ms"] {
        let host = Host::with(&database, "laptop", World::stepping("work"));
        host.configure(&database, poll);
        host.once(&["--take-over"]).ok();
        let _watcher = host.world.watch();
        let _sync = host.serve();
        let hub = hub(&database);
        let name = "laptop".parse().unwrap();
        let mut times: Vec<u128> = (0..20)
            .map(|n| {
                let workflow = format!("docs-{n}");
                host.ask(&workflow);
                let offer = until("the question is seen", || offer_to(&hub, "laptop", &workflow));
                // Not right after a look of the host.
                std::thread::sleep(Duration::from_millis(u64::from(Uuid::new_v4().as_bytes()[0]) * 4));
                let begun = Instant::now();
                hub.offer(&name, offer).unwrap();
                until("the agent has started", || host.world.logged(&format!("start {workflow}/")) > 0);
                let took = begun.elapsed().as_millis();
                host.world.closed(&workflow, "delivered", 1);
                took
            })
            .collect();
        times.sort_unstable();
        println!(
            "a click → the agent's start, database, poll {poll}: p50 {} ms, p90 {} ms, longest {} ms",
            times[10], times[18], times[19]
        );
    }
}
