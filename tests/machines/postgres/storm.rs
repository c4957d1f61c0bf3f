//! Rounds in which two people answer at once, one at the host and one elsewhere, while links are cut, hosts are killed and the server
//! crashes: no answer is lost, none counts twice, and nobody is told or shown what is not so.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use uuid::Uuid;

use super::cluster::{Cluster, Database};
use super::host::Host;
use super::link::Link;
use crate::support::{Dice, Running, World, needs, number};
use askbox::id::{RoundId, WorkflowId};
use askbox::mailbox::answerer::Answerer;
use askbox::mailbox::documents::offer::Offer;
use askbox::mailbox::documents::options::Options;
use askbox::mailbox::documents::through::Through;
use askbox::mailbox::transitions::{accept, post};
use askbox::mailbox::{AnswerValue, Mailbox, Question};
use askbox::{Error, time};

/// How many rounds: a few in the suite; `tests/run rounds` lets 100,000.
const VARIABLE: &str = "ASKBOX_ROUNDS";
/// How many rounds are open at once.
const AT_ONCE: usize = 48;
/// How long one round may take, however much is killed.
const LIMIT: Duration = Duration::from_secs(120);

const HOSTS: [&str; 3] = ["laptop", "build", "tower"];

#[derive(Default)]
struct Counts {
    here: AtomicUsize,
    elsewhere: AtomicUsize,
    sent_again: AtomicUsize,
    cuts: AtomicUsize,
    kills: AtomicUsize,
    crashes: AtomicUsize,
}

struct Storm {
    database: Database,
    hosts: Vec<(Host, Link)>,
    processes: Mutex<Vec<Running>>,
    people: Link,
    counts: Counts,
    /// How long an offer takes about, in milliseconds: the person at the host hesitates as long, more or less.
    typical: AtomicUsize,
}

#[test]
fn no_round_is_lost_doubled_or_shown_wrongly_while_everything_is_cut_off_and_killed() {
    needs!("postgres");
    let rounds = number(VARIABLE, 120);
    let database = Database::in_cluster(Arc::new(Cluster::new()));
    let hosts: Vec<_> = HOSTS
        .iter()
        .map(|name| {
            let (host, link) = (Host::with(&database, name, World::new()), Link::to(database.cluster.socket()));
            host.world.configure(&format!(
                "[sync]\ndatabase = \"host={} user={name} dbname={}\"\npoll = \"50ms\"",
                link.folder(),
                database.name
            ));
            (host, link)
        })
        .collect();
    let processes = Mutex::new(hosts.iter().map(|(host, _)| host.serve()).collect());
    let people = Link::to(database.cluster.socket());
    let storm = Storm { database, hosts, processes, people, counts: Counts::default(), typical: AtomicUsize::new(50) };
    let (next, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let disturber = scope.spawn(|| storm.disturb(&over));
        let workers: Vec<_> = (0..AT_ONCE.min(rounds))
            .map(|_| {
                scope.spawn(|| {
                    let mut person = storm.person();
                    loop {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        if n >= rounds {
                            break;
                        }
                        storm.round(n, &mut person);
                        if n > 0 && n % 5000 == 0 {
                            eprintln!("{n} rounds after {:?}", begun.elapsed());
                        }
                    }
                })
            })
            .collect();
        let results: Vec<_> = workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        over.store(true, Ordering::Relaxed);
        disturber.join().expect("the disturber");
        for result in results {
            if let Err(panic) = result {
                std::panic::resume_unwind(panic);
            }
        }
    });
    let counts = &storm.counts;
    let count = |count: &AtomicUsize| count.load(Ordering::Relaxed);
    eprintln!(
        "{rounds} rounds in {:.0?}: won here {}, elsewhere {}; {} links cut, {} hosts killed, {} crashes of the server; {} offers sent again",
        begun.elapsed(),
        count(&counts.here),
        count(&counts.elsewhere),
        count(&counts.cuts),
        count(&counts.kills),
        count(&counts.crashes),
        count(&counts.sent_again),
    );
    assert_eq!(count(&counts.here) + count(&counts.elsewhere), rounds);
    assert!(count(&counts.here) > 0 && count(&counts.elsewhere) > 0, "both win sometimes");
    // Each offer is one row, and each has its verdict.
    let left = storm.database.value("SELECT count(*) || ' ' || count(outcome) FROM askbox.offer").expect("a count");
    assert_eq!(left, format!("{rounds} {rounds}"));
}

