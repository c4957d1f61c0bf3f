//! Values of arguments that are not plain text, as clap's value parsers.
//!
//! An error of a parser reaches the user unchanged, with its own hint and exit status: see `program::main`.

use std::str::FromStr;
use std::time::Duration;

use chrono::TimeDelta;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use askbox_mailbox::dialogs::Program;
use askbox_mailbox::{Choice, Error, Kind, OnExpiry, Result, Time, text, time};

/// A duration such as `90s`, `2h` or `3d`.
pub fn duration(text: &str) -> Result<Duration> {
    time::parse_duration(text, "").map_err(as_usage)
}

/// A time that passed longer ago than this is a mistake.
const JUST_NOW: Duration = Duration::from_secs(60);

/// A time that is to come: RFC 3339, or a duration from now.
pub fn moment(text: &str) -> Result<Time> {
    let forms = "write a duration such as 90s or 2h, or a time such as 2026-11-23T18:00:00Z or 2026-11-23T18:00:00+01:00";
    let at = time_or(text, forms, Time::checked_add_signed)?;
    // A time that has just passed is accepted: a script needs a moment.
    if at <= time::now() && time::since(at) > JUST_NOW {
        let problem = format!("`{}` has passed: it was {} ago", text::excerpt(text, 40), time::human(time::since(at)));
        return Err(Error::usage(problem, "give a time to come, or a duration such as 90s or 2h"));
    }
    Ok(at)
}

/// A time that has passed: RFC 3339, or how long ago.
pub fn moment_ago(text: &str) -> Result<Time> {
    time_or(text, "write how long ago, such as 90s or 2h, or a time such as 2026-11-23T18:00:00Z", Time::checked_sub_signed)
}

/// A time in RFC 3339, or one this duration from now.
fn time_or(text: &str, forms: &str, from_now: fn(Time, TimeDelta) -> Option<Time>) -> Result<Time> {
    let duration = || TimeDelta::from_std(time::parse_duration(text, "").ok()?).ok();
    let at = time::parse_rfc3339(text.trim()).or_else(|| from_now(time::now(), duration()?));
    at.ok_or_else(|| Error::usage(format!("`{}` is not a time", text::excerpt(text, 40)), forms))
}

/// The id of a round, or a round and behind a colon a part of the hash of what was shown.
pub fn round<T: FromStr<Err = Error>>(text: &str) -> Result<T> {
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
    let hint = "use letters, digits and _, and do not start with a digit";
    Err(Error::usage(format!("`{}` cannot begin the name of a shell variable", text::excerpt(text, 40)), hint))
}

/// Turns the error of a value that is not a document into a usage error.
fn as_usage(error: Error) -> Error {
    match error {
        Error::Invalid { problem, fix, .. } => Error::usage(problem, fix),
        other => other,
    }
}

/// Parses the type of a question.
pub fn kind() -> impl TypedValueParser<Value = Kind> {
    one_of([
        ("choice", "One of the options", Kind::Choice),
        ("multi_choice", "Any number of the options", Kind::MultiChoice),
        ("yes_no", "Yes or no", Kind::YesNo),
        ("text", "Free text", Kind::Text),
        ("number", "A number", Kind::Number),
    ])
}

/// Parses what happens to a question at its date.
pub fn on_expiry() -> impl TypedValueParser<Value = OnExpiry> {
    one_of([
        ("keep", "The question stays open and is marked overdue", OnExpiry::Keep),
        ("default", "The answer given with --default applies", OnExpiry::Default),
        ("cancel", "The question is cancelled; no agent is started", OnExpiry::Cancel),
    ])
}

/// Parses a program whose dialogs are told as news.
pub fn news_program() -> impl TypedValueParser<Value = Program> {
    one_of([
        ("kimi", "Kimi, by the hooks that `askbox setup` shows", Program::Kimi),
        ("gemini", "Gemini, by the hooks that `askbox setup` shows", Program::Gemini),
    ])
}

/// Parses one of these words, each with its help and its value.
fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(all: [(&'static str, &'static str, T); N]) -> impl TypedValueParser<Value = T> {
    let words = all.map(|(word, help, _)| PossibleValue::new(word).help(help));
    PossibleValuesParser::new(words)
        .try_map(move |given| all.iter().find(|(word, ..)| *word == given).map(|(.., value)| *value).ok_or("is no such word"))
}
