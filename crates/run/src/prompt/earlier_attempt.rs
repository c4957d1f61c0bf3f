//! The words to an agent whose round an earlier attempt began, for a session that does not have that attempt in it.

use crate::attempt::earlier::{EarlierCall, EarlierCalls};
use crate::words::inserted::{as_json, quoted, within};
use askbox_agent::events::CallEnd;
use askbox_mailbox::text;

/// The length of a call's input in the message, in bytes of JSON.
const INPUT: usize = 200;
/// The length of a tool's name in the message, in characters.
const TOOL: usize = 80;

/// The part of the told attempts that a session has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Has {
    /// Nothing.
    Nothing,
    /// Their messages, and perhaps some of these calls.
    Messages,
}

/// The words about the calls of earlier attempts. `None` if no attempt called a tool: there is nothing to repeat.
pub fn in_words(calls: &EarlierCalls, session: Has) -> Option<String> {
    let begun = match calls.attempts {
        0 => return None,
        1 => "An earlier attempt at this began and was cut off.".to_owned(),
        n => format!("{n} earlier attempts at this began and were cut off."),
    };
    let lacks = match (session, calls.attempts) {
        (Has::Nothing, 1) => "does not have what it did",
        (Has::Nothing, _) => "does not have what they did",
        (Has::Messages, _) => "may lack these calls, or how they ended",
    };
    let last = match usize::try_from(calls.calls) {
        Ok(all) if all == calls.last.len() => "The tool calls, in order".to_owned(),
        _ => format!("The last {} of {} tool calls, in order", calls.last.len(), calls.calls),
    };
    let lines: Vec<String> = calls.last.iter().map(call).collect();
    Some(format!(
        "{begun} This session {lacks}. {last}:\n{}\nA call may have had its effect even if it failed or its end was not seen. Look at what is there before you repeat any of this.\n",
        lines.join("\n")
    ))
}

/// One call as a quoted line.
fn call(call: &EarlierCall) -> String {
    let (behind, how) = match call.end {
        CallEnd::Done => (":", ""),
        CallEnd::Failed => (",", ", failed"),
        CallEnd::Unseen => (",", ", end not seen"),
    };
    let input = match &call.input {
        serde_json::Value::String(beginning) => as_json(beginning),
        input => text::escape_json(&input.to_string()),
    };
    quoted(&format!("{}{how}: {}", within(&call.tool.excerpt(TOOL), behind), text::beginning(&input, INPUT)))
}
