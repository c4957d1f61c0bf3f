//! Finds and reads the transcript of a session, to find out how the session is to be continued.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::Deserialize;
use serde_json::Value;

use crate::stream::lines::BoundedLines;
use askbox_mailbox::{Time, disk};

/// How long a session that makes a call may take to write the first message of its transcript.
pub const FIRST_MESSAGE: Duration = Duration::from_secs(10);

/// The pause between two looks for it.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How much of the end of a transcript is searched for a result, in bytes.
const END: u64 = 16 << 20;

/// The kind of the attachment that says which call a hook deferred.
const DEFERRED: &str = "hook_deferred_tool";

/// An entry of a transcript, as far as askbox reads it.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Entry {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) subtype: Value,
    pub(crate) uuid: Option<String>,
    #[serde(rename = "parentUuid")]
    pub(crate) parent: Option<String>,
    #[serde(rename = "isApiErrorMessage")]
    pub(crate) is_api_error: bool,
    /// True for words of the agent program that the person does not see.
    #[serde(rename = "isMeta")]
    pub(crate) is_meta: bool,
    /// True for the summary that follows a compaction.
    #[serde(rename = "isCompactSummary")]
    pub(crate) is_summary: bool,
    /// Who spoke: `human`, `peer`, `task-notification`.
    pub(crate) origin: Value,
    /// The step of a queue: `enqueue`, `remove`.
    pub(crate) operation: String,
    #[serde(rename = "gitBranch")]
    pub(crate) branch: Option<String>,
    /// The id of its turn.
    #[serde(rename = "promptId")]
    pub(crate) turn: Option<String>,
    /// True for an entry of a subagent.
    #[serde(rename = "isSidechain")]
    pub(crate) is_of_subagent: bool,
    timestamp: Value,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) message: Value,
    pub(crate) attachment: Option<Attachment>,
    /// How a call was refused whose result this is.
    #[serde(rename = "toolDenialKind")]
    pub(crate) denial: Option<String>,
    /// True if that call was refused before it ran.
    #[serde(rename = "toolDenialBeforeRun")]
    pub(crate) before_run: bool,
}

/// A remark of the agent program.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Attachment {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) decision: String,
    #[serde(rename = "toolUseID")]
    pub(crate) id: Option<String>,
    /// Words that came while the model was at work, and who spoke.
    pub(crate) prompt: Value,
    pub(crate) origin: Value,
}

impl Entry {
    /// True if the model wrote the entry. The agent program writes entries in the model's name too: the API's refusals, for example.
    pub(crate) fn is_work(&self) -> bool {
        self.kind == "assistant" && !self.is_api_error && self.message["model"] != "<synthetic>"
    }

