//! Asks for the answer to one question, part by part.

use inquire::validator::Validation;
use inquire::{MultiSelect, Select};
use serde_json::Map;

use crate::error::Result;
use crate::mailbox::AnswerValue;
use crate::mailbox::documents::match_option::{self, Meaning};
use crate::mailbox::documents::options::Choice;
use crate::mailbox::documents::question::{Kind, Part};
use crate::mailbox::round::Round;
use crate::surface::ask_answer::inbox::prompts::{Item, Reply, given, item, number, room, words};
use crate::surface::ask_answer::question_text;
use crate::surface::program;
use crate::surface::terminal::columns::{padded, width};
use crate::text;

/// Lines of a menu that are shown at once.
pub(super) const MENU_ROWS: usize = 12;
const HELP: &str = "↑↓ move, enter choose, type to filter, esc: leave it open, or decline";

/// Asks for every part of the question, one after the other.
pub(super) fn ask_all(found: &Round) -> Result<Reply<AnswerValue>> {
    let question = &found.document.typed;
    let parts = question.parts();
    if !question.is_batch() {
        return ask(&parts[0], None, question.workflow_id.as_str());
    }
    if let Some(lead_in) = question.lead_in() {
        program::print(&question_text::fitted(&format!("{}\n\n", question_text::asked(lead_in))))?;
    }
    loop {
        let mut answers = Map::new();
        let mut n = 0;
        while let Some(part) = parts.get(n) {
            let place = format!("{} of {}", n + 1, parts.len());
            match ask(part, Some(&place), question.workflow_id.as_str())? {
                Reply::Given(value) => drop(answers.insert(part.key(n), value.to_json())),
                Reply::Skip if !answers.is_empty() => match forget(answers.len())? {
                    Reply::Given(()) => continue,
                    other => return Ok(other.without_value()),
                },
                Reply::Skip => return Ok(Reply::Skip),
                Reply::Decline => return Ok(Reply::Decline),
                Reply::AskBack => return Ok(Reply::AskBack),
                Reply::Quit => return Ok(Reply::Quit),
            }
            n += 1;
        }
        let mut summary = String::from("\n");
        for (key, value) in &answers {
            let value = AnswerValue::from_json(value.clone()).map(|v| v.to_text()).unwrap_or_default();
            summary.push_str(&format!("  {}: {}\n", text::excerpt(key, 40), text::excerpt(&value, 100)));
        }
        program::print(&summary)?;
        let rows = vec![item("Send these answers", 0), item("Start over", 1), item("Leave it open", 2)];
        match given(Select::new("All questions are answered", rows).prompt_skippable())? {
            Reply::Given(Item { value: 0, .. }) => return Ok(Reply::Given(AnswerValue::Batch(answers))),
            Reply::Given(Item { value: 1, .. }) => {}
            Reply::Quit => return Ok(Reply::Quit),
            _ => return Ok(Reply::Skip),
        }
    }
}

/// Asks before the answers to the earlier questions are forgotten. `Given` goes on with the question.
fn forget(answers: usize) -> Result<Reply<()>> {
    let lost = if answers == 1 { "your answer".to_owned() } else { format!("your {answers} answers") };
    let rows = vec![item("Back to the question", false), item(format!("Leave it open and forget {lost}"), true)];
    Ok(match given(Select::new("The answers so far are not sent", rows).prompt_skippable())? {
        Reply::Given(Item { value: true, .. }) => Reply::Skip,
        Reply::Quit => Reply::Quit,
        _ => Reply::Given(()),
    })
}

