//! The menus of a question's options. What a person types is a choice only if it is an option's key or description; other words go to the
//! person's own words, so that `no` is never the option whose description happens to have an n and an o.

use std::cell::RefCell;

use inquire::validator::Validation;
use inquire::{MultiSelect, Select};

use crate::error::Result;
use crate::mailbox::AnswerValue;
use crate::mailbox::documents::match_option::{self, Meaning};
use crate::mailbox::documents::options::Choice;
use crate::mailbox::documents::question::Part;
use crate::surface::ask_answer::inbox::own_words::own_words;
use crate::surface::ask_answer::inbox::prompts::{Item, Reply, given, item, menu_rows};
use crate::surface::terminal::columns::{padded, width};
use crate::text;

const HELP: &str = "↑↓ move, enter choose, or type; esc: leave it open, or decline";

pub(super) fn keys_width(part: &Part) -> usize {
    part.options.0.iter().map(|c| width(&c.key)).max().unwrap_or(0).min(30)
}

pub(super) fn option_label(choice: &Choice, keys: usize) -> String {
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

/// Which place a line has while something is typed: a higher number is nearer to the top. `None` takes the line away.
///
/// The option that the words mean comes first, then "Other", then the options that contain the words. Without "Other" all options stay.
fn place(part: &Part, typed: &str, line: Option<&str>, label: &str, index: usize) -> Option<i64> {
    let order = -i64::try_from(index).unwrap_or(i64::MAX);
    let typed = typed.trim();
    let (meant, other, containing) = (3_000, 2_000, 1_000);
    match line {
        _ if typed.is_empty() => Some(order),
        Some(key) if means(part, typed, key) => Some(meant + order),
        None => Some(other + order),
        Some(_) if label.to_lowercase().contains(&typed.to_lowercase()) => Some(containing + order),
        Some(_) => (part.free_text == Some(false)).then_some(order),
    }
}

/// Whether words mean this option, and no other.
fn means(part: &Part, typed: &str, key: &str) -> bool {
    matches!(match_option::meaning(&part.options, typed), Meaning::Option(choice) if choice.key == key)
}

fn is_begun(label: &str, typed: &str) -> bool {
    label.to_lowercase().starts_with(&typed.trim().to_lowercase())
}

/// Asks for one option, or for words of the person's own.
pub(super) fn choose(part: &Part) -> Result<Reply<AnswerValue>> {
    let typed = RefCell::new(String::new());
    let scorer = |input: &str, line: &Item<Option<String>>, label: &str, index: usize| {
        input.clone_into(&mut typed.borrow_mut());
        place(part, input, line.value.as_deref(), label, index)
    };
    loop {
        typed.borrow_mut().clear();
        let prompt = Select::new("Answer:", option_items(part))
            .with_page_size(menu_rows())
            .with_scorer(&scorer)
            .with_formatter(&|choice| text::one_line(choice.value.value.as_deref().unwrap_or("…")))
            .with_help_message(HELP);
        match given(prompt.prompt_skippable())? {
            // A person who types `oth` looks for this line: `oth` is no answer.
            Reply::Given(Item { value: None, label }) if is_begun(&label, &typed.borrow()) => return own_words(part, ""),
            Reply::Given(Item { value: None, .. }) => return own_words(part, typed.borrow().trim()),
            Reply::Given(Item { value: Some(key), label }) => {
                let typed = typed.borrow();
                let is_plain = typed.trim().is_empty() || means(part, &typed, &key);
                // Where "Other" is offered, it is nearer than an option that was not meant.
                if is_plain || part.free_text != Some(false) {
                    return Ok(Reply::Given(AnswerValue::Text(key)));
                }
                let rows = vec![item("Back to the question", false), item(label, true)];
                match given(Select::new(&format!("{} is no option. What do you mean?", text::one_line(&typed)), rows).prompt_skippable())? {
                    Reply::Given(Item { value: true, .. }) => return Ok(Reply::Given(AnswerValue::Text(key))),
                    Reply::Given(_) | Reply::Skip => {}
                    other => return Ok(other.without_value()),
                }
            }
            other => return Ok(other.without_value()),
        }
    }
}

/// Asks for any number of options, and words of the person's own.
pub(super) fn choose_many(part: &Part) -> Result<Reply<AnswerValue>> {
    let scorer =
        |input: &str, line: &Item<Option<String>>, label: &str, index: usize| place(part, input, line.value.as_deref(), label, index);
    let prompt = MultiSelect::new("Answer:", option_items(part))
        .with_page_size(menu_rows())
        .with_scorer(&scorer)
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
                    None => match own_words(part, "")? {
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

/// Asks for a yes or a no; their first letters choose, too.
pub(super) fn yes_or_no() -> Result<Reply<AnswerValue>> {
    let scorer = |input: &str, word: &&str, _: &str, index: usize| {
        let typed = input.trim().to_lowercase();
        word.starts_with(&typed).then(|| -i64::try_from(index).unwrap_or(i64::MAX))
    };
    let prompt = Select::new("Answer:", vec!["yes", "no"]).with_scorer(&scorer).with_help_message(HELP);
    Ok(match given(prompt.prompt_skippable())? {
        Reply::Given(word) => Reply::Given(AnswerValue::Text(word.into())),
        other => other.without_value(),
    })
}
