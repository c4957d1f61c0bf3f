//! Asks for the answer to one question, part by part.

use inquire::Select;
use serde_json::Map;

use crate::error::Result;
use crate::mailbox::AnswerValue;
use crate::mailbox::documents::question::{Kind, Part};
use crate::mailbox::round::Round;
use crate::surface::ask_answer::inbox::menu::{self, keys_width, option_label};
use crate::surface::ask_answer::inbox::prompts::{Item, Reply, given, item, number, room, words};
use crate::surface::ask_answer::question_text;
use crate::surface::program;
use crate::surface::terminal::columns::width;
use crate::text;

/// Asks for every part of the question, one after the other.
pub(in crate::surface) fn ask_all(found: &Round) -> Result<Reply<AnswerValue>> {
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
            Kind::Choice => menu::choose(part)?,
            Kind::MultiChoice => menu::choose_many(part)?,
            Kind::YesNo => menu::yes_or_no()?,
            Kind::Number => number()?,
            Kind::Text => words("", &format!("{workflow}\n\n{}", question_text::part(part, None)))?,
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