    /// The blocks of its message.
    pub(crate) fn blocks(&self) -> &[Value] {
        self.message["content"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// When it was written.
    pub(crate) fn at(&self) -> Option<Time> {
        self.timestamp.as_str()?.parse().ok()
    }
}

/// True if a session has this message, and no entry of the model after it. If the message is sent to such a session once more, the
/// agent program adds it a second time. Returns false if the transcript cannot be read.
pub fn is_unanswered(transcript: impl Read, message_id: &str) -> bool {
    let mut lines = BoundedLines::new(transcript);
    let mut has_it = false;
    loop {
        let line = match lines.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => return has_it,
            Err(_) => return false,
        };
        // Parse only the lines that may matter.
        if !(has_it && line.text.contains("assistant") || line.text.contains(message_id)) {
            continue;
        }
        match serde_json::from_str::<Entry>(line.text) {
            Ok(entry) if entry.kind == "user" => has_it |= entry.uuid.as_deref() == Some(message_id),
            Ok(entry) if entry.is_work() && has_it => return false,
            Ok(_) => {}
            // A cut line may be the agent's.
            Err(_) => return false,
        }
    }
}

/// The entry in front of the first of these messages, if the model has written nothing since. A session that is continued from that
/// entry does not have these messages. `None` if it has none of them, or if the transcript cannot be read.
pub fn before_unanswered(transcript: impl Read, message_ids: &[String]) -> Option<String> {
    let mut lines = BoundedLines::new(transcript);
    let mut before = None;
    while let Some(line) = lines.next_line().ok()? {
        let text = line.text;
        let may_matter = before.is_some() || message_ids.iter().any(|id| text.contains(id.as_str()));
        let Some(entry) = may_matter.then(|| serde_json::from_str::<Entry>(text).ok()).flatten() else { continue };
        let is_one = || entry.kind == "user" && entry.uuid.as_ref().is_some_and(|uuid| message_ids.contains(uuid));
        if entry.is_work() || entry.subtype == "compact_boundary" {
            // The agent program no longer finds the entries in front of a compaction.
            before = None;
        } else if before.is_none() && is_one() {
            before = entry.parent;
        }
    }
    before
}

/// The agent's last words, if the session has one of these messages, and the model has ended its turn since. `None` if the transcript
/// cannot be read.
pub fn last_words(transcript: impl Read, message_ids: &[String]) -> Option<String> {
    let mut lines = BoundedLines::new(transcript);
    let (mut has_one, mut answer) = (false, Answer::default());
    while let Some(line) = lines.next_line().ok()? {
        let text = line.text;
        // Parse only the lines that may matter.
        if !(has_one || message_ids.iter().any(|id| text.contains(id.as_str()))) {
            continue;
        }
        // A cut line may be the agent's.
        let entry = serde_json::from_str::<Entry>(text).ok()?;
        match entry.kind.as_str() {
            _ if entry.is_of_subagent => {}
            "user" => {
                has_one |= entry.uuid.is_some_and(|uuid| message_ids.contains(&uuid));
                answer = Answer::default();
            }
            "assistant" if entry.is_work() => answer.add(&entry.message),
            "assistant" => answer = Answer::default(),
            _ => {}
        }
    }
    (has_one && answer.ends_turn).then_some(answer.text).filter(|text| !text.trim().is_empty())
}

/// An answer of the model. A transcript has one entry for each of its blocks.
#[derive(Default)]
struct Answer {
    id: Value,
    text: String,
    ends_turn: bool,
}

impl Answer {
    /// Takes in an entry of this answer, or of the next one.
    fn add(&mut self, message: &Value) {
        if self.id != message["id"] {
            *self = Self { id: message["id"].clone(), ..Self::default() };
        }
        self.ends_turn = message["stop_reason"] == "end_turn";
        let blocks = message["content"].as_array().into_iter().flatten();
        self.text.extend(blocks.filter_map(|block| block["text"].as_str()));
    }
}

/// True if a call's result was written since this moment: the result of the call with this id, or of any. `is_good` leaves errors out. Only
/// the end of a long transcript is read.
pub fn has_result_since(transcript: impl Read + Seek, since: Time, of: Option<&str>, is_good: bool) -> bool {
    let is_one = |entry: Entry| {
        let is_meant = |block: &Value| of.is_none_or(|id| block["tool_use_id"] == id) && !(is_good && block["is_error"] == true);
        let is_it = |block: &Value| block["type"] == "tool_result" && is_meant(block);
        entry.at().is_some_and(|at| at >= since) && entry.kind == "user" && entry.blocks().iter().any(is_it)
    };
    end_of(transcript, |line| (line.contains("\"tool_result\"") && serde_json::from_str(line).is_ok_and(is_one)).then_some(())).is_some()
}

/// How far a notice has come in its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// It waits for the session's next step. A session that is ended before that forgets it (measured with 2.1.332).
    Queued,
    /// It is a message for the model.
    Shown,
}

/// The beginning of a notice about a task.
const NOTICE: &str = "<task-notification>";

/// The notice that the MCP task with this id is completed. Only the end of a long transcript is read.
pub fn notice_of_task(transcript: impl Read + Seek, task: &str) -> Option<Notice> {
    let mut queued = None;
    let shown = end_of(transcript, |line| {
        let entry: Value = if line.contains(NOTICE) && line.contains(task) { serde_json::from_str(line).ok()? } else { return None };
        let (text, notice) = match entry["type"].as_str()? {
            "user" => (&entry["message"]["content"], Notice::Shown),
            "attachment" => (&entry["attachment"]["prompt"], Notice::Shown),
            "queue-operation" if entry["operation"] == "enqueue" => (&entry["content"], Notice::Queued),
            _ => return None,
        };
        // The result holds a person's words.
        let head = text.as_str()?.strip_prefix(NOTICE)?.split("<result>").next()?;
        if !(head.contains(task) && head.contains("<status>completed</status>")) {
            return None;
        }
        queued = Some(Notice::Queued);
        (notice == Notice::Shown).then_some(notice)
    });
    shown.or(queued)
}

