//! Rounds in which two people answer at once, one at the host and one elsewhere, while links are cut, hosts are killed and the server
//! crashes. No answer is lost, no answer counts twice, and everything that people are told or shown is true.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};

use super::cluster::{Cluster, Database};
use super::host::Host;
use super::link::Link;
use crate::support::{Dice, Running, World, needs, number};
use askbox::id::RoundId;
use askbox::mailbox::documents::fields::options::Options;
use askbox::mailbox::documents::offer::Offer;
use askbox::mailbox::transitions::accept::{self, Decision};
use askbox::mailbox::transitions::post;
use askbox::mailbox::who::caller::Caller;
use askbox::mailbox::{AnswerValue, Mailbox, Question};
use askbox::{Error, time};

/// The number of rounds: few in the suite. `tests/run rounds` makes it 100,000.
const VARIABLE: &str = "ASKBOX_ROUNDS";
/// The minutes after which no more rounds begin. 0: all of them do.
const MINUTES: &str = "ASKBOX_ROUNDS_MINUTES";
/// How many people answer from elsewhere at once, each with some rounds at a time.
const PEOPLE: usize = 6;
/// The most rounds that one of them has open at once.
const AT_ONCE: usize = 40;
/// How long some rounds may take together, however much is killed.
const LIMIT: Duration = Duration::from_secs(300);
/// The time in which nothing more is cut off or killed while no round comes on.
const CALM: Duration = Duration::from_secs(30);
/// After this time a new database and new mailboxes go on: old ones are thrown away.
const ERA: Duration = Duration::from_secs(480);

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

/// What is the same in each era.
struct Storm {
    cluster: Arc<Cluster>,
    rounds: usize,
    next: AtomicUsize,
    begun: Instant,
    limit: Option<Duration>,
    counts: Counts,
    /// How long an offer takes about, in milliseconds: the person at the host hesitates as long, more or less.
    typical: AtomicUsize,
}

/// A database with three hosts.
struct Era<'a> {
    storm: &'a Storm,
    database: Database,
    hosts: Vec<(Host, Link)>,
    processes: Mutex<Vec<Running>>,
    people: Link,
    begun: Instant,
    /// Counts the steps of rounds that were made.
    steps: AtomicUsize,
}

/// One round, as the people see it.
struct Round {
    id: RoundId,
    offer: Offer,
    hash: String,
}

#[test]
fn no_round_is_lost_or_doubled_while_everything_is_cut() {
    needs!("postgres");
    let minutes = number(MINUTES, 0);
    let storm = Storm {
        cluster: Arc::new(Cluster::new()),
        rounds: number(VARIABLE, 240),
        next: AtomicUsize::new(0),
        begun: Instant::now(),
        limit: (minutes > 0).then(|| Duration::from_secs(60 * u64::try_from(minutes).unwrap())),
        counts: Counts::default(),
        typical: AtomicUsize::new(50),
    };
    let mut done = 0;
    while let Some(rounds) = Era::begin(&storm).run() {
        done += rounds;
        eprintln!("{done} rounds after {:.0?}: {}", storm.begun.elapsed(), storm.counts.words());
    }
    let counts = &storm.counts;
    assert_eq!(load(&counts.here) + load(&counts.elsewhere), done);
    assert!(storm.limit.is_some() || done == storm.rounds, "{done} of {}", storm.rounds);
    assert!(load(&counts.here) > 0 && load(&counts.elsewhere) > 0, "both win sometimes");
    assert!(load(&counts.cuts) > 0 && load(&counts.kills) > 0, "it was no storm");
}

fn load(count: &AtomicUsize) -> usize {
    count.load(Ordering::Relaxed)
}

fn add(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::Relaxed);
}

impl Counts {
    fn words(&self) -> String {
        format!(
            "won here {}, elsewhere {}; {} links cut, {} hosts killed, {} crashes of the server; {} statements sent again",
            load(&self.here),
            load(&self.elsewhere),
            load(&self.cuts),
            load(&self.kills),
            load(&self.crashes),
            load(&self.sent_again),
        )
    }
}

