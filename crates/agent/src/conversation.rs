//! The end of a session's conversation, for a person who reads along (measured with 2.1.332).
//!
//! The transcript is read backwards within bounds, so its length costs nothing. Two processes that continue one session write two branches
//! into one file. The branch of the last entry is the conversation. All texts are hostile, and come out safe for one place of a page.

pub mod codex;
pub mod opencode;

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Read, Seek};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::transcript::Entry;
use askbox_mailbox::disk::{LinesFromEnd, Part};
use askbox_mailbox::{Time, text};

/// The longest entry that is shown, in bytes.
const LONGEST: usize = 1 << 20;
/// The most bytes of entries that are read.
const LARGEST_LOOK: usize = 4 << 20;
/// The most bytes of longer entries that are passed over.
const MOST_PASSED: usize = 64 << 20;
/// The maximum number of turns.
const MOST: usize = 80;
/// The maximum length of a message, and of the input and the result of a call, in bytes.
const LONGEST_MESSAGE: usize = 16 << 10;
const LONGEST_PART: usize = 4 << 10;
/// The maximum length of the line of a call, in characters.
const LONGEST_ABOUT: usize = 120;

/// Beginnings of texts that the agent program wrote in the person's name.
const NOT_TYPED: [&str; 5] = ["<local-command", "<command-name>", "<command-message>", "<system-reminder>", "<task-notification>"];
/// The beginning and the end of words that the agent program puts into a result.
const REMINDER: [&str; 2] = ["<system-reminder>", "</system-reminder>"];
/// The frame around the words of another session.
const OF_PEER: [&str; 2] = ["Another Claude session sent a message:\n", "\n\nThis came from another Claude session"];
/// The fields that say best what a call does.
const TELLING: [&str; 8] = ["command", "file_path", "pattern", "url", "query", "skill", "description", "prompt"];

/// The end of a conversation.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Conversation {
    /// The last turns, the newest last.
    pub turns: Vec<Turn>,
    /// True if there are earlier turns.
    pub is_cut: bool,
    /// The branch of git.
    pub branch: Option<String>,
    /// The working folder.
    pub cwd: Option<PathBuf>,
    /// The id of the last turn.
    pub turn: Option<String>,
}

/// A part of a conversation.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// When it was written.
    pub at: Option<Time>,
    /// Its content.
    pub what: What,
}

/// The content of a turn.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// Words of the person.
    Person(String),
    /// Words of another session, or of askbox.
    Peer(String),
    /// Words of the model, as Markdown.
    Agent(String),
    /// A call of a tool.
    Call(Call),
    /// An event, in words of askbox.
    Event(Cow<'static, str>),
}

/// A call of a tool.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The most telling part of its input, on one line.
    pub about: String,
    /// Its input, if it has no change.
    pub input: String,
    /// The change of a file: lines with `+`, `-` or a space in front.
    pub change: Vec<String>,
    /// Its result, if it has one.
    pub result: Option<Outcome>,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Its text, without reminders.
    pub text: String,
    /// True if the call failed or was refused.
    pub is_error: bool,
}

/// Reads the end of a conversation.
///
/// # Errors
/// The error of the file.
pub fn read(transcript: impl Read + Seek) -> io::Result<Conversation> {
    let mut lines = LinesFromEnd::new(transcript)?.bounded(LONGEST);
    let (mut reader, mut left, mut may_pass) = (Reader::default(), LARGEST_LOOK, MOST_PASSED);
    let mut has_more = true;
    while reader.turns.len() < MOST && reader.next != Next::Nothing {
        let is_within = match lines.next_part()? {
            None => {
                has_more = false;
                break;
            }
            Some(Part::Line(line)) => {
                let is_within = spend(&mut left, line.len());
                if is_within && let Ok(entry) = serde_json::from_slice::<Entry>(&line) {
                    reader.take(&entry);
                }
                is_within
            }
            Some(Part::Inner(bytes)) => {
                reader.pass(&bytes);
                spend(&mut may_pass, bytes.len())
            }
            Some(Part::Begin(bytes)) => {
                reader.pass(&bytes);
                reader.has_passed(&bytes);
                true
            }
        };
        if !is_within {
            break;
        }
    }
    let is_cut = has_more && reader.next != Next::Nothing;
    let mut turns = reader.turns;
    turns.reverse();
    Ok(Conversation { turns, is_cut, branch: reader.branch, cwd: reader.cwd, turn: reader.turn })
}

/// Takes `cost` from what is left. Returns false if it was not enough.
fn spend(left: &mut usize, cost: usize) -> bool {
    let rest = left.checked_sub(cost);
    *left = rest.unwrap_or_default();
    rest.is_some()
}

