//! A mailbox that is a host of a database, and people who make offers to it.

use std::process::Stdio;

use postgres::Client;
use serde_json::{Value, json};
use uuid::Uuid;

use super::cluster::Database;
use crate::support::{Outcome, Running, World, until};

/// A host. Its mailbox exists.
pub struct Host {
    pub world: World,
    pub name: &'static str,
}

impl Host {
    /// A host of this database, which looks often.
    pub fn new(database: &Database, name: &'static str) -> Self {
        Self::with(database, name, World::stepping("work"))
    }

    pub fn with(database: &Database, name: &'static str, world: World) -> Self {
        world.make_mailbox();
        let host = Self { world, name };
        host.configure(database, "200ms");
        host
    }

    pub fn configure(&self, database: &Database, poll: &str) {
        let address = database.address(self.name);
        self.world.configure(&format!("[sync]\ndatabase = \"{address}\"\npoll = \"{poll}\""));
    }

    /// Asks a question with the options `a` and `b`; its round.
    pub fn ask(&self, workflow: &str) -> String {
        self.world.ok("ask-post", &["-w", workflow, "Merge?", "-o", "a=A", "-o", "b=B"]);
        self.world.round(workflow)
    }

    /// One look of the process of the host.
    #[track_caller]
    pub fn sync(&self) -> String {
        let out = self.once(&[]);
        assert!(out.status.success(), "{}", out.words());
        out.stderr
    }

    pub fn once(&self, more: &[&str]) -> Outcome {
        self.world.run("askbox", &[&["sync", "run", "--once"], more].concat())
    }

    /// The process of the host.
    pub fn serve(&self) -> Running {
        self.serve_with(&[])
    }

    pub fn serve_with(&self, more: &[&str]) -> Running {
        let log = std::fs::File::options().create(true).append(true).open(self.log_file()).expect("a log");
        Running::start(self.world.command("askbox").args(["sync", "run"]).args(more).stdout(Stdio::null()).stderr(log))
    }

    fn log_file(&self) -> std::path::PathBuf {
        self.world.path("sync.log")
    }

    /// The log of the host's process.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    #[track_caller]
    pub fn says(&self, words: &str) {
        until(&format!("the host says `{words}`"), || self.log().contains(words));
    }
}

/// A database, the laptop, which is a host of it, and ann, who looks into it.
pub fn laptop() -> (Database, Host, Person) {
    let database = Database::new();
    let (host, ann) = (Host::new(&database, "laptop"), Person::new(&database, "ann"));
    (database, host, ann)
}

/// The same. The laptop has asked `docs`, and the database knows it.
pub fn asked() -> (Database, Host, Person) {
    let (database, host, ann) = laptop();
    host.ask("docs");
    host.sync();
    (database, host, ann)
}

/// A person with a connection of their own.
pub struct Person {
    pub client: Client,
    name: &'static str,
}

/// The outcome of an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub outcome: String,
    pub said: String,
}

impl Person {
    pub fn new(database: &Database, name: &'static str) -> Self {
        Self { client: database.connect(name), name }
    }

    /// The database's view of a round: its state, and its question's hash.
    pub fn sees(&mut self, host: &str, workflow: &str) -> Option<(String, String, String)> {
        let query = "SELECT question_id::text, question_hash::text, state FROM askbox.question WHERE host = $1 AND workflow_id = $2
            ORDER BY change DESC LIMIT 1";
        let row = self.client.query_opt(query, &[&host, &workflow]).expect("a look")?;
        Some((row.get(0), row.get(1), row.get(2)))
    }

    /// Waits until the person sees a round in this state.
    #[track_caller]
    pub fn sees_state(&mut self, host: &str, workflow: &str, state: &str) {
        until(&format!("{workflow} of {host} is {state}"), || self.sees(host, workflow).is_some_and(|(_, _, is)| is == state));
    }

    /// The offer of an answer to the question that the person sees, as the person's program would send it.
    #[track_caller]
    pub fn offer_for(&mut self, host: &str, workflow: &str, answer: &Value) -> Value {
        let (question, hash, _) = self.sees(host, workflow).expect("a question");
        json!({
            "offer_id": Uuid::now_v7(), "workflow_id": workflow, "question_id": question, "question_hash": hash,
            "answer": {"outcome": "answered", "value": answer, "by": self.name, "channel": "test"},
        })
    }

    /// Sends an offer. The same offer may be sent again.
    pub fn send(&mut self, host: &str, offer: &Value) -> Result<String, postgres::Error> {
        let text = |field: &str| offer[field].as_str().expect("a text").to_owned();
        self.client.execute(
            "INSERT INTO askbox.offer (offer_id, host, workflow_id, question_id, question_hash, doc)
                VALUES ($1::text::uuid, $2::text, $3, $4::text::uuid, $5::text::uuid, $6) ON CONFLICT DO NOTHING",
            &[&text("offer_id"), &host, &text("workflow_id"), &text("question_id"), &text("question_hash"), &offer.to_string()],
        )?;
        Ok(text("offer_id"))
    }

    /// Offers an answer to what the person sees.
    #[track_caller]
    pub fn offer(&mut self, host: &str, workflow: &str, answer: &str) -> String {
        let offer = self.offer_for(host, workflow, &answer.into());
        self.send(host, &offer).expect("the offer is taken")
    }

    /// The outcome of an offer, as the person is told it.
    pub fn told(&mut self, offer: &str) -> Option<Told> {
        let row = self.client.query_one("SELECT outcome, said FROM askbox.offer WHERE offer_id = $1::text::uuid", &[&offer]);
        let row = row.expect("the offer");
        Some(Told { outcome: row.get::<_, Option<String>>(0)?, said: row.get(1) })
    }

    /// Waits for the verdict.
    #[track_caller]
    pub fn hears(&mut self, offer: &str) -> Told {
        until("a verdict", || self.told(offer))
    }
}
