//! The event that a question waits for in place of a person: a file, or a time. The event itself answers the question.
//!
//! # Security
//! The path comes from a question. The system is only asked whether something with that path exists: see `mailbox::due::event`. An
//! event is never a command, because only the operator says what is run.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::documents::answer::BY_EVENT;
use crate::{Answer, AnswerValue, Error, Result, Time, text, time};

/// The longest path, in bytes: Linux's `PATH_MAX` without its final zero byte.
const MAX_PATH: usize = 4095;

/// The event that answers a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// Something has this absolute path: a file, a folder, or anything else.
    File(#[schemars(description = "The absolute path.")] PathBuf),
    /// This time has come.
    At(#[schemars(description = "The time, RFC 3339.")] Time),
}

impl Until {
    /// Returns the event as the answer that it gives: the path or the time, with the channel `file` or `time`.
    pub fn answer(&self) -> Answer {
        let (value, channel) = match self {
            Self::File(path) => (path.display().to_string(), "file"),
            Self::At(at) => (time::rfc3339(*at), "time"),
        };
        Answer::value(AnswerValue::Text(value), BY_EVENT, channel)
    }

    /// Returns what the question waits for: `waits for the file /tmp/built`, `waits until 2026-11-23T18:00:00.000Z`. This is also
    /// the text of a question whose asker wrote none. Invisible characters in a path are escaped.
    pub fn words(&self) -> String {
        match self {
            Self::File(path) => format!("waits for the file {}", text::file_name(path)),
            Self::At(at) => format!("waits until {}", time::rfc3339(*at)),
        }
    }

    /// Returns the text that tells the agent that the event has come.
    pub fn has_come(&self) -> String {
        match self {
            Self::File(path) => format!("the file {} is there", quoted(path)),
            Self::At(at) => format!("it is past {}", time::rfc3339(*at)),
        }
    }

    /// Returns the text that tells the agent that the event did not come in time. It is used if the asker wrote no default.
    pub fn in_vain(&self) -> String {
        match self {
            Self::File(path) => format!("the file {} did not come in time", quoted(path)),
            Self::At(at) => format!("it was not {} in time", time::rfc3339(*at)),
        }
    }

    /// Returns the remark that a list shows beside the question's `text`: the question is not for a person, the event that it waits
    /// for, and since when it waits in vain.
    pub fn not_for_a_person(&self, text: &str, expires_at: Option<Time>) -> String {
        let late = expires_at.filter(|at| *at <= time::now()).map(|at| format!(", in vain since {}", time::rfc3339(at)));
        let (words, late) = (self.words(), late.unwrap_or_default());
        if text == words { format!("not for you{late}") } else { format!("not for you: {words}{late}") }
    }

    /// Checks that a path is absolute, has a name, and can be shown, or that a timer can be set to the time.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the field `until.file` or `until.at`.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::File(path) => check_path(path),
            // A time before all years has come, like every time in the past.
            Self::At(at) if time::is_rfc3339(*at) || time::is_before_all_years(*at) => Ok(()),
            Self::At(_) => {
                Err(Error::invalid("until.at", "lies beyond the year 9999", "write an earlier time, such as 2026-11-23T18:00:00Z"))
            }
        }
    }
}

/// Quotes the path as a word of a shell, because a name can hold whole sentences.
fn quoted(path: &Path) -> String {
    text::shell_quote(&path.display().to_string())
}

fn check_path(path: &Path) -> Result<()> {
    let shown = || text::excerpt(&path.display().to_string(), 80);
    let wrong = |problem: String| Err(Error::invalid("until.file", problem, "write the path of a file from / on, such as /tmp/built"));
    if !path.is_absolute() {
        return wrong(format!("`{}` is not an absolute path", shown()));
    }
    if path.file_name().is_none() {
        return wrong(format!("`{}` names no file", shown()));
    }
    match path.to_str() {
        Some(utf8) if utf8.len() > MAX_PATH => wrong(format!("is {} bytes long, the limit is {MAX_PATH}", utf8.len())),
        Some(utf8) if !utf8.chars().any(char::is_control) => Ok(()),
        _ => wrong(format!("`{}` holds control characters, or is not UTF-8", shown())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_names_one_file_or_one_time() {
        let read = |json: &str| serde_json::from_str::<Until>(json).map_err(|e| e.to_string());
        let checked = |json: &str| read(json).and_then(|until| until.check().map_err(|e| e.to_string()));
        assert_eq!(checked(r#"{"file":"/tmp/x"}"#), Ok(()));
        assert_eq!(checked(r#"{"at":"2026-11-23T18:00:00+01:00"}"#), Ok(()));
        assert_eq!(checked(r#"{"at":"2026-12-31T23:59:60Z"}"#), Ok(()));
        assert_eq!(checked(r#"{"at":"0000-01-01T00:00:00+23:59"}"#), Ok(()));
        for json in [
            r#"{"file":"x"}"#,
            r#"{"file":"/"}"#,
            r#"{"file":"/tmp/.."}"#,
            r#"{"file":"/a\nb"}"#,
            r#"{"file":"/tmp/x","at":"2026-11-23T18:00:00Z"}"#,
            r#"{"command":"rm"}"#,
            r#"{"at":"noon"}"#,
            r#"{"at":"9999-12-31T23:59:60Z"}"#,
            r#"{"at":"9999-12-31T23:59:59-01:00"}"#,
            "{}",
            r#""/tmp/x""#,
        ] {
            assert!(checked(json).is_err(), "{json}");
        }
        assert!(checked(&format!(r#"{{"file":"/{}"}}"#, "x".repeat(5000))).unwrap_err().contains("the limit is 4095"));
    }
}
