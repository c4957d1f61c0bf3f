//! The ids of workflows, questions, sessions, rounds and attempts. Each is safe as a file name, except an attempt's, which is three
//! names with `/` between them.

use std::str::FromStr;

use derive_more::Display;
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};
use uuid::Uuid;

use crate::error::{Error, Result};

/// The longest workflow id, in bytes.
pub const MAX_WORKFLOW_ID: usize = 128;

/// The id of one line of work: `[A-Za-z0-9][A-Za-z0-9._-]{0,127}` without `..`. Safe as a file name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Display, schemars::JsonSchema)]
#[schemars(transparent, extend("pattern" = r"^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"))]
pub struct WorkflowId(String);

impl Default for WorkflowId {
    /// A new id: `w-` and a time-ordered UUID.
    fn default() -> Self {
        Self(format!("w-{}", Uuid::now_v7()))
    }
}

impl WorkflowId {
    /// Returns a new id: `w-` and a time-ordered UUID.
    pub fn generate() -> Self {
        Self::default()
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns `ID.json`: the file name of the workflow's document in a folder that holds one document for each workflow.
    pub fn file_name(&self) -> String {
        format!("{}.json", self.0)
    }

    /// Returns the id in a file name `ID.json`. `None` for any other name, such as a temporary one.
    pub fn from_file_name(name: &str) -> Option<Self> {
        name.strip_suffix(".json")?.parse().ok()
    }
}

impl FromStr for WorkflowId {
    type Err = Error;

    /// Reads a workflow id.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the field `workflow_id`.
    fn from_str(text: &str) -> Result<Self> {
        let bad = |problem: String| {
            Err(Error::invalid("workflow_id", problem, "use 1 to 128 of A-Z a-z 0-9 . _ - , starting with a letter or digit, without `..`"))
        };
        let shown = crate::text::excerpt(text, 40);
        if text.is_empty() {
            return bad("is empty".into());
        }
        if text.len() > MAX_WORKFLOW_ID {
            return bad(format!("is {} bytes long", text.len()));
        }
        if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return bad(format!("`{shown}` does not start with a letter or digit"));
        }
        if let Some(c) = text.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))) {
            return bad(format!("`{shown}` holds {c:?}"));
        }
        if text.contains("..") { bad(format!("`{shown}` holds `..`")) } else { Ok(Self(text.to_owned())) }
    }
}

impl<'de> Deserialize<'de> for WorkflowId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|e: Error| match e {
            Error::Invalid { problem, .. } => serde::de::Error::custom(problem),
            other => serde::de::Error::custom(other),
        })
    }
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[derive(Default, Display, schemars::JsonSchema)]
        #[schemars(with = "String", extend("format" = "uuid"))]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Returns the id with this UUID.
            pub fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The UUID.
            pub fn uuid(&self) -> &Uuid {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = Error;

            /// Reads a UUID.
            ///
            /// # Errors
            /// [`Error::Invalid`] with the name of the id as its field.
            fn from_str(text: &str) -> Result<Self> {
                Uuid::parse_str(text).map(Self).map_err(|_| {
                    Error::invalid($what, format!("`{}` is not a UUID", crate::text::excerpt(text, 40)), "write it as 8-4-4-4-12 hexadecimal digits")
                })
            }
        }
    };
}

uuid_id!(
    /// Names one round: one question and its answer. A UUIDv7 when askbox posts; derived (v5) for a question file written by hand.
    QuestionId,
    "question_id"
);
uuid_id!(
    /// Names one agent session; chosen before the launch.
    SessionId,
    "session_id"
);

