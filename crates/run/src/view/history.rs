//! A round that was answered or is over, with everything that is known about it: one JSON object, as `askbox history --json` prints it.
//!
//! The rounds of the mailbox and of the archive together, the newest first.
//!
//! While a round is archived, it is in both places for a moment: first in the mailbox, then in both, then in the archive. It is shown once.

use std::iter::Peekable;
use std::path::Path;

use serde::Serialize;
use uuid::Uuid;

use crate::archive::{ArchivedRound, NewestArchived};
use crate::attempt::record::{self, Claimant};
use crate::delivery::Delivery;
use crate::story::{self, Story, Teller};
use crate::view::archived::Archived;
use askbox_mailbox::overview::past_rounds::{self, PastRound};
use askbox_mailbox::{Answer, Closing, Content, Error, Mailbox, Question, QuestionId, Result, Round, RoundId, Time, WorkflowId, round};

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
#[derive(Debug, Clone, Default, Serialize, schemars::JsonSchema)]
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
        ..HistoryEntry::default()
    }
}

/// The path below the mailbox, such as `closed/W.Q.json`.
fn below(mailbox: &Mailbox, path: &Path) -> String {
    path.strip_prefix(mailbox.root()).unwrap_or(path).display().to_string()
}

/// The rounds that were answered or are over, the newest first.
#[derive(derive_more::Debug)]
#[debug("AllHistory")]
pub struct AllHistory<'a> {
    teller: &'a Teller<'a>,
    here: Peekable<Box<dyn Iterator<Item = Result<PastRound>> + 'a>>,
    archived: NewestArchived,
    /// The round that was returned last, if it is over.
    last: Option<ArchivedRound>,
}

impl<'a> AllHistory<'a> {
    /// The rounds of one workflow, or of all, that changed at or after `since`. `wanted` is about how many the caller will use.
    ///
    /// # Errors
    /// If the folder of the archives cannot be read.
    pub fn find(teller: &'a Teller<'a>, workflow: Option<&'a WorkflowId>, since: Option<Time>, wanted: Option<usize>) -> Result<Self> {
        let mailbox = teller.mailbox();
        let here: Box<dyn Iterator<Item = Result<PastRound>> + 'a> = Box::new(past_rounds::newest_first(mailbox, workflow, since, wanted));
        let archived = NewestArchived::find(mailbox, workflow, since, wanted)?;
        Ok(Self { teller, here: here.peekable(), archived, last: None })
    }

    /// The next round of the archive, if it is newer than the next one of the mailbox.
    fn archived_first(&mut self) -> Option<Result<ArchivedRound>> {
        // The mailbox is listed first. So a round that is archived in between is found at least once.
        let here = self.here.peek().map(Result::as_ref).transpose().ok()?;
        let first = self.archived.peek(here.map(|here| here.changed))?.as_ref();
        let is_first =
            first.map_or(true, |archived| here.is_none_or(|here| key(archived.closed, &archived.id()) > key(here.changed, &here.id())));
        is_first.then(|| self.archived.next())?
    }

    /// The entry of an archived round. `None` if the round still lies in the mailbox, or was returned from there just now.
    fn of_archived(&mut self, found: &ArchivedRound) -> Result<Option<HistoryEntry>> {
        let id = found.id();
        let here = round::in_closed(self.teller.mailbox(), &id).and_then(|here| here.document.typed.closed);
        let is_here = here.is_some_and(|closed| ArchivedRound::new(&id, closed.at) == *found);
        if is_here || self.last.as_ref() == Some(found) {
            return Ok(None);
        }
        let round = Archived::read(self.teller.mailbox(), found)?;
        self.last = Some(found.clone());
        archived_entry(self.teller, round).map(Some)
    }
}

fn key(changed: Time, id: &RoundId) -> (Time, QuestionId, &str) {
    (changed, id.question, id.workflow.as_str())
}

impl Iterator for AllHistory<'_> {
    type Item = Result<HistoryEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let entry = match self.archived_first() {
                Some(found) => found.and_then(|found| self.of_archived(&found)),
                None => self.here.next()?.and_then(|found| {
                    let entry = entry(self.teller, &found)?;
                    if let Some(entry) = &entry {
                        self.last = entry.closed.as_ref().map(|closed| ArchivedRound::new(&found.id(), closed.at));
                    }
                    Ok(entry)
                }),
            };
            match entry {
                Ok(Some(entry)) => return Some(Ok(entry)),
                // The round is gone, or was returned already.
                Ok(None) => {}
                Err(e) => return Some(Err(e)),
            }
        }
    }
}
