//! The statements of a host. Each write demands the host's token, so a host that was fenced changes nothing.
//!
//! A round as the database has it: everything that a person needs to answer it, and its end. Paths of sessions and checkpoints, proofs
//! of runs and long answers stay on the machine.

use postgres::{Client, Row as Found, Statement, Transaction};
use serde_json::json;
use uuid::Uuid;

use crate::sync::connection::Database;
use askbox_mailbox::documents::shown;
use askbox_mailbox::{
    Answer, AnswerValue, Error, Folder, Question, QuestionId, Result, RoundId, Verdict, WorkflowId, document, text, time,
};

/// The channel that the hubs listen to.
pub const CHANNEL: &str = "askbox";
/// The most offers that are read at once.
const OFFERS: i64 = 64;
/// The longest offer that comes with the list of offers. A longer one is read alone.
const SHORT: i32 = 64 << 10;
/// The most rows that are written with one statement, and about the most bytes.
const ROWS: usize = 500;
const BYTES: usize = 8 << 20;

/// The reason why a statement had no effect.
#[derive(Debug, derive_more::From)]
pub enum Failure {
    /// Another mailbox is the host.
    Fenced,
    /// The database or the disk failed, or refused.
    #[from]
    Failed(Error),
}

/// An offer as it lies in the database.
pub struct StoredOffer {
    /// Its id.
    pub offer_id: Uuid,
    /// The role that sent it.
    pub sent_by: String,
    /// The offer in JSON; `None` if it is long.
    pub doc: Option<String>,
}

/// The token of the mailbox that is this host.
///
/// # Errors
/// If the database fails.
pub fn token(database: &Database, client: &mut Client) -> Result<Option<Uuid>> {
    let row = client.query_opt("SELECT token::text FROM askbox.host WHERE host = current_user", &[]);
    let token: Option<String> =
        row.and_then(|row| row.map(|row| row.try_get(0)).transpose()).map_err(|e| database.failed("does not say who this host is", &e))?;
    Ok(token.and_then(|token| token.parse().ok()))
}

