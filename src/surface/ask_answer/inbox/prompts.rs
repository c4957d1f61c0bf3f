//! Prompts on a terminal, and what the user did at them.

use std::fmt::{self, Display};

use inquire::validator::Validation;
use inquire::{InquireError, Text};

use crate::disk;
use crate::error::{Error, Result};
use crate::mailbox::AnswerValue;
use crate::surface::ask_answer::editor;
use crate::surface::program;
use crate::surface::terminal::{columns, size};
use crate::text;

/// The columns of a terminal that a prompt needs beside a line to choose: its mark, and a box to tick.
const BESIDE_LABEL: usize = 8;

/// The columns for a line to choose.
pub(super) fn room() -> usize {
    size::columns().unwrap_or(80).saturating_sub(BESIDE_LABEL).max(20)
}

/// The lines of a menu that are shown at once: few enough for the question's last lines to stay on the terminal, and for the chosen line
/// to be seen.
pub(super) fn menu_rows() -> usize {
    const ALL: usize = 12;
    const BESIDE_MENU: usize = 4;
    size::size().map_or(ALL, |size| size.rows.saturating_sub(BESIDE_MENU)).clamp(2, ALL)
}

/// A line to choose, and the value it stands for.
pub(super) struct Item<T> {
    pub label: String,
    pub value: T,
}

impl<T> Display for Item<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

/// A line to choose, cut to the terminal's width.
pub(super) fn item<T>(label: impl AsRef<str>, value: T) -> Item<T> {
    Item { label: columns::cut(&text::one_line(label.as_ref()), room()), value }
}

/// What the user did at a prompt.
pub(in crate::surface) enum Reply<T> {
    /// Gave a value.
    Given(T),
    /// Left the question open.
    Skip,
    /// Declined to answer.
    Decline,
    /// Asks the agent something first.
    AskBack,
    /// Left the inbox.
    Quit,
}

impl<T> Reply<T> {
    /// The same reply without its value, so that it fits another type; a value becomes `Skip`.
    pub fn without_value<U>(self) -> Reply<U> {
        match self {
            Self::Given(_) | Self::Skip => Reply::Skip,
            Self::Decline => Reply::Decline,
            Self::AskBack => Reply::AskBack,
            Self::Quit => Reply::Quit,
        }
    }
}

/// What the user did at a prompt that escape leaves.
pub(super) fn given<T>(prompt: inquire::error::InquireResult<Option<T>>) -> Result<Reply<T>> {
    match prompt {
        Ok(Some(value)) => Ok(Reply::Given(value)),
        Ok(None) => Ok(Reply::Skip),
        Err(InquireError::OperationInterrupted) => Ok(Reply::Quit),
        Err(e) => Err(terminal_failed(&e)),
    }
}

/// The error of a prompt that failed.
pub(super) fn terminal_failed(e: &InquireError) -> Error {
    Error::failed(format!("cannot ask on this terminal: {e}"), "answer without the inbox: ask-answer list, then see ask-answer --help")
}

/// Asks for a number.
pub(super) fn number() -> Result<Reply<AnswerValue>> {
    let prompt = Text::new("Answer:").with_help_message("a number; esc: leave it open, or decline").with_validator(|typed: &str| {
        let fits = typed.trim().parse::<f64>().is_ok_and(f64::is_finite);
        Ok(if fits { Validation::Valid } else { Validation::Invalid("a number such as 42 or 0.5".into()) })
    });
    Ok(match given(prompt.prompt_skippable())? {
        Reply::Given(typed) => Reply::Given(AnswerValue::Text(typed.trim().into())),
        other => other.without_value(),
    })
}

/// Asks for free text, on one line that begins with `typed`, or in the user's editor, which shows `below` under the answer.
pub(super) fn words(typed: &str, below: &str) -> Result<Reply<AnswerValue>> {
    let prompt =
        Text::new("Answer:").with_initial_value(typed).with_help_message("empty line: open your editor; esc: leave it open, or decline");
    match given(prompt.prompt_skippable())? {
        Reply::Given(typed) if typed.trim().is_empty() => match editor::write(below, ".md") {
            Ok(draft) => Ok(Reply::Given(AnswerValue::Text(draft.text))),
            Err(e) => {
                program::complain(&disk::explain_missing(e));
                Ok(Reply::Skip)
            }
        },
        Reply::Given(typed) => Ok(Reply::Given(AnswerValue::Text(typed))),
        other => Ok(other.without_value()),
    }
}
