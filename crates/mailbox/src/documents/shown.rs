//! Divides a question into what people everywhere are shown and what its machine keeps to itself, and hashes what was shown.
//!
//! The hash of what was shown is the SHA-256 of two hashes, which a signature also covers: [`for_everybody`] and
//! [`for_its_machine`]. Another machine receives the second one only as a hash. The hash leaves out the fields that the transitions
//! write: the round's id (a file made by hand has none before its answer), the answers, and the end. It also leaves out the trace, which
//! decides nothing, and the session of Codex that is told of the answer.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::{Question, Result, Shown, document, text};

impl Shown {
    /// Returns the hash of this question.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::error::Error::Invalid) if the question cannot be written as JSON.
    pub fn of_question(question: &Question) -> Result<Self> {
        Self::with(question, &for_its_machine(question)?)
    }

    /// [`Self::of_question`] for a question of another machine. `for_its_machine` is the hash of the parts that the machine keeps to itself,
    /// as the machine told it.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::error::Error::Invalid) if the question cannot be written as JSON.
    pub fn with(question: &Question, for_its_machine: &str) -> Result<Self> {
        let both = document::to_json(&(for_everybody(question)?, for_its_machine))?;
        Ok(Self::of_hash(Sha256::digest(both).into()))
    }

    /// True if this is the hash of this question.
    pub fn is_of(self, question: &Question) -> bool {
        Self::of_question(question).is_ok_and(|now| now == self)
    }
}

/// The name of a field beside a question that is sent to another machine: the hash of what its own machine keeps to itself. People
/// on the other machine need it to sign an answer.
pub const OF_ITS_MACHINE: &str = "of_its_machine";

/// Returns the question without its answers, and without the parts that belong to its machine alone. These are the paths of its
/// session and its checkpoint, the proof of its run, its trace, and the parts that only its agent is told. A field that a later version adds
/// to this type is shown.
pub fn shown(question: &Question) -> Question {
    Question {
        checkpoint: None,
        session_id: None,
        continues_in: None,
        config_dir: None,
        asked_in: None,
        trace: None,
        reads: Vec::new(),
        tool_call: None,
        prompt: None,
        results: Vec::new(),
        answer: None,
        closed: None,
        late_answers: Vec::new(),
        ..question.clone()
    }
}

/// True if two questions ask for the same. A caller that repeats its call knows what it asks. It does not know when, where and for
/// whom the question was asked before, so these fields are not compared.
pub fn asks_the_same(one: &Question, other: &Question) -> bool {
    fn asked(q: &Question) -> impl PartialEq {
        let form = (&q.question, &q.kind, &q.options, &q.free_text, &q.range, &q.questions);
        (form, &q.context, &q.default, &q.until, &q.approval, &q.elicited_by, &q.attachments)
    }
    asked(one) == asked(other)
}

/// True if two questions look the same on every surface.
pub fn is_same(one: &Question, other: &Question) -> bool {
    Shown::of_question(one).is_ok_and(|shown| shown.is_of(other))
}

/// Returns the SHA-256 of the parts of the question that all people are shown, in hexadecimal digits.
///
/// # Errors
/// [`Error::Invalid`](crate::error::Error::Invalid) if the question cannot be written as JSON.
pub fn for_everybody(question: &Question) -> Result<String> {
    sha256(&Question { schema_version: None, question_id: None, taken_back: None, ..shown(question) })
}

/// Returns the SHA-256 of the parts that belong to the question's machine alone, in hexadecimal digits: those that [`shown`] leaves
/// out of the question itself.
///
/// # Errors
/// [`Error::Invalid`](crate::error::Error::Invalid) if the question cannot be written as JSON.
pub fn for_its_machine(question: &Question) -> Result<String> {
    let session = (&question.checkpoint, &question.session_id, &question.config_dir, &question.asked_in);
    sha256(&(session.0, session.1, session.2, session.3, &question.tool_call, &question.prompt, &question.reads, &question.results))
}

fn sha256(value: &impl Serialize) -> Result<String> {
    Ok(text::hex(&Sha256::digest(document::to_json(value)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_of(json: &str) -> Shown {
        Shown::of_question(&serde_json::from_str(json).unwrap()).unwrap()
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
            r#"{"workflow_id":"w","question":"Merge?","options":{"y":"Yes"},"context":"why","attachments":[{"name":"x","type":"text/plain","size":1,"sha256":"x"}]}"#,
        ] {
            assert_ne!(shown_of(other), one, "{other}");
        }
    }

    #[test]
    fn neither_the_trace_nor_the_moves_change_what_was_shown() {
        let id = "15c96f27-091a-5dc1-bcce-0d2e49721bc0";
        let written = format!(
            r#"{{"schema_version":1,"workflow_id":"w","question":"?","question_id":"{id}","answer":"yes","trace":{{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}},"closed":{{"state":"delivered","at":"2026-01-01T00:00:00Z","by":"x"}}}}"#
        );
        assert_eq!(shown_of(&written), shown_of(r#"{"workflow_id":"w","question":"?"}"#));
    }
}