/// Replaces the token, if it is still `known`. Returns the number of the epoch.
///
/// # Errors
/// If the database fails.
pub fn begin_epoch(database: &Database, client: &mut Client, known: Option<Uuid>, new: Uuid) -> Result<Option<i64>> {
    let (new, program, clock) = (new.to_string(), env!("CARGO_PKG_VERSION"), time::now().timestamp_millis());
    let begun = match known {
        None => client.query_opt(
            "INSERT INTO askbox.host (token, program, clock_ms)
                VALUES ($1::text::uuid, $2, $3::bigint - (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
                ON CONFLICT DO NOTHING RETURNING epoch",
            &[&new, &program, &clock],
        ),
        Some(known) => client.query_opt(
            "UPDATE askbox.host SET token = $1::text::uuid, epoch = epoch + 1, program = $2, seen_at = now(),
                clock_ms = $3::bigint - (extract(epoch FROM clock_timestamp()) * 1000)::bigint
                WHERE host = current_user AND token = $4::text::uuid RETURNING epoch",
            &[&new, &program, &clock, &known.to_string()],
        ),
    };
    begun.and_then(|row| row.map(|row| row.try_get(0)).transpose()).map_err(|e| database.failed("made this no host", &e))
}

/// The rounds that the database believes to be open here, with their turns.
///
/// # Errors
/// If the database fails.
pub fn believed(database: &Database, client: &mut Client) -> Result<Vec<(RoundId, i64)>> {
    let failed = |e: &postgres::Error| database.failed("does not say what is open", e);
    let query = "SELECT workflow_id, question_id::text, turn FROM askbox.question WHERE host = current_user AND rank < 2";
    let read = |row: &Found| -> Result<Option<(RoundId, i64)>, postgres::Error> {
        let (workflow, question): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let round = workflow.parse::<WorkflowId>().ok().zip(question.parse::<QuestionId>().ok());
        Ok(round.map(|(workflow, question)| RoundId { workflow, question }).zip(Some(row.try_get(2)?)))
    };
    let rows = client.query(query, &[]).map_err(|e| failed(&e))?;
    rows.iter().filter_map(|row| read(row).transpose()).collect::<Result<_, _>>().map_err(|e| failed(&e))
}

/// The statement that reads the offers for this host. A host uses it all day, so it is prepared once for each connection.
///
/// # Errors
/// If the database fails.
pub fn prepare_offers(database: &Database, client: &mut Client) -> Result<Statement> {
    let statement = client.prepare(
        "SELECT h.token = $1::text::uuid, o.offer_id::text, o.sent_by::text, CASE WHEN octet_length(o.doc) <= $2 THEN o.doc END
            FROM askbox.host h LEFT JOIN LATERAL (
                SELECT * FROM askbox.offer WHERE host = current_user AND outcome IS NULL ORDER BY seq LIMIT $3
            ) o ON true WHERE h.host = current_user ORDER BY o.seq",
    );
    statement.map_err(|e| database.failed("does not tell offers", &e))
}

/// The offers for this host that wait, the oldest first.
///
/// # Errors
/// [`Failure::Fenced`] if another mailbox is the host.
pub fn offers(database: &Database, client: &mut Client, statement: &Statement, token: Uuid) -> Result<Vec<StoredOffer>, Failure> {
    let failed = |e: &postgres::Error| Failure::Failed(database.failed("does not tell offers", e));
    let rows = client.query(statement, &[&token.to_string(), &SHORT, &OFFERS]);
    let rows = rows.map_err(|e| failed(&e))?;
    let is_host = rows.first().map(|row| row.try_get(0)).transpose().map_err(|e| failed(&e))?;
    if is_host != Some(true) {
        return Err(Failure::Fenced);
    }
    let read = |row: &Found| -> Result<Option<StoredOffer>, postgres::Error> {
        let id: Option<String> = row.try_get(1)?;
        let Some(offer_id) = id.and_then(|id| id.parse().ok()) else { return Ok(None) };
        Ok(Some(StoredOffer { offer_id, sent_by: row.try_get(2)?, doc: row.try_get(3)? }))
    };
    rows.iter().filter_map(|row| read(row).transpose()).collect::<Result<_, _>>().map_err(|e| failed(&e))
}

/// One offer in JSON.
///
/// # Errors
/// If the database fails.
pub fn doc(database: &Database, client: &mut Client, offer: Uuid) -> Result<String> {
    let row = client.query_one("SELECT doc FROM askbox.offer WHERE offer_id = $1::text::uuid", &[&offer.to_string()]);
    row.and_then(|row| row.try_get(0)).map_err(|e| database.failed("does not tell an offer", &e))
}

/// Writes rounds and verdicts in one transaction, with the host's sign of life and whether it replies about `sessions`, and rings for the hubs. Returns how far this machine's
/// clock is ahead, in milliseconds.
///
/// # Errors
/// [`Failure::Fenced`] if another mailbox is the host. Then nothing was written.
pub fn write(
    database: &Database,
    client: &mut Client,
    token: Uuid,
    sessions: bool,
    rows: &[Row],
    verdicts: &[Verdict],
) -> Result<i64, Failure> {
    let failed = |e: &postgres::Error| Failure::Failed(database.failed("took nothing", e));
    let mut work = client.transaction().map_err(|e| failed(&e))?;
    let there = work.query_opt(
        "UPDATE askbox.host SET seen_at = now(), sessions = $3, clock_ms = $2::bigint - (extract(epoch FROM clock_timestamp()) * 1000)::bigint
            WHERE host = current_user AND token = $1::text::uuid RETURNING clock_ms",
        &[&token.to_string(), &time::now().timestamp_millis(), &sessions],
    );
    let Some(there) = there.map_err(|e| failed(&e))? else { return Err(Failure::Fenced) };
    let clock_ms = there.try_get(0).map_err(|e| failed(&e))?;
    let mut rest = rows;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fit = rest.iter().take(ROWS).take_while(|row| {
            bytes += row.doc.len();
            bytes <= BYTES
        });
        let (now, later) = rest.split_at(fit.count().max(1));
        upsert(&mut work, now).map_err(|e| failed(&e))?;
        rest = later;
    }
    for verdict in verdicts {
        decide(&mut work, verdict).map_err(|e| failed(&e))?;
    }
    if !rows.is_empty() || !verdicts.is_empty() {
        work.execute("SELECT pg_notify($1, '')", &[&CHANNEL]).map_err(|e| failed(&e))?;
    }
    work.commit().map_err(|e| failed(&e))?;
    Ok(clock_ms)
}

/// Writes rows as they are now: the mailbox of the host is right, whatever the database knew. A row that says the same changes nothing.
///
/// No late statement undoes this. The statements of a connection come one after the other, and the token of an earlier connection has
/// no effect any more.
fn upsert(work: &mut Transaction<'_>, rows: &[Row]) -> Result<(), postgres::Error> {
    let workflows: Vec<&str> = rows.iter().map(|row| row.round.workflow.as_str()).collect();
    let questions: Vec<String> = rows.iter().map(|row| row.round.question.to_string()).collect();
    let turns: Vec<i64> = rows.iter().map(|row| row.turn).collect();
    let ranks: Vec<i16> = rows.iter().map(|row| row.rank).collect();
    let states: Vec<&str> = rows.iter().map(|row| row.state).collect();
    let hashes: Vec<String> = rows.iter().map(|row| row.hash.to_string()).collect();
    let docs: Vec<&str> = rows.iter().map(|row| row.doc.as_str()).collect();
    let endings: Vec<Option<&str>> = rows.iter().map(|row| row.ending.as_deref()).collect();
    work.execute(
        "INSERT INTO askbox.question AS known (workflow_id, question_id, turn, rank, state, question_hash, doc, ending, change)
            SELECT w, q::uuid, t, r, s, h::uuid, d, e, nextval('askbox.change')
                FROM unnest($1::text[], $2::text[], $3::bigint[], $4::smallint[], $5::text[], $6::text[], $7::text[], $8::text[])
                AS new (w, q, t, r, s, h, d, e)
            ON CONFLICT (host, question_id) DO UPDATE SET turn = excluded.turn, rank = excluded.rank, state = excluded.state,
                question_hash = CASE WHEN excluded.doc = '' THEN known.question_hash ELSE excluded.question_hash END,
                doc = CASE WHEN excluded.doc = '' THEN known.doc ELSE excluded.doc END,
                ending = CASE WHEN excluded.doc = '' THEN known.ending ELSE excluded.ending END,
                change = excluded.change, changed_at = now()
            WHERE known.workflow_id = excluded.workflow_id AND (excluded.turn, excluded.rank, excluded.state, excluded.doc, excluded.ending)
                IS DISTINCT FROM (known.turn, known.rank, known.state, known.doc, known.ending)",
        &[&workflows, &questions, &turns, &ranks, &states, &hashes, &docs, &endings],
    )?;
    Ok(())
}

/// Writes a verdict, unless there is one already.
fn decide(work: &mut Transaction<'_>, verdict: &Verdict) -> Result<(), postgres::Error> {
    let outcome = serde_json::to_value(verdict.decided).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default();
    let hint = verdict.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    let said = text::excerpt(&format!("{}{hint}", verdict.said), 1000);
    work.execute(
        "UPDATE askbox.offer SET outcome = $2, said = $3, decided_at = now() WHERE offer_id = $1::text::uuid AND outcome IS NULL",
        &[&verdict.offer_id.to_string(), &outcome, &said],
    )?;
    Ok(())
}

/// The longest answer and note that people on other machines are shown, in bytes.
const LONGEST: usize = 4 << 10;

/// A round's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The round.
    pub round: RoundId,
    /// The turn of the round: when an answer was last taken back, in milliseconds, or 0.
    pub turn: i64,
    /// 0 pending, 1 answered, 2 over.
    pub rank: i16,
    /// The word for people.
    pub state: &'static str,
    /// The hash of the question.
    pub hash: Uuid,
    /// The question in JSON; empty if it is no longer known.
    pub doc: String,
    /// The person who answered, and the end of the round, in JSON.
    pub ending: Option<String>,
}

