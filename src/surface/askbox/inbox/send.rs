//! Sends what a person decided: answers, declines, questions back; takes back.

use std::io::Write;
use std::path::PathBuf;

use crate::disk;
use crate::error::{Error, Result};
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::answerer::Answerer;
use crate::mailbox::round::Round;
use crate::mailbox::transitions::{accept, undo};
use crate::mailbox::{Answer, AnswerValue, Folder, Mailbox, read_question, round};
use crate::surface::ask_answer::{answering, question_text};
use crate::surface::program;

/// The channel that answers from here are recorded with.
pub(super) const CHANNEL: &str = "inbox";

/// Who decides, and where.
#[derive(Debug, Clone, Copy)]
pub struct Sender<'a> {
    pub mailbox: &'a Mailbox,
    pub person: &'a Answerer,
}

/// What a person decided.
#[derive(Debug, Clone)]
pub enum Decision {
    /// With this value.
    Answer(AnswerValue),
    /// Not to answer, for this reason, which may be empty.
    Decline(String),
    /// To ask the agent this first.
    AskBack(String),
}

/// An answer that counts.
#[derive(Debug)]
pub struct Sent {
    pub round: RoundId,
    /// What was accepted, in a few words.
    pub words: String,
    pub warning: Option<String>,
}

impl Sender<'_> {
    /// Sends a decision about the round that was shown, and about no other.
    pub fn send(self, shown: &RoundId, decision: Decision, note: &str) -> Result<Sent> {
        let note = Some(note.to_owned()).filter(|note| !note.trim().is_empty());
        let answer = match decision {
            Decision::Answer(value) => Answer { note, ..self.person.value(value) },
            Decision::Decline(why) => self.person.declined(Some(why).filter(|why| !why.trim().is_empty()).or(note)),
            Decision::AskBack(question) => self.person.asking_back(question),
        };
        let accepted = accept::answer(self.mailbox, &shown.workflow, Some(shown.question), answer, self.person)?;
        let words = match accepted.answer.value {
            Some(_) => answering::acknowledged(&accepted),
            None => accepted.answer.word().into(),
        };
        Ok(Sent { round: accepted.round, words, warning: accepted.warning })
    }

    /// Takes an answer back, as long as no run has claimed it.
    pub fn undo(self, round: &RoundId) -> Result<String> {
        undo::undo(self.mailbox, &round.workflow, Some(round.question), self.person.by()).map(|undone| undone.answer)
    }

    /// The question of a workflow as it waits now.
    pub fn pending(self, workflow: &WorkflowId) -> Result<Round> {
        let document = read_question::pending(self.mailbox, workflow)?;
        let id = round::of_pending(self.mailbox, &document.typed)?;
        Ok(Round { folder: Folder::Pending, id, document })
    }

    /// Whether a round still waits. `Err` says what became of it.
    pub fn still_waits(self, shown: &RoundId) -> std::result::Result<(), String> {
        match self.pending(&shown.workflow) {
            Ok(now) if now.id == *shown => Ok(()),
            Ok(_) => Err(format!("{} asks another question by now", shown.workflow)),
            Err(e) if e.is_missing_file() => Err(self.fate(&shown.workflow)),
            Err(e) => Err(program::message(&disk::explain_missing(e))),
        }
    }

    /// What became of a workflow's last question.
    pub fn fate(self, workflow: &WorkflowId) -> String {
        match answering::question(self.mailbox, workflow) {
            Ok(found) => {
                let who = found.document.typed.answer.as_ref().map_or(String::new(), |answer| format!(" ({})", answer.who()));
                format!("{workflow}: {}{who}", question_text::state(&found))
            }
            Err(e) => program::message(&e),
        }
    }
}

/// An error as one line.
pub fn in_one_line(error: Error) -> String {
    program::message(&disk::explain_missing(error))
}

/// Keeps a text that could not be sent in a file of its own, and returns its path.
pub fn keep(text: &str) -> Option<PathBuf> {
    let mut file = tempfile::Builder::new().prefix("answer-").suffix(".md").tempfile().ok()?;
    file.write_all(text.as_bytes()).ok()?;
    file.into_temp_path().keep().ok()
}