/// The entry that comes before the ones that were read.
#[derive(Debug, Default, PartialEq, Eq)]
enum Next {
    /// The first one of the file's end.
    #[default]
    Any,
    /// The one with this id.
    Entry(String),
    /// The conversation begins here.
    Nothing,
}

#[derive(Default)]
struct Reader {
    /// The turns, the newest first.
    turns: Vec<Turn>,
    next: Next,
    /// The results of calls that were not read yet. Results of calls that ran side by side lie on branches of their own.
    results: HashMap<String, Outcome>,
    /// Calls of one message may lie on branches of their own too: each with the id of its message.
    aside: Vec<(Value, Vec<Turn>)>,
    /// The id of the model's message that was read last.
    message: Value,
    /// The begin of the part that was passed last, and whether the line is the next entry.
    passed: Vec<u8>,
    is_next: bool,
    branch: Option<String>,
    cwd: Option<PathBuf>,
    turn: Option<String>,
}

impl Reader {
    fn take(&mut self, entry: &Entry) {
        let Some(uuid) = entry.uuid.as_ref().filter(|_| !entry.is_of_subagent) else { return };
        if entry.kind == "user" {
            for result in entry.blocks().iter().filter(|block| block["type"] == "tool_result") {
                let outcome = Outcome {
                    text: bounded(&without_reminders(&words(&result["content"])), LONGEST_PART),
                    is_error: result["is_error"] == true,
                };
                self.results.entry(result["tool_use_id"].as_str().unwrap_or_default().to_owned()).or_insert(outcome);
            }
        }
        let is_next = match &self.next {
            Next::Any => true,
            Next::Entry(next) => next == uuid,
            Next::Nothing => false,
        };
        let message = &entry.message["id"];
        let is_of_message = entry.kind == "assistant" && message.is_string();
        if is_next {
            self.go_on_with(entry.parent.clone().filter(|parent| parent != uuid), entry.subtype == "compact_boundary");
            self.branch = self.branch.take().or_else(|| Some(text::excerpt(entry.branch.as_deref()?, 80)));
            self.cwd = self.cwd.take().or_else(|| entry.cwd.clone());
            self.turn = self.turn.take().or_else(|| entry.turn.clone());
            if is_of_message {
                let of_message = std::mem::take(&mut self.aside).into_iter().filter(|(of, _)| of == message);
                self.turns.extend(of_message.flat_map(|(_, turns)| turns));
                self.message = message.clone();
            }
        }
        let turns = self.turns_of(entry);
        if is_next || (is_of_message && self.message == *message) {
            self.turns.extend(turns);
        } else if is_of_message && self.aside.len() < MOST {
            self.aside.push((message.clone(), turns));
        }
    }

    /// The conversation in front of a compaction lies in the same file.
    fn go_on_with(&mut self, parent: Option<String>, is_compaction: bool) {
        self.next = match parent {
            Some(parent) => Next::Entry(parent),
            None if is_compaction => Next::Any,
            None => Next::Nothing,
        };
    }

    /// Looks at a part of an entry that is too long.
    fn pass(&mut self, bytes: &[u8]) {
        if let Next::Entry(next) = &self.next {
            // The id may lie across two parts.
            let all = [bytes, &self.passed].concat();
            self.is_next |= String::from_utf8_lossy(&all).contains(&format!("\"uuid\":\"{next}\""));
            self.passed = bytes[..bytes.len().min(64)].to_vec();
        }
    }

    /// Goes on in front of an entry that was too long and begins with these bytes.
    fn has_passed(&mut self, bytes: &[u8]) {
        self.passed.clear();
        let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(256)]);
        let Some(rest) = begin.strip_prefix("{\"parentUuid\":") else { return };
        let is_next = std::mem::take(&mut self.is_next) || (self.next == Next::Any && !rest.contains("\"isSidechain\":true"));
        if is_next {
            let parent = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
            self.go_on_with(parent.map(|(parent, _)| parent.to_owned()), false);
            self.turns.push(Turn { at: None, what: What::Event("cut: an entry that is too long to show".into()) });
        }
    }

    /// The parts of an entry that a person reads, the last one first.
    fn turns_of(&mut self, entry: &Entry) -> Vec<Turn> {
        let content = match entry.kind.as_str() {
            "assistant" if entry.is_work() || entry.is_api_error => {
                entry.blocks().iter().rev().filter_map(|block| self.block(block)).collect()
            }
            "user" => message(entry).into_iter().collect(),
            "attachment" => within_turn(entry).into_iter().collect(),
            "system" if entry.subtype == "compact_boundary" => vec![What::Event("the conversation was compacted".into())],
            _ => Vec::new(),
        };
        content.into_iter().map(|what| Turn { at: entry.at(), what }).collect()
    }

    fn block(&mut self, block: &Value) -> Option<What> {
        match block["type"].as_str()? {
            "text" => {
                Some(block["text"].as_str()?).filter(|text| !text::is_blank(text)).map(|text| What::Agent(bounded(text, LONGEST_MESSAGE)))
            }
            "tool_use" => {
                let (id, name, input) = (block["id"].as_str()?, block["name"].as_str()?, &block["input"]);
                let about = TELLING.iter().find_map(|field| input[field].as_str()).map_or_else(|| input.to_string(), str::to_owned);
                let change = change(name, input);
                let input = match input["command"].as_str() {
                    _ if !change.is_empty() => String::new(),
                    Some(command) => command.to_owned(),
                    None => serde_json::to_string_pretty(input).unwrap_or_default(),
                };
                Some(What::Call(Call {
                    result: self.results.remove(id),
                    id: text::excerpt(id, 80),
                    name: text::excerpt(name, 80),
                    about: text::excerpt(&about, LONGEST_ABOUT),
                    input: bounded(&input, LONGEST_PART),
                    change,
                }))
            }
            _ => None,
        }
    }
}

