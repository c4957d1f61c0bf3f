//! One turn: the updates between askbox's prompt and its result, as events.
//!
//! Pieces of a text become one text once something else comes. Only the text behind the last tool call is the turn's result.

use std::path::Path;
use std::time::Instant;

use agent_client_protocol_schema::v1::{ContentBlock, ContentChunk, SessionUpdate, ToolCallUpdate};

use crate::protocol::open_calls::{News, OpenCalls};
use askbox_agent::presets::Preset;
use askbox_agent::stream::Generating;
use askbox_agent::stream::ledger::Ledger;
use askbox_agent::{EventKind, StreamItem};

/// The most bytes that are kept of a text.
const TEXT: usize = 64 << 10;

/// The current turn.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) began: Instant,
    pub(super) calls: OpenCalls,
    /// The answers of the model so far.
    pub(super) answers: u64,
    /// A sign that the turn has failed.
    pub(super) sign: Option<&'static str>,
    /// True if a request for a permission was refused, or not decided.
    pub(super) was_refused: bool,
    /// True if askbox has cancelled the turn.
    pub(super) was_cancelled: bool,
    /// True while the model answers: no tool has ended since.
    is_answering: bool,
    saying: Option<Saying>,
    /// The text behind the last tool call.
    text: String,
}

/// A text that comes in pieces.
#[derive(Debug)]
struct Saying {
    is_thought: bool,
    message: Option<String>,
    text: String,
}

impl Turn {
    pub(super) fn begin(agent: Preset, cwd: &Path) -> Self {
        Self {
            began: Instant::now(),
            calls: OpenCalls::new(agent, cwd),
            answers: 0,
            sign: None,
            was_refused: false,
            was_cancelled: false,
            is_answering: false,
            saying: None,
            text: String::new(),
        }
    }

    /// Takes in an update of the session.
    pub(super) fn update(&mut self, update: SessionUpdate, ledger: &mut Ledger) -> Vec<StreamItem> {
        let mut items = Vec::new();
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => self.said(&chunk, false, ledger, &mut items),
            SessionUpdate::AgentThoughtChunk(chunk) => self.said(&chunk, true, ledger, &mut items),
            SessionUpdate::ToolCall(call) => self.called(&ToolCallUpdate::from(call), false, ledger, &mut items),
            SessionUpdate::ToolCallUpdate(call) => self.called(&call, false, ledger, &mut items),
            _ => {}
        }
        items
    }

    /// Takes in a call, or an update about one. `is_asked`: the agent asks for a permission to make it.
    pub(super) fn called(&mut self, call: &ToolCallUpdate, is_asked: bool, ledger: &mut Ledger, items: &mut Vec<StreamItem>) {
        self.flush(ledger, items);
        let at = items.len();
        match self.calls.update(call, is_asked, ledger, items) {
            News::Begun => self.text.clear(),
            News::Ended => {
                self.text.clear();
                if self.is_answering {
                    self.is_answering = false;
                    return;
                }
            }
            News::None => return,
        }
        if !self.is_answering {
            items.insert(at, self.another_answer());
        }
    }

    fn said(&mut self, chunk: &ContentChunk, is_thought: bool, ledger: &mut Ledger, items: &mut Vec<StreamItem>) {
        let ContentBlock::Text(piece) = &chunk.content else { return };
        let piece = piece.text.as_str();
        if piece.is_empty() {
            return;
        }
        let message = chunk.message_id.as_ref().map(|id| id.0.to_string());
        let goes_on = |saying: &Saying| saying.is_thought == is_thought && (message.is_none() || saying.message == message);
        if !self.saying.as_ref().is_some_and(goes_on) {
            self.flush(ledger, items);
            if !self.is_answering {
                items.push(self.another_answer());
            }
            items.push(StreamItem::Generating(Generating::Answer));
            if !is_thought && !self.text.is_empty() {
                self.text.push_str("\n\n");
            }
            self.saying = Some(Saying { is_thought, message, text: String::new() });
        }
        if let Some(saying) = &mut self.saying {
            append(&mut saying.text, piece);
        }
        if is_thought {
            items.push(StreamItem::Generating(Generating::Thinking));
        } else {
            append(&mut self.text, piece);
            ledger.is_saying(piece);
            items.push(StreamItem::Generating(Generating::Text(piece.into())));
        }
    }

    fn another_answer(&mut self) -> StreamItem {
        self.is_answering = true;
        self.answers += 1;
        StreamItem::RoundTrip
    }

    /// Ends the text that is being said.
    pub(super) fn flush(&mut self, ledger: &mut Ledger, items: &mut Vec<StreamItem>) {
        let Some(saying) = self.saying.take() else { return };
        let text = saying.text.as_str().into();
        items.push(StreamItem::Event(if saying.is_thought {
            EventKind::Thinking { text, parent: None }
        } else {
            ledger.said(&saying.text);
            EventKind::Text { text, parent: None }
        }));
    }

    /// The text behind the last tool call.
    pub(super) fn text(&self) -> &str {
        self.text.trim()
    }
}

fn append(text: &mut String, piece: &str) {
    text.push_str(askbox_agent::stream::bounded::head(piece, TEXT.saturating_sub(text.len())));
}
