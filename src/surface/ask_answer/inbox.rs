//! The inbox: pending questions on a terminal, one after the other.
//!
//! The screen is only a picture of the mailbox. A question may be answered, withdrawn or replaced while somebody reads it: what
//! is sent names the round that was shown, and where that is over, the inbox says who was first and goes on.

use std::fmt::{self, Display};

use inquire::validator::Validation;
use inquire::{InquireError, MultiSelect, Select, Text};
use serde_json::Map;

use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::close::Found;
use crate::mailbox::documents::question::{Kind, Part};
use crate::mailbox::{Answer, AnswerValue, Folder, Mailbox, answer, list};
use crate::surface::ask_answer::{answering, edit, show};
use crate::surface::program;
use crate::text;

const CHANNEL: &str = "inbox";
const ROWS: usize = 12;
/// An answer longer than this is kept in a file where it could not be given.
const WORTH_KEEPING: usize = 80;

/// A line to choose, and what it stands for.
struct Item<T> {
    label: String,
    value: T,
}

impl<T> Display for Item<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

fn item<T>(label: impl AsRef<str>, value: T) -> Item<T> {
    Item { label: text::excerpt(label.as_ref(), 160), value }
}

#[derive(Clone)]
enum Row {
    Question(WorkflowId),
    Refresh,
    Quit,
}

/// What became of one prompt.
enum Reply<T> {
    Given(T),
    /// The question stays open.
    Skip,
    Decline,
    Quit,
}

/// Shows the inbox until the user leaves it.
pub fn run(mailbox: &Mailbox, by: &str) -> Result<()> {
    let mut cursor = 0;
    loop {
        let pending = list::pending(mailbox)?;
        let cells: Vec<[String; 4]> = pending.iter().map(cells).collect();
        // The table's own head is left out: the prompt stands in its place.
        let lines = show::table(["", "", "", ""], &cells);
        let mut rows: Vec<_> =
            pending.iter().zip(lines.lines().skip(1)).map(|(p, line)| item(line, Row::Question(p.workflow.clone()))).collect();
        rows.push(item("Refresh", Row::Refresh));
        rows.push(item("Quit", Row::Quit));
        let title = match pending.len() {
            0 => "No question is pending".to_owned(),
            1 => "1 question is pending".to_owned(),
            n => format!("{n} questions are pending"),
        };
        let last = rows.len() - 1;
        let chosen = Select::new(&title, rows)
            .with_page_size(ROWS)
            .with_starting_cursor(cursor.min(last))
            .with_formatter(&|row| match &row.value.value {
                Row::Question(workflow) => workflow.to_string(),
                _ => row.value.label.clone(),
            })
            .with_help_message("↑↓ move, enter open, type to filter, esc quit")
            .raw_prompt_skippable();
        match chosen {
            Ok(Some(choice)) => {
                cursor = choice.index;
                match choice.value.value {
                    Row::Quit => return Ok(()),
                    Row::Refresh => {}
                    Row::Question(workflow) => match open(mailbox, &workflow, by) {
                        Ok(Reply::Quit) => return Ok(()),
                        Ok(_) => {}
                        // One question's trouble is not the inbox's.
                        Err(e) => program::complain(&e),
                    },
                }
            }
            Ok(None) | Err(InquireError::OperationInterrupted) => return Ok(()),
            Err(e) => return Err(terminal(&e)),
        }
    }
}

fn cells(pending: &list::Pending) -> [String; 4] {
    let id = text::excerpt(pending.workflow.as_str(), 32);
    match &pending.document {
        Ok(document) => {
            let question = &document.typed;
            [id, show::age(question), text::excerpt(question.asked_by.as_deref().unwrap_or("-"), 16), show::headline(question)]
        }
        Err(e) => [id, "-".into(), "-".into(), format!("unreadable: {}", program::message(e))],
    }
}

fn terminal(e: &InquireError) -> Error {
    Error::failed(format!("the terminal failed: {e}"), "answer without the inbox: ask-answer ID ANSWER")
}