/// The words of a user's entry, if a person or another session said them.
fn message(entry: &Entry) -> Option<What> {
    // Claude Code marks the words of another session as its own (`isMeta`), but shows them.
    let is_peer = entry.origin["kind"] == "peer";
    if (entry.is_meta && !is_peer) || entry.is_summary {
        return None;
    }
    spoken(&entry.message["content"], &entry.origin)
}

/// The words that reached a model at work.
fn within_turn(entry: &Entry) -> Option<What> {
    let attachment = entry.attachment.as_ref().filter(|attachment| attachment.kind == "queued_command")?;
    spoken(&attachment.prompt, &attachment.origin)
}

fn spoken(content: &Value, origin: &Value) -> Option<What> {
    let words = words(content);
    if text::is_blank(&words) || NOT_TYPED.iter().any(|begin| words.trim_start().starts_with(begin)) {
        return None;
    }
    match origin["kind"].as_str() {
        None | Some("human") if words.starts_with("[Request interrupted by user") => {
            Some(What::Event("interrupted at its terminal".into()))
        }
        None | Some("human") => Some(What::Person(bounded(&words, LONGEST_MESSAGE))),
        Some("peer") => {
            let inner = words.strip_prefix(OF_PEER[0]).unwrap_or(&words);
            let inner = inner.rsplit_once(OF_PEER[1]).map_or(inner, |(inner, _)| inner);
            Some(What::Peer(bounded(inner, LONGEST_MESSAGE)))
        }
        Some(_) => None,
    }
}

/// The text of a content, whose blocks may be a text and others.
fn words(content: &Value) -> String {
    let of_block = |block: &Value| match block["type"].as_str() {
        Some("text") => block["text"].as_str().filter(|text| !NOT_TYPED.iter().any(|begin| text.starts_with(begin))).map(str::to_owned),
        Some("image") => Some("[picture]".to_owned()),
        _ => None,
    };
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(of_block).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

fn without_reminders(words: &str) -> String {
    let mut parts = words.split(REMINDER[0]);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once(REMINDER[1]).map_or("", |(_, rest)| rest))
}

/// The change that a call makes to a file, in lines. The lines that stay stand in front and behind.
fn change(name: &str, input: &Value) -> Vec<String> {
    let lines = |field: &str| input[field].as_str().unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = match name {
        "Edit" => (lines("old_string"), lines("new_string")),
        "Write" => (Vec::new(), lines("content")),
        _ => return Vec::new(),
    };
    let same = |pairs: &mut dyn Iterator<Item = (&String, &String)>| pairs.take_while(|(old, new)| old == new).count();
    let before = same(&mut old.iter().zip(&new));
    let behind = same(&mut old[before..].iter().rev().zip(new[before..].iter().rev()));
    let (gone, come) = (&old[before..old.len() - behind], &new[before..new.len() - behind]);
    let parts = [(' ', &old[..before]), ('-', gone), ('+', come), (' ', &old[old.len() - behind..])];
    of_change(parts.into_iter().flat_map(|(sign, lines)| lines.iter().map(move |line| format!("{sign}{line}"))))
}

/// The lines of a change, within bounds.
fn of_change(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut left = LONGEST_MESSAGE;
    let mut shown: Vec<String> =
        lines.map(|line| bounded(&line, LONGEST_PART)).take_while(|line| spend(&mut left, line.len() + 1)).collect();
    if left == 0 {
        shown.push(" …".to_owned());
    }
    shown
}

/// The begin of a hostile text, without characters that could mislead.
fn bounded(hostile: &str, longest: usize) -> String {
    text::printable(&text::beginning(hostile, longest))
}

#[cfg(test)]
mod tests;
