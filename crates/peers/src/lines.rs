//! The protocol between the programs of two machines: one JSON object a line, with its kind in `line`. `docs/dev/engine.md` describes it.
//! It only grows: a reader skips kinds and fields that it does not know.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::peer::{Problem, Unanswered};
use askbox_mailbox::document::{self, SCHEMA_VERSION};
use askbox_mailbox::documents::question::MAX_PENDING;
use askbox_mailbox::{HostName, QuestionId, Result, Verdict, WorkflowId, text};
use askbox_sessions::Reply;

/// The version of the protocol. A reader refuses any other version.
pub const PROTOCOL: u32 = 1;

/// The longest line, in bytes. A question fits with every control character escaped, and with the fields around it.
pub const MAX_LINE: usize = 2 * MAX_PENDING as usize;

/// How often a machine that has no news sends a sign of life, in seconds.
pub const ALIVE_EVERY: u64 = 10;

/// One line, as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// The first line of each answer of a machine.
    Hello {
        /// The version of these lines.
        protocol: u32,
        /// The version of the documents.
        schema_version: u32,
        /// The version of askbox.
        version: String,
        /// The path of a mailbox that was named and is missing.
        #[serde(skip_serializing_if = "Option::is_none")]
        no_mailbox: Option<String>,
    },
    /// A question waits, or has changed.
    #[serde(skip_deserializing)]
    Question(WaitingLine),
    /// A question that cannot be read.
    Unreadable {
        /// The workflow.
        workflow_id: WorkflowId,
        /// Why.
        error: String,
    },
    /// A question no longer waits.
    Gone {
        /// The workflow.
        workflow_id: WorkflowId,
        /// The round; missing for a file that could not be read.
        #[serde(skip_serializing_if = "Option::is_none")]
        question_id: Option<QuestionId>,
        /// The end of the question, in words.
        fate: String,
        /// The offer that was accepted for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        offer_id: Option<Uuid>,
    },
    /// The list of waiting questions is complete.
    Listed,
    /// Nothing has changed.
    Alive,
    /// The verdict about an offer.
    Verdict {
        /// The verdict.
        verdict: Verdict,
    },
    /// The reply to a request about sessions.
    Reply {
        /// The reply, a [`Reply`].
        reply: Value,
    },
    /// Nothing was decided, or done.
    Failed {
        /// What is wrong.
        error: String,
        /// What to do about it.
        hint: String,
    },
    /// A line of a newer version.
    #[serde(other)]
    Unknown,
}

/// A question that waits.
#[derive(Debug, Serialize, Deserialize)]
pub struct WaitingLine {
    /// The workflow.
    pub workflow_id: WorkflowId,
    /// The round.
    pub question_id: QuestionId,
    /// The document as it lies in `pending/`.
    pub document: Box<RawValue>,
}

impl Line {
    /// The first line of this program. `no_mailbox` is a path that was named, and has no mailbox.
    pub fn hello(no_mailbox: Option<String>) -> Self {
        Self::Hello { protocol: PROTOCOL, schema_version: SCHEMA_VERSION, version: env!("CARGO_PKG_VERSION").into(), no_mailbox }
    }

    /// Reads a line of another machine.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Kind {
            line: String,
        }
        // An enum whose kind stands in a field would not keep the document as it was written, so this kind is read by itself.
        if document::json::<Kind>(bytes)?.line != "question" { document::json(bytes) } else { document::json(bytes).map(Self::Question) }
    }

    /// The line as JSON, without its end.
    ///
    /// # Errors
    /// If it cannot be put into JSON.
    pub fn to_json(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&document::to_json(self)?).trim_end().to_owned())
    }
}

/// Checks the first line; returns the version of the machine's askbox.
pub fn greeted(protocol: u32, version: &str, host: &str) -> Result<String, Problem> {
    let version = text::excerpt(version, 40);
    if protocol == PROTOCOL {
        return Ok(version);
    }
    let own = env!("CARGO_PKG_VERSION");
    let which = if protocol > PROTOCOL { "here" } else { "there" };
    Err(Problem::lasting(
        format!("askbox {version} on {host} speaks version {protocol} between machines, askbox {own} here speaks {PROTOCOL}"),
        format!("update askbox {which}"),
    ))
}

/// Reads a reply about sessions.
///
/// # Errors
/// If it is of another version.
pub(crate) fn read_reply(host: &HostName, reply: Value) -> Result<Reply, Unanswered> {
    let other = || Problem::lasting(format!("{host} replies what askbox here does not know"), "update askbox there and here");
    Reply::from_elsewhere(reply).ok_or_else(|| Unanswered::unknown(other()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_reads_back_the_same_and_a_newer_one_is_skipped() {
        let document = RawValue::from_string(r#"{"question":"Which?","new":[1]}"#.into()).unwrap();
        let (workflow_id, question_id) = ("w".parse::<WorkflowId>().unwrap(), QuestionId::from_uuid(Uuid::nil()));
        let verdict = Verdict {
            offer_id: Uuid::nil(),
            decided: askbox_mailbox::documents::offer::Decided::Lost,
            said: "bob".into(),
            hint: None,
            warning: None,
        };
        for line in [
            Line::hello(None),
            Line::hello(Some("/srv/m".into())),
            Line::Question(WaitingLine { workflow_id: workflow_id.clone(), question_id, document }),
            Line::Unreadable { workflow_id: workflow_id.clone(), error: "torn".into() },
            Line::Gone { workflow_id, question_id: Some(question_id), fate: "answered".into(), offer_id: None },
            Line::Listed,
            Line::Alive,
            Line::Verdict { verdict },
            Line::Reply { reply: serde_json::json!({"done": null}) },
            Line::Failed { error: "full".into(), hint: "free".into() },
        ] {
            let before = format!("{line:?}");
            let json = line.to_json().unwrap();
            assert!(!json.contains('\n'), "{json}");
            assert_eq!(format!("{:?}", Line::read(json.as_bytes()).unwrap()), before);
        }
        assert!(matches!(Line::read(br#"{"line":"mood","question_id":"00000000-0000-0000-0000-000000000000"}"#), Some(Line::Unknown)));
        for wrong in ["", "{}", "[]", r#"{"line":"question","workflow_id":"../x"}"#, r#"{"line":"gone"}"#] {
            assert!(Line::read(wrong.as_bytes()).is_none(), "{wrong}");
        }
    }
}