/// The entries of a transcript, up to a line that cannot be read. Only lines that may matter are parsed.
pub(crate) fn entries(transcript: impl Read, may_matter: impl Fn(&str) -> bool) -> impl Iterator<Item = Entry> {
    let mut lines = BoundedLines::new(transcript);
    std::iter::from_fn(move || {
        loop {
            let line = lines.next_line().ok()??;
            if may_matter(line.text)
                && let Ok(entry) = serde_json::from_str(line.text)
            {
                return Some(entry);
            }
        }
    })
}

/// The first thing that is found in a line of the transcript's end.
fn end_of<T>(mut transcript: impl Read + Seek, mut find: impl FnMut(&str) -> Option<T>) -> Option<T> {
    let length = transcript.seek(SeekFrom::End(0)).ok()?;
    transcript.seek(SeekFrom::Start(length.saturating_sub(END))).ok()?;
    let mut lines = BoundedLines::new(transcript);
    while let Ok(Some(line)) = lines.next_line() {
        if let Some(found) = find(line.text) {
            return Some(found);
        }
    }
    None
}

/// The last tool call of a session that a hook deferred.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SuspendedCall {
    /// There is none, or it has its result.
    #[default]
    None,
    /// The session waits with the call of this id.
    Waits(String),
    /// Another call of the same message was made and got its result first. Claude Code then makes the suspended call once more, but its
    /// model reads "Tool result missing" in place of the result (measured with 2.1.330 and 2.1.332). So the answer needs a message.
    ResultIsLost,
}

/// Looks for the call that a session waits with. [`SuspendedCall::None`] if the transcript cannot be read.
pub fn suspended_call(transcript: impl Read) -> SuspendedCall {
    let mut lines = BoundedLines::new(transcript);
    let mut last = SuspendedCall::None;
    while let Ok(Some(line)) = lines.next_line() {
        let text = line.text;
        if text.contains(DEFERRED) {
            if let Ok(Entry { attachment: Some(Attachment { kind, id: Some(id), .. }), .. }) = serde_json::from_str(text)
                && kind == DEFERRED
            {
                last = SuspendedCall::Waits(id);
            }
        } else if let SuspendedCall::Waits(id) = &last
            && text.contains("\"tool_result\"")
        {
            let results = results(text);
            if results.iter().any(|result| result["tool_use_id"] == **id) {
                last = SuspendedCall::None;
            } else if results.iter().any(|result| result["is_error"] != true) {
                // A call that was refused has an error as its result. It was not made.
                last = SuspendedCall::ResultIsLost;
            }
        }
    }
    last
}

/// The results of tool calls that an entry holds. Entries about requests copy earlier results, and do not count.
fn results(entry: &str) -> Vec<Value> {
    let entry: Entry = serde_json::from_str(entry).unwrap_or_default();
    if entry.kind == "user" { entry.blocks().iter().filter(|block| block["type"] == "tool_result").cloned().collect() } else { Vec::new() }
}

/// The folder of the session when it makes this tool call. That is the folder of the newest entry, once every call before this one has
/// its result or is deferred. `None` if that is not known yet, or if the transcript cannot be read.
pub fn folder_of_call(transcript: impl Read, call: &str) -> Option<PathBuf> {
    let (mut open, mut folder) = (Vec::new(), None);
    for entry in entries(transcript, |_| true) {
        folder = entry.cwd.clone().or(folder);
        if let Some(Attachment { kind, id: Some(id), .. }) = &entry.attachment
            && kind == DEFERRED
        {
            // A deferred call has no result in this turn, and changes no folder. It is made again when the session goes on.
            open.retain(|known| known != id || known == call);
        }
        let is_prompt = entry.kind == "user" && !entry.blocks().iter().any(|block| block["type"] == "tool_result");
        if is_prompt {
            // Calls of an earlier turn that was cut have no result, and never will.
            open.retain(|known| known == call);
        }
        for block in entry.blocks() {
            match (block["type"].as_str(), block["id"].as_str(), block["tool_use_id"].as_str()) {
                (Some("tool_use"), Some(id), _) => open.push(id.to_owned()),
                (Some("tool_result"), _, Some(id)) => open.retain(|known| known != id),
                _ => {}
            }
        }
    }
    folder.filter(|_| open.first().is_some_and(|first| first == call))
}

/// The transcript of a session that has begun, so that it can be resumed. A session has begun once its transcript holds a message.
///
/// The file appears with the first API request, not with `init`. It exists while a deferred call is pending; the resumed session then
/// takes no message. A fork's file begins with lines about the session, and the copied messages follow up to 100 ms later. If the agent
/// dies in between, its program refuses to resume that session, and to begin one under the same id (measured with 2.1.330).
///
/// Also returns `None` if the id is not a plain name or the folder cannot be read.
pub fn find(config_dir: &Path, session_id: &str) -> Option<PathBuf> {
    newest(config_dir, session_id).filter(|transcript| disk::open_of_another_program(transcript).is_ok_and(holds_a_message))
}

