//! The lines to the supervisor: each item is one line of JSON on standard output.

use askbox_agent::{EventKind, StreamItem};
use askbox_cli::program;
use askbox_mailbox::{IoContext, Result, document};
use askbox_run::attempt::failure::Class;

/// Tells the supervisor an item.
pub(crate) fn say(item: &StreamItem) -> Result<()> {
    let mut line = line(item)?;
    // An input that is nested so deep that the supervisor could not read it. It is not shown to anybody, so nobody decides about it.
    if let StreamItem::Permission(asked) = item
        && serde_json::from_str::<StreamItem>(&line).is_err()
    {
        let mut asked = asked.clone();
        (asked.input, asked.complete, asked.needs_nobody) = (serde_json::Value::Null, false, None);
        line = self::line(&StreamItem::Permission(asked))?;
    }
    program::write_exactly(&line).io("write to", "standard output")
}

fn line(item: &StreamItem) -> Result<String> {
    let json = document::to_json(item)?;
    Ok(String::from_utf8_lossy(&json).into_owned() + "\n")
}

/// Tells the supervisor a remark for the log.
pub(crate) fn note(text: &str) -> Result<()> {
    say(&StreamItem::Event(EventKind::Note { text: text.into() }))
}

/// Tells the supervisor that the agent cannot have its message. Without a class, another attempt may mend it.
pub(crate) fn cannot_begin(class: Option<Class>, why: String) -> Result<()> {
    say(&StreamItem::CannotBegin { class: class.map_or_else(String::new, |class| class.word().to_owned()), why })
}
