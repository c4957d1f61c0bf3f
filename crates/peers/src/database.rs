//! Machines that are reached through a PostgreSQL database: see [`crate::sync`] for their side.
//!
//! One connection watches: it listens for the doorbell of the hosts, and compares numbers, so it reads only what has changed. Each
//! offer takes a connection of its own, which is kept for the next offer. An offer is *sent* once the database has it. The verdict
//! comes from the host.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Row};
use uuid::Uuid;

use crate::lines::{Line, read_reply};
use crate::peer::{Change, Peer, Problem, Progress, Stop, Unanswered, Undecided};
use crate::remote_question::{Ended, Last, RemoteQuestion};
use crate::sync::connection::Database;
use crate::sync::host::requests;
use crate::sync::host::service::HEARTBEAT;
use crate::sync::host::store::CHANNEL;
use crate::sync::migrate;
use askbox_config::Config;
use askbox_mailbox::{
    Answer, Closing, Error, HostName, Offer, Question, QuestionDocument, QuestionId, Time, Verdict, WorkflowId, document, text, thread,
    time,
};
use askbox_sessions::{Asked, Listed, Reply, Request};

/// How long a look waits for the doorbell before it checks for the end of the work.
const SLICE: Duration = Duration::from_millis(250);
/// How often the database is asked without a doorbell, to learn which hosts are away.
const ROUND: Duration = Duration::from_secs(10);
/// A host counts as away if it has not been seen for this long.
const AWAY: Duration = HEARTBEAT.saturating_mul(3);
/// How many documents are read at once.
const AT_ONCE: usize = 100;
/// The most open questions that are read.
const MOST: i64 = 100_000;
/// The most undecided offers that are read.
const MOST_OFFERS: i64 = 1_000;
/// The pause between two attempts to send an offer.
const PAUSE: Duration = Duration::from_millis(500);

/// The pause between two looks for a reply.
const REPLY_PAUSE: Duration = Duration::from_millis(50);

/// A database with the questions of several machines.
pub struct DatabasePeer {
    name: String,
    address: String,
    root_certificate: std::path::PathBuf,
    /// The name of this machine itself as a host, if it has one.
    own: Option<String>,
    /// The connection for offers.
    offering: Mutex<Option<Client>>,
    /// The idle connections for requests about sessions.
    asking: Mutex<Vec<Client>>,
    /// The hosts that reply to such requests.
    telling: Mutex<HashSet<HostName>>,
    /// The offers that were sent and have no verdict yet.
    sent: Mutex<HashSet<Uuid>>,
}

/// The peers of the configuration that are reached through a database.
pub fn configured(config: &Config) -> Vec<Box<dyn Peer>> {
    let named = config.peers.iter().filter(|(_, peer)| !peer.postgres.is_empty());
    let own = || Some(Database::at(&config.sync.database, Path::new("")).ok()?.user.clone()).filter(|_| !config.sync.database.is_empty());
    let peer = |(name, peer): (&String, &askbox_config::PeerConfig)| {
        Box::new(DatabasePeer {
            name: name.clone(),
            address: peer.postgres.clone(),
            root_certificate: config.sync.root_certificate.clone(),
            own: own(),
            offering: Mutex::default(),
            asking: Mutex::default(),
            telling: Mutex::default(),
            sent: Mutex::default(),
        }) as Box<dyn Peer>
    };
    named.map(peer).collect()
}

impl Peer for DatabasePeer {
    fn name(&self) -> &str {
        &self.name
    }

    fn watch(&self, report: &dyn Fn(Change), stop: &Stop) -> Problem {
        match self.look_until(report, stop) {
            Ok(()) => Problem::passing("stopped", ""),
            Err(e) => problem(&e),
        }
    }

