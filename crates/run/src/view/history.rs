//! A round that was answered or is over, with everything that is known about it: one JSON object, as `askbox history --json` prints it.

use std::path::Path;

use serde::Serialize;
use uuid::Uuid;

use crate::attempt::record::{self, Claimant};
use crate::delivery::Delivery;
use crate::story::{self, Story, Teller};
use crate::view::archived::Archived;
use askbox_mailbox::overview::past_rounds::PastRound;
use askbox_mailbox::{Answer, Closing, Content, Error, Mailbox, Question, Result, Round, RoundId, Time};

/// What a round began with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// A question for a person.
    Question,
    /// A task of `relaunch run` or `relaunch spawn`.
    Task,
    /// News: how the workflows ended that this one waited for.
    Results,
}

/// One question of a batch.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct AskedPart {
    /// The id of its answer in the answer's value.
    pub id: String,
    /// The text.
    pub question: String,
}

/// An answer, and the name that the audit trail has for it.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct GivenAnswer {
    /// The answer, as its document has it.
    #[serde(flatten)]
    pub answer: Answer,
    /// Its hash, as in `audit.jsonl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_hash: Option<Uuid>,
}

/// A round that was answered or is over.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct HistoryEntry {
    /// The status of this round, as `relaunch status --json` has it for a workflow's newest round. `question` is the whole text.
    #[serde(flatten)]
    pub status: Story,
    /// The file with the round's document, below the mailbox. For an archived round it is the archive of its month.
    pub file: String,
    /// What the round began with; missing if its document cannot be read.
    pub about: Option<About>,
    /// When it was asked.
    pub asked_at: Option<Time>,
    /// The prompt of a task.
    pub prompt: Option<String>,
    /// The questions of a batch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<AskedPart>,
    /// The hash of the question, as in `audit.jsonl`.
    pub question_hash: Option<Uuid>,
    /// The answer, or that it was declined.
    pub answer: Option<GivenAnswer>,
    /// Answers that came too late.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late_answers: Vec<GivenAnswer>,
    /// Who took the answer: a supervisor for an agent, the asker itself, or a main agent.
    pub claimant: Option<Claimant>,
    /// The process or agent that went on with the answer. JSON has `claimant` instead.
    #[serde(skip)]
    #[serialize_always]
    pub delivery: Option<Delivery>,
    /// How the round ended, once it has.
    pub closed: Option<Closing>,
}

/// Everything that is known about a round. `None` if the round is gone. A document that cannot be read is an entry with the state
/// `unreadable`; a record of its runs that cannot be read is named in `why`.
///
/// # Errors
/// Only an error of the system that leaves nothing to say about the round.
pub fn entry(teller: &Teller<'_>, found: &PastRound) -> Result<Option<HistoryEntry>> {
    let mailbox = teller.mailbox();
    let entry = found.read(mailbox).map(|round| round.map(|round| entry_of_round(teller, round)));
    match entry {
        Err(e @ (Error::Invalid { .. } | Error::Newer { .. } | Error::Io { .. })) => {
            Ok(Some(unreadable(&found.id(), below(mailbox, &found.path(mailbox)), &e)))
        }
        other => other,
    }
}

/// Everything that is known about an archived round. A document that cannot be read is an entry with the state `unreadable`.
///
/// # Errors
/// Only an error of the system that leaves nothing to say about the round.
pub fn archived_entry(teller: &Teller<'_>, round: Archived) -> Result<HistoryEntry> {
    let (id, file) = (round.id, below(teller.mailbox(), &round.archive));
    match round.document {
        Ok(document) => {
            let question: Question = document.typed;
            let status = teller.of_archived(&id, &question, &round.attempts)?;
            let delivery = round.attempts.last().map(|run| Delivery::of_claimed(&question, run));
            Ok(entry_of_question(question, status, delivery, file))
        }
        Err(e) => Ok(unreadable(&id, file, &e)),
    }
}

fn entry_of_round(teller: &Teller<'_>, round: Round) -> HistoryEntry {
    let mailbox = teller.mailbox();
    let file = below(mailbox, &round.path(mailbox));
    let Round { folder, id, document } = round;
    let question: Question = document.typed;
    let run = record::latest(mailbox, &id).ok().flatten();
    let delivery = run.map(|run| Delivery::of_claimed(&question, &run));
    // Even if the record of the run is damaged, the person's answer is shown.
    let status = teller.of_round_or_why(folder, &id, &question);
    entry_of_question(question, status, delivery, file)
}

fn entry_of_question(question: Question, status: Story, delivery: Option<Delivery>, file: String) -> HistoryEntry {
    let hash = question.hash().ok();
    let given = |answer: Answer| GivenAnswer { answer_hash: hash.and_then(|of| answer.hash(&of).ok()), answer };
    let (about, prompt) = match question.content() {
        Content::Question => (About::Question, None),
        Content::Task(prompt) => (About::Task, Some(prompt.to_owned())),
        Content::Results(_) => (About::Results, None),
    };
    let parts = if question.is_batch() { question.parts() } else { Vec::new() };
    HistoryEntry {
        status: Story { question: question.title(), ..status },
        file,
        about: Some(about),
        asked_at: question.asked_at(),
        prompt,
        questions: parts.into_iter().enumerate().map(|(n, p)| AskedPart { id: p.key(n), question: p.question }).collect(),
        question_hash: hash,
        answer: question.answer.map(given),
        late_answers: question.late_answers.into_iter().map(given).collect(),
        claimant: delivery.map(Delivery::claimant),
        delivery,
        closed: question.closed,
    }
}

fn unreadable(id: &RoundId, file: String, error: &Error) -> HistoryEntry {
    HistoryEntry {
        status: Story { question_id: Some(id.question), ..story::unreadable(&id.workflow, error) },
        file,
        about: None,
        asked_at: None,
        prompt: None,
        questions: Vec::new(),
        question_hash: None,
        answer: None,
        late_answers: Vec::new(),
        claimant: None,
        delivery: None,
        closed: None,
    }
}

/// The path below the mailbox, such as `closed/W.Q.json`.
fn below(mailbox: &Mailbox, path: &Path) -> String {
    path.strip_prefix(mailbox.root()).unwrap_or(path).display().to_string()
}
