//! The end of a session's conversation, for a person who reads along (measured with 2.1.332).
//!
//! The transcript is read backwards within bounds, so its length costs nothing. Two processes that continue one session write two branches
//! into one file. The branch of the last entry is the conversation. All texts are hostile, and come out safe for one place of a page.

use std::collections::HashMap;
use std::io::{self, Read, Seek};
use std::path::PathBuf;

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
#[derive(Debug, Default)]
pub struct Conversation {
    /// The last turns, the newest last.
    pub turns: Vec<Turn>,
    /// True if there are earlier turns.
    pub is_cut: bool,
    /// The branch of git.
    pub branch: Option<String>,
    /// The working folder.
    pub cwd: Option<PathBuf>,
}

/// A part of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub struct Turn {
    /// When it was written.
    pub at: Option<Time>,
    /// Its content.
    pub what: What,
}

/// The content of a turn.
#[derive(Debug, PartialEq, Eq)]
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
    Event(&'static str),
}

/// A call of a tool.
#[derive(Debug, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
    Ok(Conversation { turns, is_cut, branch: reader.branch, cwd: reader.cwd })
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
            self.turns.push(Turn { at: None, what: What::Event("cut: an entry that is too long to show") });
        }
    }

    /// The parts of an entry that a person reads, the last one first.
    fn turns_of(&mut self, entry: &Entry) -> Vec<Turn> {
        let content = match entry.kind.as_str() {
            "assistant" if entry.is_work() || entry.is_api_error => {
                entry.blocks().iter().rev().filter_map(|block| self.block(block)).collect()
            }
            "user" => message(entry).into_iter().collect(),
            "system" if entry.subtype == "compact_boundary" => vec![What::Event("the conversation was compacted")],
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
    let words = words(&entry.message["content"]);
    if text::is_blank(&words) || NOT_TYPED.iter().any(|begin| words.trim_start().starts_with(begin)) {
        return None;
    }
    match entry.origin["kind"].as_str() {
        None | Some("human") if words.starts_with("[Request interrupted by user") => Some(What::Event("interrupted at its terminal")),
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
    let mut left = LONGEST_MESSAGE;
    let all = parts.into_iter().flat_map(|(sign, lines)| lines.iter().map(move |line| bounded(&format!("{sign}{line}"), LONGEST_PART)));
    let mut shown: Vec<String> = all.take_while(|line| spend(&mut left, line.len() + 1)).collect();
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
mod tests {
    use super::*;
    use serde_json::json;
    use std::io::{Cursor, SeekFrom};

    fn conversation(entries: &[Value]) -> Conversation {
        read(Cursor::new(entries.iter().map(|entry| format!("{entry}\n")).collect::<String>())).unwrap()
    }

    fn said(entries: &[Value]) -> Vec<What> {
        conversation(entries).turns.into_iter().map(|turn| turn.what).collect()
    }

    /// As Claude Code writes it: the parent comes first.
    fn long(uuid: &str, parent: Option<&str>, length: usize) -> String {
        let parent = json!(parent);
        let text = "x".repeat(length);
        format!(r#"{{"parentUuid":{parent},"isSidechain":false,"type":"user","message":{{"content":"{text}"}},"uuid":"{uuid}"}}"#)
    }

    fn user(uuid: &str, parent: Option<&str>, content: &str) -> Value {
        json!({"parentUuid": parent, "isSidechain": false, "type": "user", "uuid": uuid, "origin": {"kind": "human"}, "message": {"content": content}})
    }

    fn agent(uuid: &str, parent: &str, message: &str, block: &Value) -> Value {
        json!({"parentUuid": parent, "type": "assistant", "uuid": uuid, "message": {"id": message, "model": "m", "content": [block]}})
    }

    fn text(words: &str) -> Value {
        json!({"type": "text", "text": words})
    }

    fn person(words: &str) -> What {
        What::Person(words.into())
    }

    fn model(words: &str) -> What {
        What::Agent(words.into())
    }

    #[test]
    fn two_branches_show_one_tail() {
        let entries = [
            user("a", None, "first"),
            agent("b", "a", "m1", &text("hello")),
            user("here", Some("b"), "at the terminal"),
            user("c", Some("b"), "from outside"),
            agent("d", "here", "m2", &text("to the terminal")),
            agent("e", "c", "m3", &text("to the outside")),
        ];
        assert_eq!(said(&entries), [person("first"), model("hello"), person("from outside"), model("to the outside")]);
        let there = [person("first"), model("hello"), person("at the terminal"), model("to the terminal")];
        assert_eq!(said(&entries[..5]), there);
        assert!(!conversation(&entries).is_cut);
    }

    #[test]
    fn calls_side_by_side_keep_their_results() {
        let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": id}});
        let result = |uuid: &str, parent: &str, id: &str| {
            let block = json!({"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": format!("did {id}<system-reminder>x</system-reminder>.")}]});
            json!({"parentUuid": parent, "type": "user", "uuid": uuid, "message": {"content": [block]}})
        };
        let entries = [
            user("a", None, "go"),
            agent("b", "a", "m", &call("one")),
            agent("c", "b", "m", &call("two")),
            result("r2", "c", "two"),
            result("r1", "b", "one"),
            agent("d", "r1", "n", &text("done")),
        ];
        let results = |said: &[What]| {
            let result =
                |what: &What| if let What::Call(call) = what { Some((call.about.clone(), call.result.clone()?.text)) } else { None };
            said.iter().filter_map(result).collect::<Vec<_>>()
        };
        let all = said(&entries);
        assert_eq!(results(&all), [("one".into(), "did one.".into()), ("two".into(), "did two.".into())], "{all:?}");
        assert_eq!((all.len(), results(&said(&entries[..4])).len()), (4, 1));
    }

    #[test]
    fn line_larger_than_the_bound() {
        let after = user("c", Some("big"), "after");
        for length in [LONGEST + 1, 3 * LONGEST, MOST_PASSED / 2] {
            let lines = [user("a", None, "before").to_string(), long("big", Some("a"), length), user("x", Some("a"), "beside").to_string()];
            let read = read(Cursor::new([&lines[..], &[after.to_string(), String::new()]].concat().join("\n"))).unwrap();
            let [before, cut, last] = &read.turns[..] else { panic!("{length}") };
            assert_eq!((&before.what, &last.what), (&person("before"), &person("after")));
            assert!(matches!(cut.what, What::Event(words) if words.starts_with("cut")), "{cut:?}");
        }
        // A long line of another branch is not a turn.
        let lines = [user("a", None, "before").to_string(), long("big", Some("a"), 2 * LONGEST), user("c", Some("a"), "after").to_string()];
        assert_eq!(read(Cursor::new(lines.join("\n"))).unwrap().turns.len(), 2);
        let all_too_long = [long("a", None, MOST_PASSED), long("b", Some("a"), MOST_PASSED)].join("\n");
        assert!(read(Cursor::new(all_too_long)).unwrap().is_cut);
    }

    #[test]
    fn compaction_summary_is_not_the_persons_words() {
        let mut summary = user("s", Some("k"), "This session is being continued");
        summary["isCompactSummary"] = true.into();
        let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "k", "parentUuid": null});
        let entries = [user("a", None, "first"), boundary, summary, user("b", Some("s"), "second")];
        assert_eq!(said(&entries), [person("first"), What::Event("the conversation was compacted"), person("second")]);
    }

    #[test]
    fn thinking_and_reminders_never_shown() {
        let mut entries = vec![user("0", None, "shown")];
        let mut add = |mut entry: Value| {
            (entry["parentUuid"], entry["uuid"]) = ((entries.len() - 1).to_string().into(), entries.len().to_string().into());
            entries.push(entry);
        };
        for begin in NOT_TYPED {
            add(user("", None, &format!("{begin}secret")));
        }
        let with = |field: &str, value: Value| {
            let mut entry = user("", None, "secret");
            entry[field] = value;
            entry
        };
        add(with("isMeta", true.into()));
        add(with("origin", json!({"kind": "task-notification"})));
        add(with("type", "attachment".into()));
        add(with("type", "queue-operation".into()));
        add(with("type", "system".into()));
        add(agent("", "", "m", &json!({"type": "thinking", "thinking": "secret"})));
        add(agent("", "", "m", &json!({"type": "redacted_thinking", "data": "secret"})));
        let mut subagents = with("isSidechain", true.into());
        subagents["uuid"] = "beside".into();
        entries.push(subagents);
        assert_eq!(said(&entries), [person("shown")]);
    }

    #[test]
    fn the_words_of_another_session_are_not_the_persons() {
        let mut peer = user("a", None, &format!("{}go on{} — not typed by your user…", OF_PEER[0], OF_PEER[1]));
        (peer["origin"], peer["isMeta"]) = (json!({"kind": "peer"}), true.into());
        assert_eq!(said(&[peer]), [What::Peer("go on".into())]);
        assert_eq!(said(&[user("a", None, "\u{1b}[2J\u{202e}evil")]), [person("[2Jevil")]);
    }

    #[test]
    fn the_change_of_an_edit_keeps_what_stays() {
        let edit = change("Edit", &json!({"old_string": "a\nb\nc", "new_string": "a\nx\ny\nc"}));
        assert_eq!(edit, [" a", "-b", "+x", "+y", " c"]);
        assert_eq!(change("Write", &json!({"content": "new\n"})), ["+new"]);
        assert_eq!(change("Edit", &json!({"old_string": "a\na", "new_string": "a"})), [" a", "-a"]);
        assert!(change("Write", &json!({"content": "line\n".repeat(100_000)})).len() < 4000);
    }

    /// Counts what is read.
    struct Counted<F>(F, u64);

    impl<F: Read> Read for Counted<F> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read(into)?;
            self.1 += read as u64;
            Ok(read)
        }
    }

    impl<F: Seek> Seek for Counted<F> {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn a_long_transcript_is_read_from_its_end() {
        let line = |n: usize| user(&n.to_string(), Some(&(n - 1).to_string()), &"words ".repeat(1000)).to_string() + "\n";
        let mut file = Counted(Cursor::new((1..4000).map(line).collect::<String>()), 0);
        let read = read(&mut file).unwrap();
        assert!(read.is_cut && read.turns.len() == MOST && file.1 < 600_000, "{} bytes", file.1);
    }
}