    fn offer(&self, host: &HostName, offer: &Offer, limit: Duration) -> Progress {
        let end = Instant::now() + limit;
        let mut may_have_arrived = false;
        loop {
            let refused = match self.send(host, offer, &mut may_have_arrived) {
                Ok(Some(verdict)) => return Progress::Decided(verdict),
                Ok(None) => return Progress::Sent,
                Err(e) => e,
            };
            // Sending the same offer again is safe, because it counts once. After a cut it is the only way to learn if the first one
            // arrived.
            let is_final = !refused.is_transient || Instant::now() + PAUSE >= end;
            if is_final {
                return Progress::failed(problem(&refused.error), may_have_arrived);
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn sessions(&self, host: &HostName, asked: &Asked, limit: Duration) -> Result<Reply, Unanswered> {
        let silent = || {
            let hint = format!("on {host}: sync.sessions = true, and askbox sync run");
            Problem::passing(format!("{host} does not reply about its sessions through the database"), hint)
        };
        if !thread::locked(&self.telling).contains(host) {
            let is_list = matches!(asked.request, Request::List);
            return if is_list { Ok(Reply::List(Listed::default())) } else { Err(Unanswered::unsent(silent())) };
        }
        let unsent = |e: &Error| Unanswered::unsent(problem(e));
        let database = self.database().map_err(|e| unsent(&e))?;
        // Taken out, so that two requests at the same time do not wait for each other.
        let kept = thread::locked(&self.asking).pop().filter(|client| !client.is_closed());
        let mut client = kept.map_or_else(|| self.connect(&database).map(|(client, _)| client), Ok).map_err(|e| unsent(&e))?;
        let doc = document::to_json(asked).map_err(|e| unsent(&e))?;
        let reply = ask(&mut client, host, &String::from_utf8_lossy(&doc), limit);
        let reply = reply.map_err(|e| Unanswered::unknown(problem(&database.failed("took no request", &e))))?;
        thread::locked(&self.asking).push(client);
        match reply.map(|line| Line::read(line.as_bytes())) {
            Ok(Some(Line::Reply { reply })) => read_reply(host, reply),
            Ok(Some(Line::Failed { error, hint })) => Err(Unanswered::unsent(Problem::of_machine(host, &error, &hint))),
            Ok(_) => read_reply(host, serde_json::Value::Null),
            Err(may_have_arrived) => Err(Unanswered { problem: silent(), may_have_arrived }),
        }
    }

    fn last(&self, host: &HostName, workflow: &WorkflowId, _: Duration) -> Result<Option<Last>, Problem> {
        let last = "SELECT host::text, question_id::text, workflow_id, doc, state, ending FROM askbox.question WHERE host = $1::text::name AND workflow_id = $2
            ORDER BY question_id DESC LIMIT 1";
        let database = self.database().map_err(|e| problem(&e))?;
        let (mut client, _) = self.connect(&database).map_err(|e| problem(&e))?;
        let row = client.query_opt(last, &[&host.as_str(), &workflow.as_str()]);
        let row = row.map_err(|e| problem(&database.failed("tells nothing", &e)))?;
        let waits = |row: &Row| row.try_get::<_, String>(4).is_ok_and(|state| state == "pending");
        Ok(row.and_then(|row| if waits(&row) { Some(Last::Waits(Box::new(question(&row)?))) } else { ended(&row).map(Last::Ended) }))
    }
}

/// Sends a request and waits for the reply. `Err` if there is none: true if the host has taken the request.
fn ask(client: &mut Client, host: &HostName, doc: &str, limit: Duration) -> Result<Result<String, bool>, postgres::Error> {
    let (id, end) = (Uuid::new_v4().to_string(), Instant::now() + limit);
    let send = "INSERT INTO askbox.request (request_id, host, doc) VALUES ($1::text::uuid, $2::text, $3)";
    client.execute(send, &[&id, &host.as_str(), &doc])?;
    client.execute("SELECT pg_notify($1, '')", &[&requests::CHANNEL])?;
    let is_there = "SELECT FROM askbox.request WHERE request_id = $1::text::uuid AND reply IS NOT NULL";
    while client.query_opt(is_there, &[&id])?.is_none() && Instant::now() < end {
        std::thread::sleep(REPLY_PAUSE);
    }
    let take = "DELETE FROM askbox.request WHERE request_id = $1::text::uuid RETURNING reply, taken_at IS NOT NULL";
    let Some(row) = client.query_opt(take, &[&id])? else { return Ok(Err(true)) };
    Ok(match row.try_get::<_, Option<String>>(0)? {
        Some(reply) => Ok(reply),
        None => Err(row.try_get(1)?),
    })
}

/// The last round of a workflow, as its host has reported it.
fn ended(row: &Row) -> Option<Ended> {
    #[derive(serde::Deserialize)]
    struct Ending {
        answer: Option<Answer>,
        closed: Option<Closing>,
    }
    let text = |n: usize| row.try_get::<_, Option<String>>(n).ok().flatten();
    let (round, state) = (text(1)?.parse().ok()?, text(4)?);
    // A round that was pruned on its host no longer has a question.
    let question = QuestionDocument::parse(text(3)?.as_bytes()).map(|document| document.typed).ok()?;
    let ending = text(5).and_then(|ending| document::json::<Ending>(ending.as_bytes()));
    let (answer, closed) = ending.map_or((None, None), |ending| (ending.answer, ending.closed));
    Some(Ended::new(round, &Question { closed, ..question }, answer.as_ref(), state))
}

/// The reason why an offer was not sent.
struct Refused {
    error: Error,
    is_transient: bool,
}

impl DatabasePeer {
    fn database(&self) -> Result<Database, Error> {
        Database::at(&self.address, &self.root_certificate).map_err(|e| match e {
            Error::Invalid { problem, fix, .. } => Error::invalid(format!("peers.{}.postgres", self.name), problem, fix),
            other => other,
        })
    }

    /// Opens a connection. Returns it with the version of the database.
    fn connect(&self, database: &Database) -> Result<(Client, String), Error> {
        let mut client = database.connect()?;
        let version = migrate::check(database, &mut client)?;
        Ok((client, version))
    }

    fn send(&self, host: &HostName, offer: &Offer, may_have_arrived: &mut bool) -> Result<Option<Verdict>, Refused> {
        let refused = |error: Error| Refused { is_transient: !matches!(error, Error::Invalid { .. } | Error::Conflict { .. }), error };
        let database = self.database().map_err(refused)?;
        let doc = document::to_json(offer).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).map_err(refused)?;
        let mut kept = thread::locked(&self.offering);
        let mut client = match kept.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.connect(&database).map_err(refused)?.0,
        };
        let id = offer.offer_id.to_string();
        // Before it is sent, because its verdict may come before this thread goes on.
        thread::locked(&self.sent).insert(offer.offer_id);
        let sent = client.query_opt(
            "WITH sent AS (
                INSERT INTO askbox.offer (offer_id, host, workflow_id, question_id, question_hash, doc)
                    VALUES ($1::text::uuid, $2::text, $3, $4::text::uuid, $5::text::uuid, $6) ON CONFLICT DO NOTHING
            ) SELECT outcome, said FROM askbox.offer WHERE offer_id = $1::text::uuid AND outcome IS NOT NULL",
            &[&id, &host.as_str(), &offer.workflow_id.as_str(), &offer.question_id.to_string(), &offer.question_hash.to_string(), &doc],
        );
        match sent {
            Ok(row) => {
                *kept = Some(client);
                Ok(row.and_then(|row| verdict(offer.offer_id, &row)))
            }
            Err(e) => {
                // If the server refused the offer, it was not stored. If the connection broke, it may have been.
                *may_have_arrived |= e.as_db_error().is_none();
                if !*may_have_arrived {
                    thread::locked(&self.sent).remove(&offer.offer_id);
                }
                Err(Refused { is_transient: e.as_db_error().is_none(), error: database.failed("took no offer", &e) })
            }
        }
    }