/// Asks one question. Escape opens a menu: leave it open, decline, or go back.
fn ask(part: &Part, place: Option<&str>, workflow: &str) -> Result<Reply<AnswerValue>> {
    let keys = keys_width(part);
    let long = part.options.0.iter().any(|c| c.preview.is_some() || width(&option_label(c, keys)) > room());
    let header = place.map_or(String::new(), |p| format!("{p}: "));
    let shown = if long { question_text::part(part, None) } else { format!("{}\n", question_text::asked(&part.question)) };
    program::print(&question_text::fitted(&format!("{header}{shown}")))?;
    loop {
        let reply = match part.kind() {
            Kind::Choice => choose(part)?,
            Kind::MultiChoice => choose_many(part)?,
            Kind::YesNo => match given(Select::new("Answer:", vec!["yes", "no"]).with_help_message(HELP).prompt_skippable())? {
                Reply::Given(word) => Reply::Given(AnswerValue::Text(word.into())),
                other => other.without_value(),
            },
            Kind::Number => number()?,
            Kind::Text => words(&format!("{workflow}\n\n{}", question_text::part(part, None)))?,
        };
        if !matches!(reply, Reply::Skip) {
            return Ok(reply);
        }
        let rows = vec![item("Leave it open", 0), item("Decline to answer", 1), item("Ask back first", 3), item("Back to the question", 2)];
        match given(Select::new("What now?", rows).prompt_skippable())? {
            Reply::Given(Item { value: 1, .. }) => return Ok(Reply::Decline),
            Reply::Given(Item { value: 3, .. }) => return Ok(Reply::AskBack),
            Reply::Given(Item { value: 2, .. }) => {}
            Reply::Quit => return Ok(Reply::Quit),
            _ => return Ok(Reply::Skip),
        }
    }
}

fn keys_width(part: &Part) -> usize {
    part.options.0.iter().map(|c| width(&c.key)).max().unwrap_or(0).min(30)
}

fn option_label(choice: &Choice, keys: usize) -> String {
    format!("{}  {}", padded(&text::one_line(&choice.key), keys), text::one_line(&choice.description)).trim_end().to_owned()
}

/// A line for each option, and one for free text where that is allowed.
fn option_items(part: &Part) -> Vec<Item<Option<String>>> {
    let keys = keys_width(part);
    let mut items: Vec<_> = part.options.0.iter().map(|c| item(option_label(c, keys), Some(c.key.clone()))).collect();
    if part.free_text != Some(false) {
        items.push(item("Other: your own words", None));
    }
    items
}

fn choose(part: &Part) -> Result<Reply<AnswerValue>> {
    let prompt = Select::new("Answer:", option_items(part))
        .with_page_size(MENU_ROWS)
        .with_formatter(&|choice| text::one_line(choice.value.value.as_deref().unwrap_or("…")))
        .with_help_message(HELP);
    match given(prompt.prompt_skippable())? {
        Reply::Given(Item { value: Some(key), .. }) => Ok(Reply::Given(AnswerValue::Text(key))),
        Reply::Given(Item { value: None, .. }) => own_words(part),
        other => Ok(other.without_value()),
    }
}

fn choose_many(part: &Part) -> Result<Reply<AnswerValue>> {
    let prompt = MultiSelect::new("Answer:", option_items(part))
        .with_page_size(MENU_ROWS)
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
                    None => match own_words(part)? {
                        Reply::Given(other) => items.push(other.to_text()),
                        other => return Ok(other),
                    },
                }
            }
            Ok(Reply::Given(AnswerValue::List(items)))
        }
        other => Ok(other.without_value()),
    }
}

/// Asks for words of the person's own. If they are close to an option, the person says what is meant.
fn own_words(part: &Part) -> Result<Reply<AnswerValue>> {
    loop {
        let typed = match words(&question_text::part(part, None))? {
            Reply::Given(value) => value.to_text(),
            other => return Ok(other.without_value()),
        };
        let near = match match_option::meaning(&part.options, &typed) {
            Meaning::Option(choice) => return Ok(Reply::Given(AnswerValue::Text(choice.key.clone()))),
            Meaning::OwnWords => return Ok(Reply::Given(AnswerValue::Text(typed))),
            Meaning::NearMiss(near) => near,
        };
        let mut rows: Vec<_> = near
            .iter()
            .map(|c| item(format!("{}  {}", text::one_line(&c.key), text::one_line(&c.description)).trim_end(), Some(c.key.clone())))
            .collect();
        rows.push(item(format!("My own words: {}", text::one_line(&typed)), Some(typed)));
        rows.push(item("Write it again", None));
        match given(Select::new("What do you mean?", rows).with_page_size(MENU_ROWS).prompt_skippable())? {
            Reply::Given(Item { value: Some(meant), .. }) => return Ok(Reply::Given(AnswerValue::Text(meant))),
            Reply::Given(Item { value: None, .. }) => {}
            other => return Ok(other.without_value()),
        }
    }
}