impl Storm {
    /// The numbers of the next rounds; none once all have begun or the time is over.
    fn take(&self) -> Range<usize> {
        if self.limit.is_some_and(|limit| self.begun.elapsed() >= limit) {
            return 0..0;
        }
        let some = (self.rounds / (PEOPLE * 10)).clamp(1, AT_ONCE);
        let first = self.next.fetch_add(some, Ordering::Relaxed).min(self.rounds);
        first..(first + some).min(self.rounds)
    }
}

impl<'a> Era<'a> {
    fn begin(storm: &'a Storm) -> Self {
        let database = Database::in_cluster(Arc::clone(&storm.cluster));
        let make = |name: &&'static str| {
            let (host, link) = (Host::with(&database, name, World::new()), Link::to(storm.cluster.socket()));
            let address = format!("host={} user={name} dbname={}", link.folder(), database.name);
            host.world.configure(&format!("[sync]\ndatabase = \"{address}\"\npoll = \"50ms\""));
            (host, link)
        };
        let hosts: Vec<_> = HOSTS.iter().map(make).collect();
        let processes = Mutex::new(hosts.iter().map(|(host, _)| host.serve()).collect());
        Self {
            storm,
            people: Link::to(storm.cluster.socket()),
            database,
            hosts,
            processes,
            begun: Instant::now(),
            steps: AtomicUsize::new(0),
        }
    }

    /// Rounds until the era is over. Returns how many; `None` if none was left to do.
    fn run(self) -> Option<usize> {
        let (over, done) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            let disturber = scope.spawn(|| self.disturb(&over));
            let work = |n: usize| {
                let mut person = self.person();
                let mut dice = Dice::new(u64::try_from(time::now().timestamp_millis()).unwrap_or(1) + n as u64);
                while self.begun.elapsed() < ERA {
                    let numbers = self.storm.take();
                    if numbers.is_empty() {
                        break;
                    }
                    done.fetch_add(numbers.len(), Ordering::Relaxed);
                    self.rounds(&self.hosts[n % self.hosts.len()].0, numbers, &mut person, &mut dice);
                }
            };
            let people: Vec<_> = (0..PEOPLE).map(|n| scope.spawn(move || work(n))).collect();
            let results: Vec<_> = people.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            over.store(true, Ordering::Relaxed);
            disturber.join().expect("the disturber");
            results.into_iter().for_each(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        });
        let done = done.into_inner();
        // Each offer is one row, and each has its verdict.
        let left = self.database.value("SELECT count(*) || ' ' || count(outcome) FROM askbox.offer").expect("a count");
        assert_eq!(left, format!("{done} {done}"));
        drop(self.processes);
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.database.name);
        self.storm.cluster.connect("owner", "postgres").expect("a connection").batch_execute(&drop).expect("it is thrown away");
        (done > 0).then_some(done)
    }

    fn person(&self) -> Client {
        let mut config = postgres::Config::new();
        config.host(self.people.folder()).user("ann").dbname(&self.database.name);
        let end = Instant::now() + LIMIT;
        loop {
            match config.connect(NoTls) {
                Ok(client) => return client,
                Err(e) => assert!(Instant::now() < end, "{e}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Runs a statement until the link lets it through: the same statement again does no harm.
    fn insist<T>(&self, person: &mut Client, what: &str, mut work: impl FnMut(&mut Client) -> Result<Option<T>, postgres::Error>) -> T {
        let end = Instant::now() + LIMIT;
        loop {
            match work(person) {
                Ok(Some(found)) => return found,
                Ok(None) => std::thread::sleep(Duration::from_millis(50)),
                Err(e) => {
                    assert!(e.as_db_error().is_none_or(|e| e.code().code().starts_with("57P")), "{what}: {e:?}");
                    add(&self.storm.counts.sent_again);
                    *person = self.person();
                }
            }
            assert!(Instant::now() < end, "waited in vain: {what}");
        }
    }

    /// The database's view of each of these rounds, once it knows all of them: the columns of the query, by the round's id.
    fn told(&self, person: &mut Client, what: &str, query: &str, ids: &[String]) -> HashMap<String, [String; 2]> {
        let told = self.insist(person, what, |person| {
            let rows = person.query(query, &[&ids])?;
            let told: HashMap<_, _> = rows.iter().map(|row| (row.get(0), [row.get(1), row.get(2)])).collect();
            Ok((told.len() == ids.len()).then_some(told))
        });
        add(&self.steps);
        told
    }

    /// Some rounds at once on one host: asked, seen elsewhere, answered by both people, and decided.
    fn rounds(&self, host: &Host, numbers: Range<usize>, person: &mut Client, dice: &mut Dice) {
        let mailbox = Mailbox::open(host.world.mailbox()).expect("a mailbox");
        let asked: Vec<RoundId> = numbers.map(|n| ask(&mailbox, n)).collect();
        let ids: Vec<String> = asked.iter().map(|id| id.question.to_string()).collect();
        let seen = "SELECT question_id::text, question_hash::text, state FROM askbox.question WHERE question_id = ANY($1::text[]::uuid[])";
        let seen = self.told(person, "the questions", seen, &ids);
        let ann = Caller::person("ann", "test").unwrap();
        let offered = |id: RoundId| {
            let [hash, state] = seen[&id.question.to_string()].clone();
            assert_eq!(state, "pending", "nobody has answered {}", id.workflow);
            let offer = Offer::new(&id, hash.parse().unwrap(), None, ann.value(AnswerValue::Text("b".into())), false);
            Round { id, offer, hash }
        };
        let rounds: Vec<Round> = asked.into_iter().map(offered).collect();
        // The person at the host goes through them in the same order as the offers, backwards, or as it comes.
        let mut order: Vec<usize> = (0..rounds.len()).collect();
        match dice.roll(3) {
            0 => {}
            1 => order.reverse(),
            _ => (1..order.len()).rev().for_each(|n| order.swap(n, dice.roll(n + 1))),
        }
        let typical = Duration::from_millis(u64::try_from(load(&self.storm.typical)).unwrap_or(50));
        let hesitation = typical.mul_f64(dice.roll(200) as f64 / 100.0);
        let sent = Instant::now();
        let (mut local, verdicts) = std::thread::scope(|scope| {
            let here = scope.spawn(|| {
                std::thread::sleep(hesitation);
                let results = order.iter().map(|n| (rounds[*n].id.question.to_string(), answer_here(&mailbox, &rounds[*n].id)));
                results.collect::<HashMap<_, _>>()
            });
            self.insist(person, "offers", |person| send(person, host.name, &rounds).map(Some));
            let verdicts = "SELECT question_id::text, outcome, said FROM askbox.offer
                WHERE question_id = ANY($1::text[]::uuid[]) AND outcome IS NOT NULL";
            let verdicts = self.told(person, "the verdicts", verdicts, &ids);
            let typical = load(&self.storm.typical);
            let took = usize::try_from(sent.elapsed().as_millis()).unwrap_or(0).min(2000);
            self.storm.typical.store((typical * 7 + took) / 8, Ordering::Relaxed);
            (here.join().expect("the person at the host"), verdicts)
        });
        // People elsewhere are shown the state that lies in the mailbox.
        let endings = "SELECT question_id::text, ending, state FROM askbox.question
            WHERE question_id = ANY($1::text[]::uuid[]) AND state = 'answered'";
        let endings = self.told(person, "the answers", endings, &ids);
        for round in &rounds {
            let (id, workflow) = (round.id.question.to_string(), &round.id.workflow);
            let answer = host.world.document(&format!("answered/{workflow}.json"))["answer"].clone();
            let [outcome, said] = &verdicts[&id];
            self.check(round, &answer, local.remove(&id).expect("an answer"), outcome, said);
            let ending: serde_json::Value = serde_json::from_str(&endings[&id][0]).unwrap();
            assert_eq!((&ending["answer"]["by"], &ending["answer"]["value"]), (&answer["by"], &answer["value"]), "{workflow}");
            assert!(!host.world.in_mailbox(format!("pending/{workflow}.json")).exists(), "{workflow}");
            // The mailbox stays small, as a watcher would keep it.
            std::fs::remove_file(host.world.in_mailbox(format!("answered/{workflow}.json"))).expect("the answer lies there");
        }
    }

    /// One of the two has won, and each was told so.
    fn check(&self, round: &Round, answer: &serde_json::Value, local: Result<(), Error>, outcome: &str, said: &str) {
        let workflow = &round.id.workflow;
        match local {
            Ok(()) => {
                assert_eq!(
                    (answer["by"].as_str(), answer["value"].as_str(), outcome),
                    (Some("bob"), Some("a"), "lost"),
                    "{workflow}: {said}"
                );
                assert!(said.contains("answered by bob"), "{workflow}: {said}");
                add(&self.storm.counts.here);
            }
            Err(Error::Conflict { message, .. }) => {
                assert_eq!(
                    (answer["by"].as_str(), answer["value"].as_str(), outcome),
                    (Some("ann"), Some("b"), "accepted"),
                    "{workflow}: {said}"
                );
                assert_eq!(answer["offer_id"], round.offer.offer_id.to_string(), "{workflow}");
                assert!(message.contains("answered by ann"), "{workflow}: {message}");
                add(&self.storm.counts.elsewhere);
            }
            Err(e) => panic!("{workflow}: {e}"),
        }
    }

    /// Cuts links, kills hosts and lets the server crash, in the order that the dice say.
    fn disturb(&self, over: &AtomicBool) {
        let mut dice = Dice::new(u64::try_from(time::now().timestamp_millis()).unwrap_or(1));
        let counts = &self.storm.counts;
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(200 + u64::try_from(dice.roll(800)).unwrap_or(0)));
            // Waits for the next step of a host, for a bounded time. On a busy machine, hosts would be killed for ever before they finish
            // anything.
            let (before, end) = (load(&self.steps), Instant::now() + CALM);
            while load(&self.steps) == before && Instant::now() < end && !over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(20));
            }
            let host = dice.roll(self.hosts.len());
            // Chance alone may leave one of them out of a short storm.
            let what = match (load(&counts.kills), load(&counts.cuts)) {
                (0, _) => 1,
                (_, 0) => 6,
                _ => dice.roll(16),
            };
            match what {
                0 => {
                    self.storm.cluster.crash();
                    self.storm.cluster.start();
                    add(&counts.crashes);
                }
                1..6 => {
                    let mut processes = self.processes.lock().unwrap();
                    let new = {
                        // Killed first: a mailbox has one process.
                        let old = processes.remove(host);
                        old.kill();
                        self.hosts[host].0.serve()
                    };
                    processes.insert(host, new);
                    add(&counts.kills);
                }
                6..11 => {
                    self.hosts[host].1.cut();
                    add(&counts.cuts);
                }
                _ => {
                    self.people.cut();
                    add(&counts.cuts);
                }
            }
        }
    }
}