    fn look_until(&self, report: &dyn Fn(Change), stop: &Stop) -> Result<(), Error> {
        let database = self.database()?;
        let (mut client, version) = self.connect(&database)?;
        let failed = |e: &postgres::Error| database.failed("tells nothing", e);
        client.batch_execute(&format!("LISTEN {CHANNEL}")).map_err(|e| failed(&e))?;
        let mut seen = Seen::default();
        while !stop.is_set() {
            let hosts = seen.look(&mut client, self.own.as_deref(), &self.telling, report).map_err(|e| failed(&e))?;
            report(Change::Complete { hosts, version: format!("schema {version}") });
            self.verdicts(&mut client, report).map_err(|e| failed(&e))?;
            let next = Instant::now() + ROUND;
            while !stop.is_set() && Instant::now() < next {
                // One look answers all rings so far.
                if rang(&mut client).map_err(|e| failed(&e))? {
                    break;
                }
                if client.is_closed() {
                    return Err(Error::failed(format!("the database {} has gone", database.shown), "it is tried again"));
                }
            }
        }
        Ok(())
    }

    /// Reports the verdicts about offers that were sent.
    fn verdicts(&self, client: &mut Client, report: &dyn Fn(Change)) -> Result<(), postgres::Error> {
        let waiting: Vec<String> = thread::locked(&self.sent).iter().map(Uuid::to_string).collect();
        if waiting.is_empty() {
            return Ok(());
        }
        let query =
            "SELECT outcome, said, offer_id::text FROM askbox.offer WHERE offer_id = ANY($1::text[]::uuid[]) AND outcome IS NOT NULL";
        for row in client.query(query, &[&waiting])? {
            let id: String = row.try_get(2)?;
            if let Some(verdict) = id.parse().ok().and_then(|id| verdict(id, &row)) {
                thread::locked(&self.sent).remove(&verdict.offer_id);
                report(Change::Decided(verdict));
            }
        }
        Ok(())
    }
}