/// Waits for the transcript of the session that makes a call now. A busy machine makes the call before Claude Code has written the first
/// message of the transcript (seen with 2.1.332). An idle one has it before the first request of the API.
pub fn wait_for(config_dir: &Path, session_id: &str, until: Instant) -> Option<PathBuf> {
    loop {
        let found = find(config_dir, session_id);
        if found.is_some() || Instant::now() >= until {
            return found;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// True if the id of a session is taken by a transcript without a message. Nobody can use such a session.
pub fn is_void(config_dir: &Path, session_id: &str) -> bool {
    newest(config_dir, session_id).is_some_and(|transcript| !disk::open_of_another_program(&transcript).is_ok_and(holds_a_message))
}

/// Renews the time of a session's transcript that nobody has written to since `before`. Claude Code removes a transcript that is older than
/// `cleanupPeriodDays`.
///
/// # Errors
/// [`std::io::Error`] if the system refuses.
pub fn renew(config_dir: &Path, session_id: &str, before: SystemTime) -> std::io::Result<()> {
    let Some(transcript) = newest(config_dir, session_id) else { return Ok(()) };
    let file = disk::open_of_another_program(&transcript)?;
    if file.metadata()?.modified()? < before { file.set_modified(SystemTime::now()) } else { Ok(()) }
}

fn holds_a_message(transcript: impl Read) -> bool {
    entries(transcript, |_| true).any(|entry| matches!(entry.kind.as_str(), "user" | "assistant"))
}

/// The path of the transcript of a new session in this folder. The folder's name is the path, with `-` for all but letters and digits.
pub fn of_new(config_dir: &Path, cwd: &Path, session_id: &str) -> PathBuf {
    let project = cwd.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    config_dir.join("projects").join(project).join(format!("{session_id}.jsonl"))
}

/// The newest `projects/*/<session_id>.jsonl`. The name of a project's folder is ambiguous, and a session may run in any project, so all
/// projects are searched.
fn newest(config_dir: &Path, session_id: &str) -> Option<PathBuf> {
    if !is_plain(session_id) {
        return None;
    }
    let name = format!("{session_id}.jsonl");
    let projects = std::fs::read_dir(config_dir.join("projects")).ok()?;
    let transcripts = projects.flatten().filter_map(|project| {
        let path = project.path().join(&name);
        let found = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((found.modified().ok(), path))
    });
    transcripts.max().map(|(_, path)| path)
}

/// True if an id can be the name of a file.
pub(crate) fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_count_once_the_turn_has_ended() {
        let user = r#"{"type":"user","uuid":"u","message":{"content":"go"}}"#;
        let result = r#"{"type":"user","uuid":"r","message":{"content":[{"type":"tool_result"}]}}"#;
        let says = |id: &str, text: &str, stop: &str| {
            format!(
                r#"{{"type":"assistant","message":{{"id":"{id}","model":"m","stop_reason":{stop},"content":[{{"type":"text","text":"{text}"}}]}}}}"#
            )
        };
        let refused = r#"{"type":"assistant","isApiErrorMessage":true,"message":{"content":[{"type":"text","text":"no"}]}}"#;
        let beside = r#"{"type":"user","isSidechain":true,"message":{}}"#;
        let of = |lines: &[&str]| last_words(lines.join("\n").as_bytes(), &["u".into()]);
        let (first, half, end) = (says("a", "first", "\"tool_use\""), says("b", "all ", "null"), says("b", "done", "\"end_turn\""));
        assert_eq!(of(&[user, &first, result, &half, &end, beside, r#"{"type":"system"}"#]), Some("all done".into()));
        for lines in [
            &[user, &first][..],
            &[user, &half],
            &[&end],
            &[&end, user],
            &[user, &end, result],
            &[user, &end, refused],
            &[user, &end, "{\"type\":\"assi"],
            &[user, &says("b", " ", "\"end_turn\"")],
        ] {
            assert_eq!(of(lines), None, "{lines:?}");
        }
    }

    #[test]
    fn a_result_counts_from_the_moment_that_is_asked_about() {
        let result = r#"{"type":"user","timestamp":"2026-01-01T00:00:01.000Z","message":{"content":[{"type":"tool_result"}]}}"#;
        let words = r#"{"type":"user","timestamp":"2026-01-01T00:00:09.000Z","message":{"content":"\"tool_result\""}}"#;
        let since = |lines: &[&str], at: &str| {
            has_result_since(std::io::Cursor::new(lines.join("\n")), askbox_mailbox::time::parse_rfc3339(at).unwrap(), None, false)
        };
        assert!(since(&["torn", result], "2026-01-01T00:00:01.000Z"));
        assert!(!since(&[result, words], "2026-01-01T00:00:01.001Z"));
        assert!(!since(&[], "2026-01-01T00:00:00Z"));
    }

    #[test]
    fn a_result_of_a_call_is_not_another_calls() {
        let result =
            r#"{"type":"user","timestamp":"2026-01-01T00:00:01Z","message":{"content":[{"type":"tool_result","tool_use_id":"a"}]}}"#;
        let of = |id| {
            has_result_since(
                std::io::Cursor::new(result),
                askbox_mailbox::time::parse_rfc3339("2026-01-01T00:00:00Z").unwrap(),
                Some(id),
                false,
            )
        };
        assert!(of("a") && !of("b"));
    }

    #[test]
    fn a_tasks_notice_is_queued_and_then_shown() {
        let words =
            "<task-notification>\\n<status>STATUS</status>\\n<summary>MCP task w.1 (a/b)</summary>\\n<result>\\nsee w.2\\n</result>";
        let queued = format!(r#"{{"type":"queue-operation","operation":"enqueue","content":"{words}"}}"#).replace("STATUS", "completed");
        let user = queued.replace(r#""content":"#, r#""message":{"content":"#).replace("queue-operation", "user") + "}";
        let attached = queued.replace(r#""content":"#, r#""attachment":{"prompt":"#).replace("queue-operation", "attachment") + "}";
        let of = |lines: &[&str], task: &str| notice_of_task(std::io::Cursor::new(lines.join("\n")), task);
        assert_eq!(of(&["torn", &queued], "w.1"), Some(Notice::Queued));
        assert_eq!(of(&[&queued, &user], "w.1"), Some(Notice::Shown));
        assert_eq!(of(&[&queued, &attached], "w.1"), Some(Notice::Shown));
        assert_eq!(of(&[&queued, &user], "w.2"), None, "another task's answer names it");
        assert_eq!(of(&[&user.replace("completed", "killed")], "w.1"), None);
    }

    #[test]
    fn a_suspended_call_waits_until_a_result_stands_behind_it() {
        let deferred = r#"{"type":"attachment","attachment":{"type":"hook_deferred_tool","toolUseID":"ask"}}"#;
        let result = |of: &str, is_error: bool| {
            format!(r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{of}","is_error":{is_error}}}]}}}}"#)
        };
        let copied = r#"{"type":"api-request-blob","content":[{"type":"tool_result","tool_use_id":"slow"}]}"#;
        let (slow, refused, own) = (result("slow", false), result("other", true), result("ask", false));
        let of = |lines: &[&str]| suspended_call(lines.join("\n").as_bytes());
        let waits = SuspendedCall::Waits("ask".into());
        assert_eq!(of(&[&slow]), SuspendedCall::None);
        assert_eq!(of(&[&slow, deferred]), waits);
        assert_eq!(of(&[deferred, &refused, copied]), waits, "a refused call was not made");
        assert_eq!(of(&[deferred, &slow]), SuspendedCall::ResultIsLost);
        assert_eq!(of(&[deferred, &slow, &own]), SuspendedCall::ResultIsLost);
        assert_eq!(of(&[deferred, &own, &slow]), SuspendedCall::None);
        assert_eq!(of(&[deferred, &slow, deferred]), waits, "it asks again");
    }

    #[test]
    fn the_folder_of_a_call_is_known_after_all_earlier_results() {
        let calls = r#"{"type":"assistant","cwd":"/a","message":{"content":[{"type":"tool_use","id":"cut"}]}}
{"type":"user","cwd":"/a","message":{"content":"go on"}}
{"type":"assistant","cwd":"/a","message":{"content":[{"type":"tool_use","id":"one"}]}}
{"type":"assistant","cwd":"/a","message":{"content":[{"type":"tool_use","id":"two"}]}}
"#;
        let result = r#"{"type":"user","cwd":"/a/b","message":{"content":[{"type":"tool_result","tool_use_id":"one"}]}}
"#;
        let of = |text: &str, call| folder_of_call(text.as_bytes(), call);
        assert_eq!(of(calls, "one"), Some("/a".into()));
        assert_eq!(of(calls, "two"), None, "the first one may change the folder");
        assert_eq!(of(&[calls, result].concat(), "two"), Some("/a/b".into()));
        assert_eq!(of(&[calls, result].concat(), "three"), None);
        let deferred = r#"{"type":"attachment","cwd":"/a","attachment":{"type":"hook_deferred_tool","toolUseID":"one"}}
"#;
        assert_eq!(of(&[calls, deferred].concat(), "two"), Some("/a".into()), "a deferred call has no result");
        assert_eq!(of(&[calls, deferred].concat(), "one"), Some("/a".into()), "it is made again");
    }

    #[test]
    fn a_message_is_unanswered_until_the_agent_says_something() {
        let before = "{\"type\":\"user\",\"uuid\":\"a\"}\n{\"type\":\"assistant\",\"uuid\":\"b\"}\n";
        let message = "{\"type\":\"user\",\"uuid\":\"m\",\"message\":{\"content\":\"an assistant\"}}\n";
        let queued = "{\"type\":\"queue-operation\",\"content\":\"m\"}\n";
        let reply = "{\"type\":\"assistant\",\"uuid\":\"r\"}\n";
        let of = |lines: &[&str]| is_unanswered(lines.concat().as_bytes(), "m");
        assert!(of(&[before, queued, message, "{\"type\":\"attachment\",\"uuid\":\"x\"}\n"]));
        assert!(!of(&[before, message, reply]));
        let refused = "{\"type\":\"assistant\",\"isApiErrorMessage\":true,\"message\":{\"model\":\"<synthetic>\"}}\n";
        assert!(of(&[before, message, refused]), "the model has not answered");
        assert!(!of(&[before, message, refused, reply]));
        assert!(!of(&[before, queued]), "the session does not have the message");
        assert!(!of(&[before, message, "{\"type\":\"assistant\",\"uu"]), "torn");
    }

    #[test]
    fn unanswered_messages_begin_behind_the_last_work() {
        let entry = |kind: &str, uuid: &str, parent: &str, model: &str| {
            format!(r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":"{parent}","message":{{"model":"{model}","content":"m1"}}}}"#) + "\n"
        };
        let (work, error) = (entry("assistant", "w", "x", "opus"), entry("assistant", "e", "x", "<synthetic>"));
        let (first, second) = (entry("user", "m1", "w", ""), entry("user", "m2", "e", ""));
        let of = |lines: &[&str]| before_unanswered(lines.concat().as_bytes(), &["m1".into(), "m2".into()]);
        assert_eq!(of(&[&work, &error]), None);
        assert_eq!(of(&[&work, &first]), Some("w".into()));
        assert_eq!(of(&[&work, &first, &error, &second, &error]), Some("w".into()));
        assert_eq!(of(&[&work, &first, &work, &second]), Some("e".into()), "the first one was followed by work");
        assert_eq!(of(&[&work, &first, &second, &work]), None);
        let compacted = "{\"type\":\"system\",\"subtype\":\"compact_boundary\"}\n";
        assert_eq!(of(&[&work, &first, compacted]), None);
        assert_eq!(of(&[r#"{"type":"user","uuid":"m1","parentUuid":null}"#]), None);
    }

    #[test]
    fn a_transcript_is_found_in_any_project_and_nowhere_else() {
        let dir = std::env::temp_dir().join(format!("askbox-transcripts-{}", std::process::id()));
        let project = dir.join("projects/-some-where");
        std::fs::create_dir_all(&project).unwrap();
        std::fs::create_dir_all(dir.join("projects/-other")).unwrap();
        let about = "{\"type\":\"mode\",\"mode\":\"normal\"}\n";
        std::fs::write(project.join("s-1.jsonl"), [about, "{\"type\":\"user\",\"message\":{}}\n"].concat()).unwrap();
        std::fs::write(project.join("begun.jsonl"), [about, about, "{\"type\":\"us"].concat()).unwrap();
        std::fs::write(project.join("empty.jsonl"), "").unwrap();
        assert_eq!(find(&dir, "s-1"), Some(project.join("s-1.jsonl")));
        for id in ["s-2", "empty", "begun", "../-some-where/s-1", "", "s-1/", "."] {
            assert_eq!(find(&dir, id), None);
            assert_eq!(is_void(&dir, id), ["empty", "begun"].contains(&id), "{id}");
        }
        assert!(!is_void(&dir, "s-1"));
        assert_eq!(find(Path::new("/nonexistent"), "s-1"), None);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