impl Row {
    /// The row of a round that lies in `folder`.
    ///
    /// # Errors
    /// If the question cannot be written as JSON.
    pub fn new(round: RoundId, folder: Folder, question: &Question) -> Result<Self> {
        let rank = match folder {
            Folder::Pending => 0,
            Folder::Answered | Folder::Running | Folder::Parked => 1,
            _ => 2,
        };
        let state = question.closed.as_ref().filter(|_| rank == 2).map_or(folder.name(), |closing| closing.state.word());
        let turn = question.taken_back.as_ref().map_or(0, |back| back.at.timestamp_millis());
        Ok(Self { turn, rank, state, hash: question.hash()?, doc: shown(&round, question)?, ending: ending(question)?, round })
    }

    /// The row for a round that is over and has left nothing here.
    pub fn gone(round: RoundId, turn: i64) -> Self {
        Self { round, turn, rank: 2, state: "gone", hash: Uuid::nil(), doc: String::new(), ending: None }
    }
}

/// The part of a question that people on other machines get.
#[derive(serde::Serialize)]
struct ShownInList {
    #[serde(flatten)]
    shown: Question,
    /// See [`shown::OF_ITS_MACHINE`].
    of_its_machine: String,
}

/// The question without what belongs to this machine alone.
fn shown(round: &RoundId, question: &Question) -> Result<String> {
    let shown = Question { question_id: Some(round.question), ..shown::shown(question) };
    in_text(&ShownInList { shown, of_its_machine: shown::for_its_machine(question)? })
}

fn ending(question: &Question) -> Result<Option<String>> {
    if question.answer.is_none() && question.closed.is_none() {
        return Ok(None);
    }
    let closed = question.closed.as_ref().map(|closed| {
        let why = closed.why.as_deref().map(|why| text::beginning(why, 500));
        json!({"state": closed.state, "at": closed.at, "by": text::beginning(&closed.by, 200), "why": why})
    });
    let answer = question.answer.as_ref().map(told);
    in_text(&json!({"answer": answer, "closed": closed, "late_answers": question.late_answers.len()})).map(Some)
}

/// An answer as other people are shown it. A long one is left out.
fn told(answer: &Answer) -> serde_json::Value {
    let value = answer.value.as_ref().filter(|value| value.to_text().len() <= LONGEST).map(AnswerValue::to_json);
    let note = answer.note.as_deref().filter(|note| note.len() <= LONGEST);
    let (by, channel) = (text::beginning(&answer.by, 200), text::beginning(&answer.channel, 200));
    json!({
        "outcome": answer.outcome, "value": value, "by": by, "channel": channel, "at": answer.at, "note": note,
        "asks_back": answer.asks_back, "offer_id": answer.offer_id,
    })
}

fn in_text(value: &impl serde::Serialize) -> Result<String> {
    document::to_json(value).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