/// Waits a while for the doorbell, and takes all its rings.
fn rang(client: &mut Client) -> Result<bool, postgres::Error> {
    let mut bells = client.notifications();
    let first = bells.timeout_iter(SLICE).next()?.is_some();
    while first && bells.iter().next()?.is_some() {}
    Ok(first)
}

/// The state of the hosts that was reported on this connection.
#[derive(Default)]
struct Seen {
    hosts: HashMap<HostName, Host>,
    undecided: Vec<Uuid>,
}

/// One host, as it was reported.
#[derive(Default)]
struct Host {
    /// The open questions by their ids, with the number of their last change.
    questions: HashMap<QuestionId, (i64, WorkflowId)>,
    seen_at: Option<Time>,
    is_away: bool,
    is_listed: bool,
}

impl Seen {
    /// Reports all changes. Returns all hosts.
    fn look(
        &mut self,
        client: &mut Client,
        own: Option<&str>,
        telling: &Mutex<HashSet<HostName>>,
        report: &dyn Fn(Change),
    ) -> Result<Vec<HostName>, postgres::Error> {
        // One snapshot, so that a question that moves during the look is seen once.
        let mut look = client.build_transaction().read_only(true).isolation_level(postgres::IsolationLevel::RepeatableRead).start()?;
        let ages =
            "SELECT host::text, program, (extract(epoch FROM clock_timestamp() - seen_at) * 1000)::bigint, sessions FROM askbox.host";
        let mut begun = HashSet::new();
        let mut hosts = Vec::new();
        for row in look.query(ages, &[])? {
            let name: String = row.try_get(0)?;
            let Some(host) = name.parse::<HostName>().ok().filter(|_| own != Some(name.as_str())) else { continue };
            let known = self.hosts.entry(host.clone()).or_default();
            let age = Duration::from_millis(row.try_get::<_, i64>(2)?.try_into().unwrap_or(0));
            // The database's clock gives the age. It becomes a time of this machine's clock.
            known.seen_at = Some(time::now() - age);
            let is_away = age > AWAY;
            let mut telling = thread::locked(telling);
            let _ = if row.try_get(3)? && !is_away { telling.insert(host.clone()) } else { telling.remove(&host) };
            drop(telling);
            if !known.is_listed || (known.is_away && !is_away) {
                known.questions.clear();
                report(Change::Begins(host.clone(), row.try_get(1)?));
                begun.insert(host.clone());
            }
            known.is_away = is_away;
            hosts.push(host);
        }
        let open = "SELECT host::text, question_id::text, change, workflow_id FROM askbox.question WHERE rank = 0 ORDER BY question_id DESC LIMIT $1";
        let mut now: HashMap<HostName, HashMap<QuestionId, (i64, WorkflowId)>> = HashMap::new();
        let mut wanted = Vec::new();
        for row in look.query(open, &[&MOST])? {
            let (host, question, workflow): (String, String, String) = (row.try_get(0)?, row.try_get(1)?, row.try_get(3)?);
            let (Ok(host), Ok(question), Ok(workflow)) = (host.parse::<HostName>(), question.parse::<QuestionId>(), workflow.parse())
            else {
                continue;
            };
            let Some(known) = self.hosts.get(&host).filter(|_| hosts.contains(&host)) else { continue };
            let change = row.try_get(2)?;
            if known.questions.get(&question).is_none_or(|(before, _)| *before != change) {
                wanted.push((host.clone(), question));
            }
            now.entry(host).or_default().insert(question, (change, workflow));
        }
        for some in wanted.chunks(AT_ONCE) {
            let (names, ids): (Vec<&str>, Vec<String>) = some.iter().map(|(host, id)| (host.as_str(), id.to_string())).unzip();
            let docs = "SELECT q.host::text, q.question_id::text, q.workflow_id, q.doc FROM askbox.question q
                JOIN unnest($1::text[], $2::text[]) w (host, id) ON q.host = w.host::name AND q.question_id = w.id::uuid";
            look.query(docs, &[&names, &ids])?
                .iter()
                .filter_map(question)
                .for_each(|question| report(Change::Question(Box::new(question))));
        }
        let offers = "SELECT offer_id::text, host::text, question_id::text, sent_by::text,
                (extract(epoch FROM clock_timestamp() - sent_at) * 1000)::bigint
            FROM askbox.offer WHERE outcome IS NULL ORDER BY seq LIMIT $1";
        // Before the lists are complete, so that a caller who waits for the lists sees the offers with them.
        let undecided: Vec<_> = look.query(offers, &[&MOST_OFFERS])?.iter().filter_map(undecided).collect();
        let ids: Vec<Uuid> = undecided.iter().map(|offer| offer.offer).collect();
        // After a new connection, or for a machine that is new, all of them are reported.
        if std::mem::replace(&mut self.undecided, ids) != self.undecided || !begun.is_empty() {
            report(Change::Undecided(undecided));
        }
        for host in &hosts {
            let (Some(known), now) = (self.hosts.get_mut(host), now.remove(host).unwrap_or_default()) else { continue };
            let gone: Vec<_> = known.questions.iter().filter(|(id, _)| !now.contains_key(id)).map(|(id, _)| id.to_string()).collect();
            if !gone.is_empty() {
                let ends = "SELECT question_id::text, workflow_id, state, ending FROM askbox.question
                    WHERE host = $1::text::name AND question_id = ANY($2::text[]::uuid[]) AND rank > 0";
                look.query(ends, &[&host.as_str(), &gone])?.iter().filter_map(|row| end(host, row)).for_each(report);
            }
            known.questions = now;
            let is_away = known.seen_at.filter(|_| known.is_away);
            if let Some(at) = is_away {
                let said = format!("{host} was heard last {} ago: it is off, asleep or cut off", time::human(time::since(at)));
                let problem = Problem::passing(said, "an offer waits for it in the database");
                report(Change::Away { host: host.clone(), since: at, problem });
            }
            if begun.contains(host) {
                report(Change::Listed(host.clone()));
                known.is_listed = true;
            }
            if let Some(at) = known.seen_at {
                report(Change::Heard(host.clone(), at));
            }
        }
        look.commit()?;
        self.hosts.retain(|host, _| hosts.contains(host));
        Ok(hosts)
    }
}

