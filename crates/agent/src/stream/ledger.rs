//! The work of a run so far, within limits: its tool calls, the files that they wrote, and the text of the turn. Also the text and the
//! size of a tool's result.

use std::collections::VecDeque;

use crate::events::{EventKind, ToolSummary};
use crate::stream::bounded::{head, tail};
use crate::stream::lines::Line;
use crate::stream::wire::{self, Raw};
use askbox_mailbox::Untrusted;

/// The most calls that are kept with their results.
const CALLS: usize = 64;
/// The most calls without a result that are kept.
const OPEN: usize = 256;
/// The most bytes that are kept of the input of a call and of its result.
const CALL_INPUT: usize = 512;
const CALL_TEXT: usize = 1 << 10;
/// The most bytes that are kept of the end of a turn's text.
const WORDS: usize = 32 << 10;
/// The most files that are kept, the longest path, and the limit for all paths together, in bytes.
const FILES: usize = 1000;
const PATH: usize = 4096;
const PATHS: usize = 256 << 10;

/// The work of a run so far.
#[derive(Debug, Default)]
pub struct Ledger {
    calls: VecDeque<ToolSummary>,
    omitted: u64,
    open: VecDeque<Open>,
    /// The files that the calls wrote.
    pub files: Vec<Untrusted>,
    /// The bytes of `files`.
    paths: usize,
    words: String,
    /// The end of the text that is being generated.
    pub(super) unfinished: String,
}

#[derive(Debug)]
struct Open {
    id: Untrusted,
    name: Untrusted,
    file: Option<Untrusted>,
}

impl Ledger {
    /// The event with the work of a turn that was interrupted. `how` says what stopped it.
    pub fn interrupted(&self, how: Untrusted, session_id: Option<Untrusted>) -> EventKind {
        let (tool_calls, tool_calls_omitted) = self.calls();
        let (text, files_touched) = (self.words().as_str().into(), self.files.clone());
        EventKind::Interrupted { how, text, report: None, tool_calls, tool_calls_omitted, files_touched, session_id }
    }

    /// Begins another turn.
    pub fn new_turn(&mut self) {
        self.words.clear();
        self.unfinished.clear();
    }

    /// Takes in the next words of a text that is being generated.
    pub fn is_saying(&mut self, words: &str) {
        self.unfinished.push_str(tail(words, WORDS));
        // Not at each piece, because that would copy the whole end each time.
        if self.unfinished.len() > 2 * WORDS {
            self.unfinished = tail(&self.unfinished, WORDS).to_owned();
        }
    }

    /// Takes in a text.
    pub fn said(&mut self, text: &str) {
        self.unfinished.clear();
        if !self.words.is_empty() {
            self.words.push_str("\n\n");
        }
        self.words.push_str(tail(text, WORDS));
        if self.words.len() > WORDS {
            self.words = tail(&self.words, WORDS).to_owned();
        }
    }

    /// Takes in a tool call; `file` is the file that it is going to write.
    pub fn called(&mut self, id: &str, name: &str, input: &str, file: Option<Untrusted>) {
        let (id, name): (Untrusted, Untrusted) = (head(id, CALL_INPUT).into(), head(name, CALL_INPUT).into());
        if self.calls.len() == CALLS {
            self.calls.pop_front();
            self.omitted += 1;
        }
        if self.open.len() == OPEN {
            self.open.pop_front();
        }
        self.calls.push_back(ToolSummary {
            id: id.clone(),
            name: name.clone(),
            input: head(input, CALL_INPUT).into(),
            is_error: None,
            text: Untrusted::default(),
            bytes: 0,
        });
        self.open.push_back(Open { id, name, file: file.filter(|path| path.raw().len() <= PATH) });
    }

    /// Takes in a tool result; returns the name of the tool if the call is known.
    pub fn answered(&mut self, id: &Untrusted, is_error: bool, text: &str, bytes: u64) -> Option<Untrusted> {
        let id = head(id.raw(), CALL_INPUT);
        let unanswered = |call: &&mut ToolSummary| call.id == id && call.is_error.is_none();
        if let Some(call) = self.calls.iter_mut().rev().find(unanswered) {
            call.is_error = Some(is_error);
            call.text = head(text, CALL_TEXT).into();
            call.bytes = bytes;
        }
        let at = self.open.iter().rposition(|open| open.id == id)?;
        let open = self.open.remove(at)?;
        open.file.filter(|_| !is_error).into_iter().for_each(|file| self.wrote(file));
        Some(open.name)
    }

    /// Notes that a call has written this file.
    pub fn wrote(&mut self, file: Untrusted) {
        if self.files.len() < FILES && self.paths + file.raw().len() <= PATHS && !self.files.contains(&file) {
            self.paths += file.raw().len();
            self.files.push(file);
        }
    }

    pub(crate) fn calls(&self) -> (Vec<ToolSummary>, u64) {
        (self.calls.iter().cloned().collect(), self.omitted)
    }

    /// The end of the agent's words in this turn, with the words of a text that was cut.
    pub(crate) fn words(&self) -> String {
        let between = if self.words.is_empty() || self.unfinished.is_empty() { "" } else { "\n\n" };
        tail(&[&self.words, between, &self.unfinished].concat(), WORDS).to_owned()
    }
}

/// The bytes that are kept of a tool result's text in an event.
pub const RESULT_TEXT: usize = 4 << 10;

/// The file that a call writes, for the tools that write one.
pub(crate) fn written_file(tool: &str, input: Raw<'_>) -> Option<Untrusted> {
    if !matches!(tool, "Write" | "Edit" | "MultiEdit" | "NotebookEdit") {
        return None;
    }
    let paths: wire::Paths = wire::object(input).unwrap_or_default();
    wire::text(paths.notebook_path.or(paths.file_path)).ok()?
}

/// The head of a tool result's text, and the result's true size in bytes.
pub(crate) fn result_text(line: &Line<'_>, content: Raw<'_>) -> serde_json::Result<(String, u64)> {
    let mut bytes = content.map_or(0, |content| line.dropped_in(content.get()));
    if let Some(whole) = wire::text(content)? {
        return Ok((head(whole.raw(), RESULT_TEXT).to_owned(), bytes + whole.raw().len() as u64));
    }
    let mut text = String::new();
    for block in wire::blocks(content)? {
        match wire::text(block.text)? {
            Some(part) => {
                let part = part.raw();
                bytes += part.len() as u64;
                if !text.is_empty() && text.len() < RESULT_TEXT {
                    text.push('\n');
                }
                text.push_str(head(part, RESULT_TEXT.saturating_sub(text.len())));
            }
            // For pictures and the like, only the kind and the size are kept.
            None => {
                bytes += block.source.map_or(0, |source| source.get().len() as u64);
                text.push_str(&format!("[{}]", head(wire::word(block.kind), 64)));
            }
        }
    }
    Ok((text, bytes))
}
