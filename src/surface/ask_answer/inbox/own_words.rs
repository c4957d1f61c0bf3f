//! Words of the person's own.

use inquire::Select;

use crate::error::Result;
use crate::mailbox::AnswerValue;
use crate::mailbox::documents::match_option::{self, Meaning};
use crate::mailbox::documents::question::Part;
use crate::surface::ask_answer::inbox::prompts::{Item, Reply, given, item, menu_rows, words};
use crate::surface::ask_answer::question_text;
use crate::text;

/// Asks for words of the person's own. If they are close to an option, the person says what is meant.
/// The line begins with what the person has typed already.
pub(super) fn own_words(part: &Part, typed: &str) -> Result<Reply<AnswerValue>> {
    loop {
        let typed = match words(typed, &question_text::part(part, None))? {
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
        match given(Select::new("What do you mean?", rows).with_page_size(menu_rows()).prompt_skippable())? {
            Reply::Given(Item { value: Some(meant), .. }) => return Ok(Reply::Given(AnswerValue::Text(meant))),
            Reply::Given(Item { value: None, .. }) => {}
            other => return Ok(other.without_value()),
        }
    }
}
