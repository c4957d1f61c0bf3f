//! Values of arguments that are not plain text, as clap's value parsers.
//!
//! An error of a parser reaches the user unchanged, with its own hint and exit status: see `program::main`.

use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{EnumValueParser, TypedValueParser};

use crate::args::seen_round::SeenRound;
use askbox_mailbox::documents::asked::{Kind, OnExpiry};
use askbox_mailbox::documents::fields::options::Choice;
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::id::QuestionId;
use askbox_mailbox::text;
use askbox_mailbox::time::{self, Time};

/// A duration such as `90s`, `2h` or `3d`.
pub fn duration(text: &str) -> Result<Duration> {
    time::parse_duration(text, "").map_err(as_usage)
}

/// A time that passed longer ago than this is a mistake.
const JUST_NOW: Duration = Duration::from_secs(60);

/// A time that is to come: RFC 3339, or a duration from now.
pub fn moment(text: &str) -> Result<Time> {
    if let Some(at) = time::parse_rfc3339(text.trim()) {
        // A time that has just passed is accepted: a script needs a moment.
        if at <= time::now() && time::since(at) > JUST_NOW {
            let problem = format!("`{}` has passed: it was {} ago", text::excerpt(text, 40), time::human(time::since(at)));
            return Err(Error::usage(problem, "give a time to come, or a duration such as 90s or 2h"));
        }
        return Ok(at);
    }
    let wrong = || {
        let problem = format!("`{}` is not a time", text::excerpt(text, 40));
        Error::usage(problem, "write a duration such as 90s or 2h, or a time such as 2026-11-23T18:00:00Z or 2026-11-23T18:00:00+01:00")
    };
    let after = time::parse_duration(text, "").map_err(|_| wrong())?;
    chrono::TimeDelta::from_std(after).ok().and_then(|after| time::now().checked_add_signed(after)).ok_or_else(wrong)
}

/// A time that has passed: RFC 3339, or how long ago.
pub fn moment_ago(text: &str) -> Result<Time> {
    if let Some(at) = time::parse_rfc3339(text.trim()) {
        return Ok(at);
    }
    let wrong = || {
        let problem = format!("`{}` is not a time", text::excerpt(text, 40));
        Error::usage(problem, "write how long ago, such as 90s or 2h, or a time such as 2026-11-23T18:00:00Z")
    };
    let ago = time::parse_duration(text, "").map_err(|_| wrong())?;
    chrono::TimeDelta::from_std(ago).ok().and_then(|ago| time::now().checked_sub_signed(ago)).ok_or_else(wrong)
}

/// The id of a round.
pub fn question_id(text: &str) -> Result<QuestionId> {
    text.parse().map_err(as_usage)
}

/// A round, and behind a colon a part of the hash of what was shown.
pub fn seen_round(text: &str) -> Result<SeenRound> {
    text.parse().map_err(as_usage)
}

/// `KEY=DESCRIPTION`, or a key alone.
pub fn option(text: &str) -> Result<Choice> {
    let (key, description) = text.split_once('=').unwrap_or((text, ""));
    Ok(Choice { key: key.into(), description: description.into(), preview: None })
}

/// `KEY=VALUE`, with a key that is not empty.
pub fn pair(text: &str) -> Result<(String, String)> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.into(), value.into())),
        _ => Err(Error::usage(format!("`{}` is not KEY=VALUE", text::excerpt(text, 40)), "write a name, `=`, and the value")),
    }
}

/// The beginning of a shell variable's name. It may be empty.
pub fn variable_prefix(text: &str) -> Result<String> {
    if text.chars().enumerate().all(|(n, c)| c == '_' || c.is_ascii_alphabetic() || (n > 0 && c.is_ascii_digit())) {
        return Ok(text.into());
    }
    Err(Error::usage(
        format!("`{}` cannot begin the name of a shell variable", text::excerpt(text, 40)),
        "use letters, digits and _, and do not start with a digit",
    ))
}

/// Turns the error of a value that is not a document into a usage error.
fn as_usage(error: Error) -> Error {
    match error {
        Error::Invalid { problem, fix, .. } => Error::usage(problem, fix),
        other => other,
    }
}

/// The words for [`Kind`] on a command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum KindWord {
    /// One of the options
    Choice,
    /// Any number of the options
    MultiChoice,
    /// Yes or no
    YesNo,
    /// Free text
    Text,
    /// A number
    Number,
}

/// Parses the type of a question.
pub fn kind() -> impl TypedValueParser<Value = Kind> {
    EnumValueParser::<KindWord>::new().map(|word| match word {
        KindWord::Choice => Kind::Choice,
        KindWord::MultiChoice => Kind::MultiChoice,
        KindWord::YesNo => Kind::YesNo,
        KindWord::Text => Kind::Text,
        KindWord::Number => Kind::Number,
    })
}

/// The words for [`OnExpiry`] on a command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum OnExpiryWord {
    /// The question stays open and is marked overdue
    Keep,
    /// The answer given with --default applies
    Default,
    /// The question is cancelled; no agent is started
    Cancel,
}

/// Parses what happens to a question at its date.
pub fn on_expiry() -> impl TypedValueParser<Value = OnExpiry> {
    EnumValueParser::<OnExpiryWord>::new().map(|word| match word {
        OnExpiryWord::Keep => OnExpiry::Keep,
        OnExpiryWord::Default => OnExpiry::Default,
        OnExpiryWord::Cancel => OnExpiry::Cancel,
    })
}