impl QuestionId {
    /// Returns a new, time-ordered id.
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl SessionId {
    /// Returns a new random id.
    pub fn generate() -> Self {
        Self(Uuid::new_v4())
    }
}

/// One round of one workflow. Its file name in the folders that keep rounds is `WORKFLOW.QUESTION.json`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Display)]
#[display("{workflow}.{question}")]
pub struct RoundId {
    /// The workflow.
    pub workflow: WorkflowId,
    /// The id of the question, which names the round.
    pub question: QuestionId,
}

impl RoundId {
    /// Returns `WORKFLOW.QUESTION.json`.
    pub fn file_name(&self) -> String {
        format!("{}.{}.json", self.workflow, self.question)
    }

    /// Returns the round in a file name `WORKFLOW.QUESTION.json`; `None` for any other name. The last dot before `.json` separates
    /// the two ids: a workflow id may hold dots, a UUID does not.
    pub fn from_file_name(name: &str) -> Option<Self> {
        let (workflow, question) = name.strip_suffix(".json")?.rsplit_once('.')?;
        Some(Self { workflow: workflow.parse().ok()?, question: question.parse().ok()? })
    }
}

/// One attempt of a round: `WORKFLOW/QUESTION/ATTEMPT`, as `ASKBOX_RUN` has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Display, SerializeDisplay, DeserializeFromStr, schemars::JsonSchema)]
#[display("{}/{}/{attempt}", round.workflow, round.question)]
#[schemars(with = "String")]
pub struct AttemptId {
    /// Its round.
    pub round: RoundId,
    /// Its number in the round, from 1.
    pub attempt: u32,
}

impl FromStr for AttemptId {
    type Err = Error;

    /// Reads `WORKFLOW/QUESTION/ATTEMPT`.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the field `run`.
    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            let problem = format!("`{}` is not WORKFLOW/QUESTION/ATTEMPT", crate::text::excerpt(text, 200));
            Error::invalid("run", problem, "leave it as the agent's environment has it")
        };
        let mut pieces = text.split('/');
        let (Some(workflow), Some(question), Some(attempt), None) = (pieces.next(), pieces.next(), pieces.next(), pieces.next()) else {
            return Err(bad());
        };
        let round = RoundId { workflow: workflow.parse().map_err(|_| bad())?, question: question.parse().map_err(|_| bad())? };
        Ok(Self { round, attempt: attempt.parse().map_err(|_| bad())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_could_leave_the_folder_is_refused() {
        let long = "a".repeat(129);
        for bad in ["", ".", "..", "a..b", "../x", "/etc/passwd", "a/b", "-rf", "_x", "a b", "a\0b", "ä", "a\n", &long] {
            assert!(bad.parse::<WorkflowId>().is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn a_usual_id_is_accepted() {
        for good in ["a", "workflow_12345", "A.b-c_9", &"a".repeat(128), "1"] {
            assert_eq!(good.parse::<WorkflowId>().unwrap().as_str(), good);
        }
        assert!(WorkflowId::generate().as_str().parse::<WorkflowId>().is_ok());
    }

    #[test]
    fn a_round_file_name_reads_back_even_with_dots_in_the_workflow() {
        let round = RoundId { workflow: "a.b.c".parse().unwrap(), question: QuestionId::generate() };
        assert_eq!(RoundId::from_file_name(&round.file_name()), Some(round));
        assert_eq!(RoundId::from_file_name(".tmpX.json"), None);
        assert_eq!(RoundId::from_file_name("a.json"), None);
    }

    #[test]
    fn an_attempt_reads_back_and_no_other_path_is_one() {
        let question = QuestionId::generate();
        let attempt = AttemptId { round: RoundId { workflow: "a.b".parse().unwrap(), question }, attempt: 2 };
        assert_eq!(attempt.to_string().parse::<AttemptId>().unwrap(), attempt);
        for bad in [
            "",
            "a",
            &format!("a/{question}"),
            &format!("../{question}/1"),
            &format!("a/../{question}/1"),
            &format!("a/{question}/-1"),
            "a/x/1",
        ] {
            assert!(bad.parse::<AttemptId>().is_err(), "{bad:?} was accepted");
        }
    }
}