/// Shows one question, asks, and sends.
fn open(mailbox: &Mailbox, workflow: &WorkflowId, by: &str) -> Result<Reply<()>> {
    let found = answering::question(mailbox, workflow)?;
    if found.folder != Folder::Pending {
        gone(&found)?;
        return Ok(Reply::Skip);
    }
    program::print_words(&format!("\n{}\n", show::about(&found.document.typed)))?;
    loop {
        let reply = match ask_all(&found)? {
            Reply::Given(value) => Answer::value(value, by, CHANNEL),
            Reply::Decline => {
                let why = Text::new("Why?").with_help_message("for the agent; enter: no reason, esc: back").prompt_skippable();
                match given(why)? {
                    Reply::Given(why) => Answer::declined(Some(why).filter(|w| !w.trim().is_empty()), by, CHANNEL),
                    Reply::Quit => return Ok(Reply::Quit),
                    _ => continue,
                }
            }
            Reply::Skip => return Ok(Reply::Skip),
            Reply::Quit => return Ok(Reply::Quit),
        };
        let words = answering::in_words(&reply);
        let written = reply.value.as_ref().map(AnswerValue::to_text).filter(|t| t.len() > WORTH_KEEPING);
        match answer::answer(mailbox, workflow, Some(found.round.question), reply) {
            Ok(accepted) => {
                program::print_words(&format!("{workflow}: {words}\n\n"))?;
                accepted.warning.iter().for_each(|w| program::warn(w));
                return Ok(Reply::Given(()));
            }
            // What was typed does not fit: say so and ask again.
            Err(e @ Error::Invalid { .. }) => program::complain(&e),
            Err(e) => {
                // Whoever wrote a long answer in vain does not lose it as well.
                if let Some(path) = written.and_then(|text| edit::keep(&text)) {
                    program::say(&format!("your text is kept in {}\n", path.display()));
                }
                return Err(e);
            }
        }
    }
}

fn gone(found: &Found) -> Result<()> {
    let who = found.document.typed.answer.as_ref().map_or(String::new(), |a| format!(" ({})", a.who()));
    program::print_words(&format!("{}: {}{who}\n\n", found.round.workflow, show::state(found)))
}

/// Every part of the question, one after the other.
fn ask_all(found: &Found) -> Result<Reply<AnswerValue>> {
    let question = &found.document.typed;
    let parts = question.parts();
    if !question.is_batch() {
        return ask(&parts[0], None, question.workflow_id.as_str());
    }
    if !question.question.is_empty() {
        program::print_words(&format!("{}\n\n", question.question.trim_end()))?;
    }
    loop {
        let mut answers = Map::new();
        for (n, part) in parts.iter().enumerate() {
            let place = format!("{} of {}", n + 1, parts.len());
            match ask(part, Some(&place), question.workflow_id.as_str())? {
                Reply::Given(value) => drop(answers.insert(part.key(n), value.to_json())),
                Reply::Skip => return Ok(Reply::Skip),
                Reply::Decline => return Ok(Reply::Decline),
                Reply::Quit => return Ok(Reply::Quit),
            }
        }
        let mut summary = String::from("\n");
        for (key, value) in &answers {
            let value = AnswerValue::from_json(value.clone()).map(|v| v.to_text()).unwrap_or_default();
            summary.push_str(&format!("  {}: {}\n", text::excerpt(key, 40), text::excerpt(&value, 100)));
        }
        program::print_words(&summary)?;
        let rows = vec![item("Send these answers", 0), item("Start over", 1), item("Leave it open", 2)];
        match given(Select::new("All questions are answered", rows).prompt_skippable())? {
            Reply::Given(Item { value: 0, .. }) => return Ok(Reply::Given(AnswerValue::Batch(answers))),
            Reply::Given(Item { value: 1, .. }) => {}
            Reply::Quit => return Ok(Reply::Quit),
            _ => return Ok(Reply::Skip),
        }
    }
}

/// One question. Escape asks what is meant by it.
fn ask(part: &Part, place: Option<&str>, workflow: &str) -> Result<Reply<AnswerValue>> {
    let long = part.options.0.iter().any(|c| c.preview.is_some() || c.description.chars().count() > 100);
    let header = place.map_or(String::new(), |p| format!("{p}: "));
    let shown = if long { show::part(part, None) } else { format!("{}\n", part.question.trim_end()) };
    program::print_words(&format!("{header}{shown}"))?;
    loop {
        let reply = match part.kind() {
            Kind::Choice => choose(part)?,
            Kind::MultiChoice => choose_many(part)?,
            Kind::YesNo => match given(Select::new("Answer:", vec!["yes", "no"]).with_help_message(HELP).prompt_skippable())? {
                Reply::Given(word) => Reply::Given(AnswerValue::Text(word.into())),
                other => other.retyped(),
            },
            Kind::Number => number()?,
            Kind::Text => words(&format!("{workflow}\n\n{}", show::part(part, None)))?,
        };
        if !matches!(reply, Reply::Skip) {
            return Ok(reply);
        }
        let rows = vec![item("Leave it open", 0), item("Decline to answer", 1), item("Back to the question", 2)];
        match given(Select::new("What now?", rows).prompt_skippable())? {
            Reply::Given(Item { value: 1, .. }) => return Ok(Reply::Decline),
            Reply::Given(Item { value: 2, .. }) => {}
            Reply::Quit => return Ok(Reply::Quit),
            _ => return Ok(Reply::Skip),
        }
    }
}

