//! How `run.json` spells an attempt: as one flat object. It has the fields of [`Plan`] and [`Progress`] side by side, in the order that
//! earlier versions wrote.
//!
//! The type is written out because serde's `flatten` would lose two things: an error would no longer name its field, and an unknown field
//! would no longer be skipped unread.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::attempt::auto_choice::AutoChoice;
use crate::attempt::failure::Failure;
use crate::attempt::record::{Begin, Claimant, Plan, Progress, Run, RunState};
use askbox_mailbox::documents::fields::asked_in::NonceHash;
use askbox_mailbox::id::{QuestionId, SessionId, WorkflowId};
use askbox_mailbox::time::Time;

/// One attempt.
#[derive(Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename = "Run")]
pub struct RunJson {
    /// The version of this format.
    #[serde(default)]
    pub schema_version: u32,
    /// The workflow.
    pub workflow_id: WorkflowId,
    /// The round.
    pub question_id: QuestionId,
    /// The number of the attempt in its round, from 1.
    pub attempt: u32,
    /// Who claimed the round.
    pub claimant: Claimant,
    /// The agent's session: the same in every attempt of a round, unless an attempt's session got its message and did nothing.
    pub session_id: SessionId,
    /// How the session begins.
    pub begin: Begin,
    /// Why the session begins otherwise than configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin_why: Option<String>,
    /// The choice of `relaunch.mode = "auto"` with its reason and the costs of both ways, if that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoChoice>,
    /// The hash by which a proof of this attempt is recognized; missing before the launch, and in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce_hash: Option<NonceHash>,
    /// The uuid of the message with the answer, the same in every attempt.
    pub message_id: Uuid,
    /// The name of the runner that launched it. The launching process takes the runner from its own configuration.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub runner: String,
    /// The agent definition that the session runs as, if one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The model, if one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The working folder of the agent, if the operator permits it when the attempt is launched. Missing: the home folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The agent's `CLAUDE_CONFIG_DIR`, if the operator permits it when the attempt is launched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_dir: Option<PathBuf>,
    /// The state of the attempt.
    pub state: RunState,
    /// When the attempt was put on record.
    pub claimed_at: Time,
    /// When the agent was launched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// When the attempt ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Time>,
    /// When the next attempt may start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Time>,
    /// Why the attempt ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The failure, if one ended the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The question that the agent asked with a tool of its own, and for which its turn waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<QuestionId>,
    /// The agent's final text: the first 4000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// US dollars of the day's limit that are reserved for this attempt, while its run is live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_usd: Option<f64>,
    /// US dollars of this attempt, as far as the agent reported them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The version of the agent program, as the program said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
}

impl<'de> Deserialize<'de> for Run {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RunJson::deserialize(deserializer).map(Self::from)
    }
}

impl Serialize for Run {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RunJson::from(self.clone()).serialize(serializer)
    }
}

/// The two forms of an attempt. Each of these fields goes from one to the other as it is.
macro_rules! same_fields {
    (run { $($own:ident)* } plan { $($plan:ident)* } progress { $($progress:ident)* }) => {
        impl From<RunJson> for Run {
            fn from(json: RunJson) -> Self {
                Self {
                    $($own: json.$own,)*
                    plan: Plan { $($plan: json.$plan,)* },
                    progress: Progress { $($progress: json.$progress,)* },
                }
            }
        }

        impl From<Run> for RunJson {
            fn from(Run { $($own,)* plan, progress }: Run) -> Self {
                Self { $($own,)* $($plan: plan.$plan,)* $($progress: progress.$progress,)* }
            }
        }
    };
}

same_fields! {
    run { schema_version workflow_id question_id attempt claimant }
    plan { session_id begin begin_why auto message_id runner role model cwd config_dir }
    progress {
        nonce_hash state claimed_at started_at ended_at retry_at why failure asks result reserved_usd cost_usd agent_version
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_mailbox::document::Document;

    const EVERY_FIELD: &str = r#"{
  "schema_version": 1,
  "workflow_id": "w",
  "question_id": "15c96f27-091a-5dc1-bcce-0d2e49721bc0",
  "attempt": 2,
  "claimant": "supervisor",
  "session_id": "25c96f27-091a-4dc1-bcce-0d2e49721bc0",
  "begin": {"how":"fork","from":"35c96f27-091a-4dc1-bcce-0d2e49721bc0"},
  "begin_why": "b",
  "auto": {"why":"a","resume_tokens":2,"cache":"warm","cache_seconds":3,"fresh_tokens":1},
  "nonce_hash": "45c96f27-091a-5dc1-bcce-0d2e49721bc0",
  "message_id": "55c96f27-091a-5dc1-bcce-0d2e49721bc0",
  "runner": "claude",
  "role": "r",
  "model": "m",
  "cwd": "/c",
  "config_dir": "/d",
  "state": "failed",
  "claimed_at": "2026-01-01T00:00:00Z",
  "started_at": "2026-01-01T00:00:01Z",
  "ended_at": "2026-01-01T00:00:02Z",
  "retry_at": "2026-01-01T00:00:03Z",
  "why": "y",
  "failure": {"class":"agent","signature":"s"},
  "asks": "65c96f27-091a-5dc1-bcce-0d2e49721bc0",
  "result": "t",
  "reserved_usd": 0.5,
  "cost_usd": 0.25,
  "agent_version": "2"
}
"#;

    fn parse(text: &str) -> askbox_mailbox::error::Result<Document<Run>> {
        Document::parse(text.as_bytes())
    }

    #[test]
    fn a_record_is_written_as_it_was_read_field_by_field() {
        let read = parse(EVERY_FIELD).unwrap();
        let written = Document::new(read.typed).unwrap().to_file().unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), EVERY_FIELD);
    }

    #[test]
    fn a_new_attempt_spells_out_nothing_that_it_does_not_have() {
        let read = parse(EVERY_FIELD).unwrap().typed;
        let first = Run::first(&read.round(), Claimant::Inline, Plan::without_launch(&read.round()));
        let names = Document::new(first).unwrap();
        let expected = "schema_version workflow_id question_id attempt claimant session_id begin message_id state claimed_at";
        assert_eq!(names.names().collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn an_unknown_field_of_a_record_survives_whatever_it_holds() {
        let theirs = r#""theirs": [1e999, "\ud800"]"#;
        let mut document = parse(&EVERY_FIELD.replacen('{', &format!("{{\n  {theirs},"), 1)).unwrap();
        document.typed.progress.state = RunState::Parked;
        document.update().unwrap();
        let text = String::from_utf8(document.to_file().unwrap()).unwrap();
        assert!(text.contains(theirs) && text.contains(r#""state": "parked""#), "{text}");
    }

    #[test]
    fn a_wrong_value_of_a_record_is_named_by_its_field() {
        let wrong = [(r#""/c""#, "7", "cwd: invalid type"), (r#""failed""#, r#""lost""#, "state: unknown variant")];
        for (right, wrong, expected) in wrong {
            let error = parse(&EVERY_FIELD.replace(right, wrong)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