fn question(row: &Row) -> Option<RemoteQuestion> {
    let text = |n: usize| row.try_get::<_, String>(n).ok();
    let (host, question, workflow) = (text(0)?.parse().ok()?, text(1)?.parse().ok()?, text(2)?.parse().ok()?);
    Some(RemoteQuestion::read(host, workflow, question, text(3)?.as_bytes()))
}

fn undecided(row: &Row) -> Option<Undecided> {
    let text = |n: usize| row.try_get::<_, String>(n).ok();
    let age = Duration::from_millis(row.try_get::<_, i64>(4).ok()?.try_into().unwrap_or(0));
    let (offer, host, question) = (text(0)?.parse().ok()?, text(1)?.parse().ok()?, text(2)?.parse().ok()?);
    Some(Undecided { offer, host, question, by: text(3)?.into(), at: time::now() - age })
}

/// The end of a question, in its host's words.
fn end(host: &HostName, row: &Row) -> Option<Change> {
    let text = |n: usize| row.try_get::<_, Option<String>>(n).ok().flatten();
    let (question, workflow, state) = (text(0)?.parse().ok()?, text(1)?.parse().ok()?, text(2)?);
    let ending: serde_json::Value = text(3).and_then(|ending| document::json(ending.as_bytes())).unwrap_or_default();
    let answer = &ending["answer"];
    let word = |field: &str| answer[field].as_str().map(|word| text::excerpt(word, 60));
    let said = match (word("by"), word("channel")) {
        (Some(by), Some(channel)) => format!("{} by {by} through {channel}", word("outcome").unwrap_or_else(|| "answered".into())),
        _ => state,
    };
    let offer = answer["offer_id"].as_str().and_then(|id| id.parse().ok());
    Some(Change::Gone { host: host.clone(), workflow, question: Some(question), fate: said.into(), offer })
}

fn verdict(offer_id: Uuid, row: &Row) -> Option<Verdict> {
    let decided = serde_json::from_value(row.try_get::<_, String>(0).ok()?.into()).ok()?;
    let said = row.try_get::<_, Option<String>>(1).ok().flatten().unwrap_or_default();
    Some(Verdict { offer_id, decided, said, hint: None, warning: None })
}

fn problem(error: &Error) -> Problem {
    let lasts = matches!(error, Error::Invalid { .. } | Error::Conflict { .. });
    let said = text::one_line(&error.to_string());
    Problem { said: said.strip_prefix("-: ").unwrap_or(&said).to_owned(), hint: error.hint(), lasts }
}