impl Storm {
    fn person(&self) -> Client {
        let mut config = postgres::Config::new();
        config.host(self.people.folder()).user("ann").dbname(&self.database.name);
        let end = Instant::now() + LIMIT;
        loop {
            match config.connect(NoTls) {
                Ok(client) => return client,
                Err(e) => assert!(Instant::now() < end, "{e}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Runs a statement until the link lets it through: the same statement again does no harm.
    fn insist<T>(&self, person: &mut Client, what: &str, mut work: impl FnMut(&mut Client) -> Result<Option<T>, postgres::Error>) -> T {
        let end = Instant::now() + LIMIT;
        loop {
            match work(person) {
                Ok(Some(found)) => return found,
                Ok(None) => std::thread::sleep(Duration::from_millis(15)),
                Err(e) => {
                    assert!(e.as_db_error().is_none_or(|e| e.code().code().starts_with("57P")), "{what}: {e:?}");
                    self.counts.sent_again.fetch_add(usize::from(what == "an offer"), Ordering::Relaxed);
                    *person = self.person();
                }
            }
            assert!(Instant::now() < end, "waited in vain: {what}");
        }
    }

    fn round(&self, n: usize, person: &mut Client) {
        let (host, _) = &self.hosts[n % self.hosts.len()];
        let mailbox = Mailbox::open(host.world.mailbox()).expect("a mailbox");
        let workflow: WorkflowId = format!("w{n}").parse().unwrap();
        let mut question = Question::new(workflow.clone(), format!("Round {n}?"));
        question.options = serde_json::from_str::<Options>(r#"{"a": "A", "b": "B"}"#).unwrap();
        let posted = post::post(&mailbox, question, post::IfPending::Conflict).expect("posted");
        let id = posted.round.question.to_string();
        // Somewhere else, a person sees it.
        let query = "SELECT question_hash::text, state FROM askbox.question WHERE host = $1::text::name AND question_id = $2::text::uuid";
        let hash = self.insist(person, "the question", |person| {
            let row = person.query_opt(query, &[&host.name, &id])?;
            assert!(row.iter().all(|row| row.get::<_, String>(1) == "pending"), "nobody has answered {workflow}");
            Ok(row.map(|row| row.get::<_, String>(0)))
        });
        let round = RoundId { workflow: workflow.clone(), question: posted.round.question };
        let ann = Answerer::person("ann", "test", Through::Terminal).unwrap();
        let offer = Offer::new(&round, hash.parse().unwrap(), ann.value(AnswerValue::Text("b".into())), false);
        let sent = Instant::now();
        let (local, (outcome, said)) = std::thread::scope(|scope| {
            let dice = f64::from(Uuid::new_v4().as_bytes()[0]) / 128.0;
            let hesitation = Duration::from_millis(u64::try_from(self.typical.load(Ordering::Relaxed)).unwrap_or(50)).mul_f64(dice);
            let local = scope.spawn(move || {
                std::thread::sleep(hesitation);
                let bob = Answerer::person("bob", "test", Through::Terminal).unwrap();
                let answer = bob.value(AnswerValue::Text("a".into()));
                accept::answer(&mailbox, &round.workflow, Some(round.question), answer, &bob)
            });
            self.insist(person, "an offer", |person| {
                let doc = serde_json::to_string(&offer).unwrap();
                let insert = "INSERT INTO askbox.offer (offer_id, host, workflow_id, question_id, question_hash, doc)
                    VALUES ($1::text::uuid, $2::text, $3, $4::text::uuid, $5::text::uuid, $6) ON CONFLICT DO NOTHING";
                let values = (offer.offer_id.to_string(), workflow.as_str(), offer.question_id.to_string());
                person.execute(insert, &[&values.0, &host.name, &values.1, &values.2, &hash, &doc]).map(Some)
            });
            let query = "SELECT outcome, said FROM askbox.offer WHERE offer_id = $1::text::uuid AND outcome IS NOT NULL";
            let verdict = self.insist(person, "a verdict", |person| {
                let row = person.query_opt(query, &[&offer.offer_id.to_string()])?;
                Ok(row.map(|row| (row.get::<_, String>(0), row.get::<_, String>(1))))
            });
            // Without the hesitation of the other person, who may be the slower one.
            let typical = self.typical.load(Ordering::Relaxed);
            self.typical.store((typical * 7 + usize::try_from(sent.elapsed().as_millis()).unwrap_or(0)) / 8, Ordering::Relaxed);
            (local.join().expect("the local person"), verdict)
        });
        let answer = host.world.document(&format!("answered/{workflow}.json"))["answer"].clone();
        match &local {
            Ok(_) => {
                assert_eq!((answer["by"].as_str(), outcome.as_str()), (Some("bob"), "lost"), "{workflow}: {said}");
                assert!(said.contains("answered by bob"), "{workflow}: {said}");
                self.counts.here.fetch_add(1, Ordering::Relaxed);
            }
            Err(Error::Conflict { message, .. }) => {
                assert_eq!((answer["by"].as_str(), outcome.as_str()), (Some("ann"), "accepted"), "{workflow}: {said}");
                assert_eq!(answer["offer_id"], offer.offer_id.to_string(), "{workflow}");
                assert!(message.contains("answered by ann"), "{workflow}: {message}");
                self.counts.elsewhere.fetch_add(1, Ordering::Relaxed);
            }
            Err(e) => panic!("{workflow}: {e}"),
        }
        // What people elsewhere are shown is what lies in the mailbox.
        let query =
            "SELECT ending FROM askbox.question WHERE host = $1::text::name AND question_id = $2::text::uuid AND state = 'answered'";
        let ending =
            self.insist(person, "the answer", |person| Ok(person.query_opt(query, &[&host.name, &id])?.map(|row| row.get::<_, String>(0))));
        let ending: serde_json::Value = serde_json::from_str(&ending).unwrap();
        assert_eq!((&ending["answer"]["by"], &ending["answer"]["value"]), (&answer["by"], &answer["value"]), "{workflow}");
        assert!(!host.world.in_mailbox(format!("pending/{workflow}.json")).exists(), "{workflow}");
        // The mailbox stays small, as a watcher would keep it.
        std::fs::remove_file(host.world.in_mailbox(format!("answered/{workflow}.json"))).expect("the answer lies there");
    }

    /// Cuts links, kills hosts and lets the server crash, in the order that the dice say.
    fn disturb(&self, over: &AtomicBool) {
        let mut dice = Dice::new(u64::try_from(time::now().timestamp_millis()).unwrap_or(1));
        let count = |count: &AtomicUsize| count.fetch_add(1, Ordering::Relaxed);
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(200 + u64::try_from(dice.roll(800)).unwrap_or(0)));
            let host = dice.roll(self.hosts.len());
            match dice.roll(12) {
                0 => {
                    self.database.cluster.crash();
                    self.database.cluster.start();
                    count(&self.counts.crashes);
                }
                1..5 => {
                    let mut processes = self.processes.lock().unwrap();
                    let new = {
                        // Killed first: a mailbox has one process.
                        let old = processes.remove(host);
                        old.kill();
                        self.hosts[host].0.serve()
                    };
                    processes.insert(host, new);
                    count(&self.counts.kills);
                }
                5..9 => {
                    self.hosts[host].1.cut();
                    count(&self.counts.cuts);
                }
                _ => {
                    self.people.cut();
                    count(&self.counts.cuts);
                }
            }
        }
    }
}
