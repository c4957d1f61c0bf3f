//! Reads the output of one agent process, whatever it speaks: of `claude`, of a plain program, or of an adapter.
//!
//! An adapter is a program of askbox that talks with an agent in the agent's own protocol, such as `askbox-acp`. Each line is one
//! [`StreamItem`] as JSON. An adapter reads what `claude` reads ([`claude::input`](crate::claude)), but for the first message, which it
//! makes itself. The words of an agent stand in strings of JSON, so they never pass for an item.

use serde_json::Value;

use crate::events::EventKind;
use crate::program::ProgramOutput;
use crate::stream::ledger::Ledger;
use crate::stream::lines::Line;
use crate::stream::{Generating, Interpreter, StreamItem, raw};
use askbox_mailbox::Untrusted;

/// Reads the output of one adapter, line by line.
#[derive(Debug, Default)]
pub struct AdapterOutput {
    session_id: Option<Untrusted>,
    ledger: Ledger,
    /// True if the last turn is over, so that the next words begin another one.
    is_between_turns: bool,
    /// The request that waits for the agent's reply. `None` once a session has begun.
    unanswered: Option<String>,
}

impl AdapterOutput {
    /// The items of this line.
    pub fn feed(&mut self, line: &Line<'_>) -> Vec<StreamItem> {
        let Some(mut item) = Some(line).filter(|line| !line.over_limit).and_then(|line| serde_json::from_str(line.text).ok()) else {
            return raw(if line.torn { "torn" } else { "not_json" }, line, true);
        };
        let is_cut = !line.cuts.is_empty();
        match &mut item {
            StreamItem::Asked(method) => {
                self.unanswered = Some(std::mem::take(method));
                return Vec::new();
            }
            StreamItem::Wrote(file) => {
                self.ledger.wrote(std::mem::take(file));
                return Vec::new();
            }
            StreamItem::Began { session_id, .. } => {
                (self.session_id, self.unanswered) = (Some(session_id.clone()), None);
            }
            // Nobody may decide about a part of a call or of a form.
            StreamItem::Permission(asked) if is_cut => (asked.complete, asked.needs_nobody) = (false, None),
            StreamItem::Elicitation(asked) if is_cut => asked.schema = Value::Null,
            StreamItem::Generating(Generating::Text(words)) => self.this_turn().is_saying(words.raw()),
            StreamItem::Event(EventKind::Text { text, .. }) => self.this_turn().said(text.raw()),
            StreamItem::Event(EventKind::ToolCall { id, name, input, .. }) => {
                self.this_turn().called(id.raw(), name.raw(), &input.to_string(), None);
            }
            StreamItem::Event(EventKind::ToolResult { id, is_error, text, bytes, .. }) => {
                self.ledger.answered(id, *is_error, text.raw(), *bytes);
            }
            StreamItem::Event(EventKind::Result { .. }) => self.is_between_turns = true,
            _ => {}
        }
        vec![item]
    }

    fn this_turn(&mut self) -> &mut Ledger {
        if std::mem::take(&mut self.is_between_turns) {
            self.ledger.new_turn();
        }
        &mut self.ledger
    }

    /// The request that the agent has not answered, if no session has begun.
    pub fn unanswered(&self) -> Option<&str> {
        self.unanswered.as_deref()
    }

    /// The last event of a run that was stopped. `how` names the cause of the stop.
    pub fn interrupted(&self, how: &str) -> EventKind {
        self.ledger.interrupted(how.into(), self.session_id.clone())
    }
}

/// Reads the output of one agent process, line by line.
pub enum AgentOutput {
    /// Claude Code's stream-json.
    Claude(Box<Interpreter>),
    /// The items that an adapter tells of its agent.
    Adapter(AdapterOutput),
    /// The output of any program.
    Program(ProgramOutput),
}

impl AgentOutput {
    /// The items of this line, in order.
    pub fn feed(&mut self, line: &Line<'_>) -> Vec<StreamItem> {
        match self {
            Self::Claude(interpreter) => interpreter.feed(line),
            Self::Adapter(output) => output.feed(line),
            Self::Program(output) => output.feed(line),
        }
    }