fn ask(mailbox: &Mailbox, n: usize) -> RoundId {
    let mut question = Question::new(format!("w{n}").parse().unwrap(), format!("Round {n}?"));
    question.options = serde_json::from_str::<Options>(r#"{"a": "A", "b": "B"}"#).unwrap();
    post::post(mailbox, question, post::IfPending::Conflict).expect("posted").round
}

fn answer_here(mailbox: &Mailbox, id: &RoundId) -> Result<(), Error> {
    let bob = Caller::person("bob", "test").unwrap();
    let answer = bob.value(AnswerValue::Text("a".into()));
    accept::answer(mailbox, &id.workflow, Decision::by(&bob, Some(id.question)), answer).map(drop)
}

fn send(person: &mut Client, host: &str, rounds: &[Round]) -> Result<u64, postgres::Error> {
    let text = |of: fn(&Round) -> String| rounds.iter().map(of).collect::<Vec<_>>();
    person.execute(
        "INSERT INTO askbox.offer (offer_id, host, workflow_id, question_id, question_hash, doc)
            SELECT o::uuid, $1::text, w, q::uuid, h::uuid, d FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
                AS new (o, w, q, h, d) ON CONFLICT DO NOTHING",
        &[
            &host,
            &text(|round| round.offer.offer_id.to_string()),
            &text(|round| round.id.workflow.to_string()),
            &text(|round| round.id.question.to_string()),
            &text(|round| round.hash.clone()),
            &text(|round| serde_json::to_string(&round.offer).unwrap()),
        ],
    )
}
