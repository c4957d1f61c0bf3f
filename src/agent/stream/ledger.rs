//! What a run has done so far, bounded: its tool calls, the files that they wrote, and the text of the turn.

use std::collections::VecDeque;

use crate::agent::events::ToolSummary;
use crate::agent::stream::bounded::{head, tail};
use crate::untrusted::Untrusted;

/// Calls that are kept with their results.
const CALLS: usize = 64;
/// Calls without a result that are kept.
const OPEN: usize = 256;
/// Kept of the input of a call and of its result, in bytes.
const CALL_INPUT: usize = 512;
const CALL_TEXT: usize = 1 << 10;
/// Kept of the end of a turn's text, in bytes.
const WORDS: usize = 32 << 10;
/// Files that are kept, the longest path, and all paths together, in bytes.
const FILES: usize = 1000;
const PATH: usize = 4096;
const PATHS: usize = 256 << 10;

#[derive(Debug, Default)]
pub(super) struct Ledger {
    calls: VecDeque<ToolSummary>,
    omitted: u64,
    open: VecDeque<Open>,
    files: Vec<Untrusted>,
    /// The bytes of `files`.
    paths: usize,
    words: String,
    /// The end of the text that is being generated.
    unfinished: String,
}

#[derive(Debug)]
struct Open {
    id: Untrusted,
    name: Untrusted,
    file: Option<Untrusted>,
}

impl Ledger {
    pub(super) fn new_turn(&mut self) {
        self.words.clear();
        self.unfinished.clear();
    }

    /// Takes in the next words of a text that is being generated.
    pub(super) fn is_saying(&mut self, words: &str) {
        self.unfinished.push_str(tail(words, WORDS));
        // Not at each piece: that would copy the whole end each time.
        if self.unfinished.len() > 2 * WORDS {
            self.unfinished = tail(&self.unfinished, WORDS).to_owned();
        }
    }

    /// The text that was being generated is void.
    pub(super) fn unsay(&mut self) {
        self.unfinished.clear();
    }

    pub(super) fn said(&mut self, text: &str) {
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
    pub(super) fn called(&mut self, id: &str, name: &str, input: &str, file: Option<Untrusted>) {
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
    pub(super) fn answered(&mut self, id: &Untrusted, is_error: bool, text: &str, bytes: u64) -> Option<Untrusted> {
        let id = head(id.raw(), CALL_INPUT);
        let unanswered = |call: &&mut ToolSummary| call.id == id && call.is_error.is_none();
        if let Some(call) = self.calls.iter_mut().rev().find(unanswered) {
            call.is_error = Some(is_error);
            call.text = head(text, CALL_TEXT).into();
            call.bytes = bytes;
        }
        let at = self.open.iter().rposition(|open| open.id == id)?;
        let open = self.open.remove(at)?;
        if let Some(file) = open.file.filter(|_| !is_error)
            && self.files.len() < FILES
            && self.paths + file.raw().len() <= PATHS
            && !self.files.contains(&file)
        {
            self.paths += file.raw().len();
            self.files.push(file);
        }
        Some(open.name)
    }

    pub(super) fn calls(&self) -> (Vec<ToolSummary>, u64) {
        (self.calls.iter().cloned().collect(), self.omitted)
    }

    pub(super) fn files(&self) -> &[Untrusted] {
        &self.files
    }

    /// The end of what was said in this turn, with the words of a text that was cut.
    pub(super) fn words(&self) -> String {
        let between = if self.words.is_empty() || self.unfinished.is_empty() { "" } else { "\n\n" };
        tail(&[&self.words, between, &self.unfinished].concat(), WORDS).to_owned()
    }
}
