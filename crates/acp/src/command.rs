//! The lines of the supervisor. They are those that `claude` reads on its standard input; the others mean nothing here.
//!
//! The lines to the supervisor: each item is one line of JSON on standard output.

use serde::Deserialize;
use serde_json::Value;

use askbox_agent::stream::FormReply;
use askbox_agent::{EventKind, StreamItem};
use askbox_cli::program;
use askbox_mailbox::{IoContext, Result, document};
use askbox_run::attempt::failure::Class;

/// A line of the supervisor.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    /// The call may be made.
    Permit { request: String },
    /// The call may not be made. The model reads the words.
    Refuse { request: String, words: String },
    /// The reply to a form.
    Reply { request: String, reply: FormReply },
    /// Something that the agent is to read.
    Tell(String),
    /// The turn ends, without a request to the model.
    EndTurn,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    User { message: Message },
    ControlRequest { request: Request },
    ControlResponse { response: Response },
}

#[derive(Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
enum Request {
    Interrupt,
}

#[derive(Deserialize)]
struct Message {
    content: String,
}

#[derive(Deserialize)]
struct Response {
    request_id: String,
    response: ToolDecision,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolDecision {
    behavior: String,
    message: String,
    interrupt: bool,
    action: String,
    content: Value,
}

impl Command {
    /// Reads a line. `None` if it means nothing here.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let Response { request_id: request, response } = match serde_json::from_str(line).ok()? {
            Line::User { message } => return Some(Self::Tell(message.content)),
            Line::ControlRequest { request: Request::Interrupt } => return Some(Self::EndTurn),
            Line::ControlResponse { response } => response,
        };
        Some(match (response.behavior.as_str(), response.action.as_str()) {
            ("allow", _) => Self::Permit { request },
            ("deny", _) if response.interrupt => Self::EndTurn,
            ("deny", _) => Self::Refuse { request, words: response.message },
            (_, "accept") => Self::Reply { request, reply: FormReply::Accept(response.content) },
            (_, "decline") => Self::Reply { request, reply: FormReply::Decline },
            (_, "cancel") => Self::Reply { request, reply: FormReply::Cancel },
            _ => return None,
        })
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_agent::claude;
    use serde_json::json;

    #[test]
    fn each_line_that_claude_reads_is_understood() {
        let request = || "\"7\"".to_owned();
        let reply = |reply: FormReply| (claude::elicitation_reply("\"7\"", &reply), Command::Reply { request: request(), reply });
        let lines = [
            (claude::permission_allow("\"7\""), Command::Permit { request: request() }),
            (claude::permission_deny("\"7\"", "no"), Command::Refuse { request: request(), words: "no".into() }),
            (claude::permission_deny_and_end("\"7\"", "no"), Command::EndTurn),
            (claude::interrupt("stop"), Command::EndTurn),
            (claude::user_message("u", "a\nb"), Command::Tell("a\nb".into())),
            reply(FormReply::Accept(json!({ "a": 1 }))),
            reply(FormReply::Decline),
            reply(FormReply::Cancel),
        ];
        for (line, meant) in lines {
            assert_eq!(Command::read(&line), Some(meant), "{line}");
        }
        assert_eq!(["", "{}", "[]", r#"{"type":"user"}"#].map(Command::read), [None, None, None, None]);
        assert_eq!(Command::read(&claude::initialize("i")), None);
    }
}
