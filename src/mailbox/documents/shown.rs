//! What of a question is for people everywhere, what belongs to its machine alone, and how what was shown is hashed.
//!
//! The hash of what was shown is the SHA-256 of two hashes, which a signature covers too: [`for_everybody`], and [`for_its_machine`], which another
//! machine is told as a hash. It leaves out what the transitions write: the round's id (a file made by hand has none before its answer), the answers,
//! and the end.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::document;
use crate::error::Result;
use crate::mailbox::documents::asked::Asked;
use crate::mailbox::documents::content::Content;
use crate::mailbox::documents::fields::shown_hash::Shown;
use crate::mailbox::documents::question::Question;
use crate::text;

impl Shown {
    /// The hash of this question.
    ///
    /// # Errors
    /// If the question cannot be written as JSON.
    pub fn of(question: &Question) -> Result<Self> {
        Self::with(question, &for_its_machine(question)?)
    }

    /// [`Self::of`] for a question of another machine, which has told the hash of what it keeps to itself.
    ///
    /// # Errors
    /// If the question cannot be written as JSON.
    pub fn with(question: &Question, for_its_machine: &str) -> Result<Self> {
        let both = document::to_json(&(for_everybody(question)?, for_its_machine))?;
        Ok(Self::of_hash(Sha256::digest(both).into()))
    }

    /// Whether this is the hash of this question.
    #[must_use]
    pub fn is_of(self, question: &Question) -> bool {
        Self::of(question).is_ok_and(|now| now == self)
    }
}

/// The field beside a question that people elsewhere are shown: the hash of what its machine keeps to itself, so that they can sign for it.
pub const OF_ITS_MACHINE: &str = "of_its_machine";

/// The question without its answers, and without what belongs to its machine alone: the paths of its session and its checkpoint, the proof of
/// its run, and what only its agent is told. A field of a later version of this type is shown.
#[must_use]
pub fn shown(question: &Question) -> Question {
    Question {
        checkpoint: None,
        session_id: None,
        config_dir: None,
        asked_in: None,
        reads: Vec::new(),
        asked: Asked { tool_call: None, ..question.asked.clone() },
        unanswered: Content::Question,
        answer: None,
        closed: None,
        late_answers: Vec::new(),
        ..question.clone()
    }
}

/// Whether two questions ask for the same: whoever made a call again knows what it asks, and not when, where and by whom it was asked before.
#[must_use]
pub fn asks_the_same(one: &Question, other: &Question) -> bool {
    let asked = |q: &Question| {
        let (kind, options, free_text, range, questions) =
            (q.asked.kind, q.asked.options.clone(), q.asked.free_text, q.asked.range.clone(), q.asked.questions.clone());
        let (context, default, until) = (q.asked.context.clone(), q.asked.default.clone(), q.asked.until.clone());
        let (approval, elicited_by) = (q.asked.approval.clone(), q.asked.elicited_by.clone());
        Asked { kind, options, free_text, range, questions, context, default, until, approval, elicited_by, ..Asked::default() }
    };
    one.question == other.question && asked(one) == asked(other)
}

/// Whether two questions look the same on every surface.
#[must_use]
pub fn is_same(one: &Question, other: &Question) -> bool {
    Shown::of(one).is_ok_and(|shown| shown.is_of(other))
}

/// The SHA-256 of what people everywhere are shown of the question, in hexadecimal digits.
///
/// # Errors
/// If the question cannot be written as JSON.
pub fn for_everybody(question: &Question) -> Result<String> {
    sha256(&Question { schema_version: None, question_id: None, taken_back: None, ..shown(question) })
}

/// The SHA-256 of what belongs to the question's machine alone: what [`shown`] leaves out of the question itself.
///
/// # Errors
/// If the question cannot be written as JSON.
pub fn for_its_machine(question: &Question) -> Result<String> {
    let (call, (prompt, results)) = (&question.asked.tool_call, question.unanswered.spelled());
    let is_told = (prompt, &question.reads, results);
    sha256(&(&question.checkpoint, &question.session_id, &question.config_dir, &question.asked_in, call, is_told.0, is_told.1, is_told.2))
}

fn sha256(value: &impl Serialize) -> Result<String> {
    Ok(text::hex(&Sha256::digest(document::to_json(value)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_of(json: &str) -> Shown {
        Shown::of(&serde_json::from_str(json).unwrap()).unwrap()
    }

    #[test]
    fn whatever_a_surface_shows_changes_what_was_shown() {
        let one = shown_of(r#"{"workflow_id":"w","question":"Merge?","options":{"y":"Yes"},"context":"why"}"#);
        for other in [
            r#"{"workflow_id":"v","question":"Merge?","options":{"y":"Yes"},"context":"why"}"#,
            r#"{"workflow_id":"w","question":"Drop?","options":{"y":"Yes"},"context":"why"}"#,
            r#"{"workflow_id":"w","question":"Merge?","options":{"y":"No"},"context":"why"}"#,
            r#"{"workflow_id":"w","question":"Merge?","options":[{"label":"y","description":"Yes","preview":"p"}],"context":"why"}"#,
            r#"{"workflow_id":"w","question":"Merge?","options":{"y":"Yes"},"context":"else"}"#,
            r#"{"workflow_id":"w","question":"Merge?","options":{"y":"Yes"},"context":"why","asked_by":"x"}"#,
            r#"{"workflow_id":"w","question":"Merge?","options":{"y":"Yes"},"context":"why","cwd":"/x"}"#,
            r#"{"workflow_id":"w","question":"Merge?","options":{"y":"Yes"},"context":"why","checkpoint":"/x"}"#,
            r#"{"workflow_id":"w","question":"Merge?","options":{"y":"Yes"},"context":"why","expires_at":"2026-01-01T00:00:00Z"}"#,
            r#"{"workflow_id":"w","question":"Merge?","options":{"y":"Yes"},"context":"why","approval":{"tool":"Bash","sha256":"x"}}"#,
        ] {
            assert_ne!(shown_of(other), one, "{other}");
        }
    }

    #[test]
    fn what_the_transitions_write_does_not_change_what_was_shown() {
        let id = "15c96f27-091a-5dc1-bcce-0d2e49721bc0";
        let written = format!(
            r#"{{"schema_version":1,"workflow_id":"w","question":"?","question_id":"{id}","answer":"yes","closed":{{"state":"delivered","at":"2026-01-01T00:00:00Z","by":"x"}}}}"#
        );
        assert_eq!(shown_of(&written), shown_of(r#"{"workflow_id":"w","question":"?"}"#));
    }
}