const HELP: &str = "↑↓ move, enter choose, type to filter, esc: leave it open, or decline";

impl<T> Reply<T> {
    /// A reply without a value, as one of another type.
    fn retyped<U>(self) -> Reply<U> {
        match self {
            Self::Given(_) | Self::Skip => Reply::Skip,
            Self::Decline => Reply::Decline,
            Self::Quit => Reply::Quit,
        }
    }
}

fn given<T>(prompt: inquire::error::InquireResult<Option<T>>) -> Result<Reply<T>> {
    match prompt {
        Ok(Some(value)) => Ok(Reply::Given(value)),
        Ok(None) => Ok(Reply::Skip),
        Err(InquireError::OperationInterrupted) => Ok(Reply::Quit),
        Err(e) => Err(terminal(&e)),
    }
}

/// An option's line; free text has none of its own.
fn option_items(part: &Part) -> Vec<Item<Option<String>>> {
    let width = part.options.0.iter().map(|c| c.key.chars().count()).max().unwrap_or(0).min(30);
    let mut items: Vec<_> = part
        .options
        .0
        .iter()
        .map(|c| item(format!("{:width$}  {}", text::one_line(&c.key), text::one_line(&c.description)).trim_end(), Some(c.key.clone())))
        .collect();
    if part.free_text != Some(false) {
        items.push(item("Other…", None));
    }
    items
}

fn choose(part: &Part) -> Result<Reply<AnswerValue>> {
    let prompt = Select::new("Answer:", option_items(part))
        .with_page_size(ROWS)
        .with_formatter(&|choice| text::one_line(choice.value.value.as_deref().unwrap_or("…")))
        .with_help_message(HELP);
    match given(prompt.prompt_skippable())? {
        Reply::Given(Item { value: Some(key), .. }) => Ok(Reply::Given(AnswerValue::Text(key))),
        Reply::Given(Item { value: None, .. }) => words(&show::part(part, None)),
        other => Ok(other.retyped()),
    }
}

fn choose_many(part: &Part) -> Result<Reply<AnswerValue>> {
    let prompt = MultiSelect::new("Answer:", option_items(part))
        .with_page_size(ROWS)
        .with_validator(|chosen: &[inquire::list_option::ListOption<&Item<Option<String>>>]| {
            Ok(if chosen.is_empty() { Validation::Invalid("choose with space; esc to decline".into()) } else { Validation::Valid })
        })
        .with_formatter(&|chosen| {
            chosen.iter().map(|c| c.value.value.as_deref().unwrap_or("…")).map(text::one_line).collect::<Vec<_>>().join(", ")
        })
        .with_help_message("↑↓ move, space mark, → all, ← none, enter send, esc: leave it open, or decline");
    match given(prompt.prompt_skippable())? {
        Reply::Given(chosen) => {
            let mut items = Vec::new();
            for choice in chosen {
                match choice.value {
                    Some(key) => items.push(key),
                    None => match words(&show::part(part, None))? {
                        Reply::Given(other) => items.push(other.to_text()),
                        other => return Ok(other),
                    },
                }
            }
            Ok(Reply::Given(AnswerValue::List(items)))
        }
        other => Ok(other.retyped()),
    }
}

fn number() -> Result<Reply<AnswerValue>> {
    let prompt = Text::new("Answer:").with_help_message("a number; esc: leave it open, or decline").with_validator(|typed: &str| {
        let fits = typed.trim().parse::<f64>().is_ok_and(f64::is_finite);
        Ok(if fits { Validation::Valid } else { Validation::Invalid("a number such as 42 or 0.5".into()) })
    });
    Ok(match given(prompt.prompt_skippable())? {
        Reply::Given(typed) => Reply::Given(AnswerValue::Text(typed.trim().into())),
        other => other.retyped(),
    })
}

/// Free text on one line, or in the user's editor.
fn words(below: &str) -> Result<Reply<AnswerValue>> {
    let prompt = Text::new("Answer:").with_help_message("enter on an empty line: write it in your editor; esc: leave it open, or decline");
    match given(prompt.prompt_skippable())? {
        Reply::Given(typed) if typed.trim().is_empty() => match edit::write(below, ".md") {
            Ok(draft) => Ok(Reply::Given(AnswerValue::Text(draft.text))),
            Err(e) => {
                program::complain(&e);
                Ok(Reply::Skip)
            }
        },
        Reply::Given(typed) => Ok(Reply::Given(AnswerValue::Text(typed))),
        other => Ok(other.retyped()),
    }
}