    /// True if a blank line is part of the output.
    pub fn has_blank_lines(&self) -> bool {
        matches!(self, Self::Program(_))
    }

    /// The last event of a run that was stopped: its work so far. `how` names the cause of the stop.
    pub fn interrupted(&self, how: &str) -> EventKind {
        match self {
            Self::Claude(interpreter) => interpreter.interrupted(how),
            Self::Adapter(output) => output.interrupted(how),
            Self::Program(output) => output.interrupted(how),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::lines::{BoundedLines, Limits};
    use crate::stream::{Elicitation, PermissionRequest};

    fn line(item: &StreamItem) -> String {
        serde_json::to_string(item).unwrap()
    }

    fn permission(command: &str) -> StreamItem {
        StreamItem::Permission(PermissionRequest {
            request_id: "1".into(),
            tool_name: "Bash".into(),
            input: serde_json::json!({ "command": command }),
            complete: true,
            needs_nobody: Some("a rule names it".into()),
            cwd: Some("/w".into()),
            tool_use_id: "t".into(),
            description: "".into(),
            requires_user_interaction: false,
            subagent: None,
        })
    }

    #[test]
    fn items_come_back_as_they_were_said() {
        let mut output = AdapterOutput::default();
        for item in [permission("ls"), StreamItem::RoundTrip, StreamItem::Generating(Generating::Answer)] {
            assert_eq!(output.feed(&Line::whole(&line(&item))), [item]);
        }
    }

    #[test]
    fn nobody_decides_about_a_call_that_lacks_a_part() {
        let form = StreamItem::Elicitation(Box::new(Elicitation {
            request_id: "2".into(),
            asker: crate::stream::Asker::Agent,
            message: "x".repeat(100).as_str().into(),
            url: None,
            schema: serde_json::json!({ "type": "object" }),
            order: Value::Null,
            own_words: Vec::new(),
        }));
        let said = [line(&permission(&"x".repeat(100))), line(&form), String::new()].join("\n");
        let mut lines = BoundedLines::with_limits(said.as_bytes(), Limits { string: 50, line: 4096, head: 64 });
        let mut output = AdapterOutput::default();
        let call = output.feed(&lines.next_line().unwrap().unwrap());
        assert!(matches!(&call[..], [StreamItem::Permission(asked)] if !asked.complete && asked.needs_nobody.is_none()), "{call:?}");
        let form = output.feed(&lines.next_line().unwrap().unwrap());
        assert!(matches!(&form[..], [StreamItem::Elicitation(asked)] if asked.schema.is_null()), "{form:?}");
    }

    #[test]
    fn a_line_that_is_no_item_is_kept_and_means_nothing() {
        let mut output = AdapterOutput::default();
        for text in ["hello", r#"{"event":7}"#, r#"{"result":"done"}"#, "[]"] {
            let items = output.feed(&Line::whole(text));
            assert!(matches!(&items[..], [StreamItem::Event(EventKind::Raw { .. })]), "{text}: {items:?}");
        }
    }

    #[test]
    fn a_stopped_run_tells_its_last_turn_and_all_files() {
        let mut output = AdapterOutput::default();
        let text = |text: &str| StreamItem::Event(EventKind::Text { text: text.into(), parent: None });
        let call = EventKind::ToolCall { id: "t".into(), name: "Edit".into(), input: Value::Null, parent: None };
        let ended = serde_json::from_str(r#"{"event":{"type":"result","is_error":false,"text":""}}"#).unwrap();
        for item in [text("first"), ended, StreamItem::Event(call), StreamItem::Wrote("/w/a".into()), text("second")] {
            output.feed(&Line::whole(&line(&item)));
        }
        let EventKind::Interrupted { text, tool_calls, files_touched, .. } = output.interrupted("stop") else { panic!() };
        assert_eq!((text, tool_calls.len(), files_touched), ("second".into(), 1, vec!["/w/a".into()]));
    }
}
