//! The dialog that an attended session of Claude Code shows for a tool call, and the signs that it is over. Claude Code tells a hook of
//! some ends only (measured with 2.1.330 and 2.1.331). The transcript of the session or subagent tells the others, and so does the session's
//! own file, which says whether it waits.
//!
//! # Limitations
//! - The session's own file is not documented. It is a hint that ends a wait, and never a permission.
//! - A transcript has lacked the call of an open dialog for more than ten seconds (seen three times on a busy machine, with 2.1.332). The cause
//!   is not known. [`newest_call`] finds such a call afterwards, and its result ends the dialog.

use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::transcript::{Attachment, Entry};
use askbox_mailbox::{Time, disk};

/// The input of a tool call.
type Input = Map<String, Value>;

/// The attachment that says what a hook has decided about a call. It is the receipt of the hook's decision.
const DECISION: &str = "hook_permission_decision";
/// What a result says of a call that ended its turn: by the user at the terminal, or by a hook that interrupts (measured with 2.1.332).
/// Such a hook gets no other receipt.
const REJECTED: &str = "user-rejected";

/// How long a call may take until it is in the transcript. It takes a second on a busy machine.
const LATE: Duration = Duration::from_secs(3);
/// How much of the end of a transcript is read to find a call that was made just now, in bytes.
const RECENT: u64 = 4 << 20;
/// The most bytes of a transcript that are read in one look.
const LARGEST_LOOK: u64 = 64 << 20;
/// The longest file of a session's status, in bytes.
const LONGEST_STATUS: u64 = 64 << 10;

/// The decision of a hook that a session has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The call is made.
    Allow,
    /// The call is not made.
    Deny,
}

/// A call without a result.
#[derive(Debug)]
struct Open {
    id: String,
    has_equal_input: bool,
    /// True if the user has said something since. A call of an earlier turn that was cut has no result, and never will.
    is_old: bool,
}

/// A tool call, as its session's transcript tells of it. Each look reads only the new lines.
#[derive(Debug)]
pub struct Call {
    transcript: PathBuf,
    offset: u64,
    /// True if the first line may be cut.
    is_cut: bool,
    /// True if all was read once that the transcript had before. A result in it is of an earlier call.
    has_looked: bool,
    /// The call's tool and input, until its id is known.
    wanted: Option<(String, Input)>,
    /// Calls of that tool without a result.
    open: Vec<Open>,
    begun: Instant,
    /// The id of the call, once it is known.
    pub id: Option<String>,
    /// The message of the model that makes the call.
    message: Option<String>,
    /// True if the call has its result.
    pub has_result: bool,
    has_gone_on: bool,
    denial: Option<Denial>,
    /// The decision of a hook that the session has taken.
    pub taken: Option<Taken>,
}

/// The result of a call that was denied or cut.
#[derive(Debug, Clone, Copy)]
struct Denial {
    is_rejected: bool,
    before_run: bool,
}

impl Call {
    /// A call that the session has just made. Its id is found in the transcript: Claude Code does not tell it to the hook.
    pub fn just_made(transcript: PathBuf, tool: &str, input: &Input) -> Self {
        let length = transcript.metadata().map_or(0, |about| about.len());
        let offset = length.saturating_sub(RECENT);
        let wanted = Some((tool.to_owned(), input.clone()));
        Self { wanted, offset, is_cut: offset > 0, ..Self::known(transcript, None) }
    }

    /// The call with this id.
    pub fn with_id(transcript: PathBuf, id: &str) -> Self {
        Self::known(transcript, Some(id.to_owned()))
    }

    fn known(transcript: PathBuf, id: Option<String>) -> Self {
        Self {
            transcript,
            offset: 0,
            is_cut: false,
            has_looked: false,
            wanted: None,
            open: Vec::new(),
            begun: Instant::now(),
            id,
            message: None,
            has_result: false,
            has_gone_on: false,
            denial: None,
            taken: None,
        }
    }

    /// Says how much of the transcript was read, and which calls were found. For a message about a call without an id.
    pub fn what_was_read(&self) -> String {
        let read = match self.transcript.metadata() {
            Ok(about) => format!("{} of {} bytes were read", self.offset, about.len()),
            Err(e) => format!("it cannot be read: {e}"),
        };
        let (open, equal) = (self.open.len(), self.open.iter().filter(|open| open.has_equal_input).count());
        format!("{}: {read}; {open} calls of the tool have no result, {equal} of them with this input", self.transcript.display())
    }

    /// True if its result says that the user rejected the call, or that a hook ended the turn.
    pub fn is_rejected(&self) -> bool {
        self.denial.is_some_and(|denial| denial.is_rejected)
    }

    /// True if the result says that the call did not run.
    pub fn was_not_run(&self) -> bool {
        self.denial.is_some_and(|denial| denial.before_run)
    }

    /// True if the session has its result, was not interrupted at the call, and has gone on: with the model's next message, or with a new
    /// prompt. A call that was cut may have been allowed by a hook, and leaves no receipt then (read in 2.1.332).
    pub fn has_gone_on(&self) -> bool {
        self.has_gone_on && self.denial.is_none()
    }

    /// Reads what the transcript has gained. A transcript that cannot be read has gained nothing.
    pub fn look(&mut self) {
        let gained = self.gained().unwrap_or_default();
        // A look that gained nothing has no first line either.
        for line in gained.split(|byte| *byte == b'\n').filter(|_| !gained.is_empty()) {
            if !std::mem::take(&mut self.is_cut) {
                self.read(line);
            }
        }
        if let Some(id) = self.found() {
            self.is(id);
        }
        self.has_looked = true;
    }

    fn is(&mut self, id: String) {
        (self.id, self.wanted) = (Some(id), None);
    }

    /// The id of the wanted call, among those that have no result.
    fn found(&self) -> Option<String> {
        let (tool, _) = self.wanted.as_ref()?;
        // ExitPlanMode has no input in the transcript, and another hook may have changed the input of any call.
        let new: Vec<&Open> = self.open.iter().filter(|open| !open.is_old).collect();
        let only = new.len() == 1 || tool == "ExitPlanMode";
        let found = new.iter().copied().find(|open| open.has_equal_input).or_else(|| new.first().copied().filter(|_| only));
        // Claude Code may have noted something in the user's name behind the call.
        let is_late = self.begun.elapsed() >= LATE;
        let newest = || self.open.last().filter(|open| is_late && new.is_empty() && (open.has_equal_input || tool == "ExitPlanMode"));
        found.or_else(newest).map(|open| open.id.clone())
    }

    /// The new lines, each of them whole.
    fn gained(&mut self) -> Option<Vec<u8>> {
        let mut file = disk::open_of_another_program(&self.transcript).ok()?;
        if file.metadata().ok()?.len() <= self.offset {
            return None;
        }
        file.seek(SeekFrom::Start(self.offset)).ok()?;
        let mut bytes = Vec::new();
        file.take(LARGEST_LOOK).read_to_end(&mut bytes).ok()?;
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => bytes.truncate(last + 1),
            // A line that is this long is left out.
            None if bytes.len() as u64 == LARGEST_LOOK => self.is_cut = true,
            None => bytes.clear(),
        }
        self.offset += bytes.len() as u64;
        Some(bytes)
    }

    fn read(&mut self, line: &[u8]) {
        let Ok(entry) = serde_json::from_slice::<Entry>(line) else { return };
        if let Some(Attachment { kind, decision, id: Some(id), .. }) = &entry.attachment
            && kind == DECISION
            && Some(id) == self.id.as_ref()
        {
            self.taken = match decision.as_str() {
                "allow" => Some(Taken::Allow),
                "deny" => Some(Taken::Deny),
                _ => self.taken,
            };
        }
        let (blocks, message) = (entry.blocks(), entry.message["id"].as_str().unwrap_or_default());
        match entry.kind.as_str() {
            "assistant" => {
                if self.id.as_deref().is_some_and(|id| blocks.iter().any(|block| block["id"] == *id)) {
                    self.message = Some(message.to_owned());
                }
                // The blocks of one message may come before and behind the result of one of its calls.
                self.has_gone_on |= self.has_result && self.message.as_deref() != Some(message);
                blocks.iter().for_each(|block| self.note_call(block));
            }
            "user" => {
                let results: Vec<&str> = blocks.iter().filter_map(|block| block["tool_use_id"].as_str()).collect();
                if results.is_empty() {
                    self.has_gone_on |= self.has_result;
                    self.open.iter_mut().for_each(|open| open.is_old = true);
                }
                // A call that was written late may come together with its result.
                if self.has_looked
                    && let Some(id) = self.found().filter(|id| results.contains(&id.as_str()))
                {
                    self.is(id);
                }
                self.open.retain(|open| !results.contains(&open.id.as_str()));
                if self.id.as_deref().is_some_and(|id| results.contains(&id)) {
                    self.has_result = true;
                    self.denial = entry.denial.as_ref().map(|kind| Denial { is_rejected: kind == REJECTED, before_run: entry.before_run });
                }
            }
            _ => {}
        }
    }

    fn note_call(&mut self, block: &Value) {
        let Some((tool, input)) = &self.wanted else { return };
        if block["type"] == "tool_use"
            && block["name"] == **tool
            && let Some(id) = block["id"].as_str()
        {
            let has_equal_input = block["input"].as_object() == Some(input);
            self.open.push(Open { id: id.to_owned(), has_equal_input, is_old: false });
        }
    }
}

/// Finds the call of this tool that a dialog was about, by its input. The dialog was open from `since` until `by` at least. So it is the
/// newest such call that was made by then, and that had no result before the dialog. Returns its id.
///
/// Only the last 4 MiB of the transcript are read. A transcript that cannot be read has no such call.
pub fn newest_call(transcript: &Path, tool: &str, [since, by]: [Time; 2], is_right: impl Fn(&Input) -> bool) -> Option<String> {
    let mut file = disk::open_of_another_program(transcript).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(RECENT))).ok()?;
    let mut bytes = Vec::new();
    file.take(RECENT).read_to_end(&mut bytes).ok()?;
    let mut ended_before = HashSet::new();
    for entry in bytes.split(|byte| *byte == b'\n').rev().filter_map(|line| serde_json::from_slice::<Entry>(line).ok()) {
        let Some(at) = entry.at() else { continue };
        for block in entry.blocks().iter().rev() {
            if at < since
                && let Some(id) = block["tool_use_id"].as_str()
            {
                ended_before.insert(id.to_owned());
            }
            if at <= by
                && block["type"] == "tool_use"
                && block["name"] == *tool
                && block["input"].as_object().is_some_and(&is_right)
                && let Some(id) = block["id"].as_str().filter(|id| !ended_before.contains(*id))
            {
                return Some(id.to_owned());
            }
        }
    }
    None
}

/// The status of a session, from its own file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// A dialog waits for the user.
    Waiting,
    /// No dialog waits.
    Other {
        /// When the status changed, if the file says it.
        since: Option<Time>,
    },
}

/// Reads the status of the session whose process has this id. `None` if its file cannot be read or says nothing.
pub fn status(config_dir: &Path, process: &str) -> Option<Status> {
    if process.is_empty() || !process.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let file = disk::open_of_another_program(&config_dir.join("sessions").join(format!("{process}.json"))).ok()?;
    let about: Value = serde_json::from_reader(file.take(LONGEST_STATUS)).ok()?;
    match about["status"].as_str()? {
        "waiting" => Some(Status::Waiting),
        "busy" | "idle" => Some(Status::Other { since: about["statusUpdatedAt"].as_i64().and_then(Time::from_timestamp_millis) }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn call(name: &str, id: &str, input: &str) -> String {
        let block = format!(r#"{{"type":"tool_use","name":"{name}","id":"{id}","input":{input}}}"#);
        format!("{{\"type\":\"assistant\",\"message\":{{\"content\":[{block}]}}}}\n")
    }

    fn result(id: &str) -> String {
        format!("{{\"type\":\"user\",\"message\":{{\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"{id}\"}}]}}}}\n")
    }

    fn decision(id: &str, decision: &str) -> String {
        format!(
            "{{\"type\":\"attachment\",\"attachment\":{{\"type\":\"{DECISION}\",\"decision\":\"{decision}\",\"toolUseID\":\"{id}\"}}}}\n"
        )
    }

    struct Transcript {
        _folder: tempfile::TempDir,
        path: PathBuf,
    }

    impl Transcript {
        fn new(text: &[String]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("s.jsonl");
            std::fs::write(&path, text.concat()).unwrap();
            Self { _folder: folder, path }
        }

        fn gains(&self, text: &str) {
            std::fs::OpenOptions::new().append(true).open(&self.path).unwrap().write_all(text.as_bytes()).unwrap();
        }

        fn call(&self, tool: &str, input: &str) -> Call {
            let mut call = Call::just_made(self.path.clone(), tool, serde_json::from_str::<Value>(input).unwrap().as_object().unwrap());
            call.look();
            call
        }
    }

    #[test]
    fn a_call_is_found_by_its_input_and_followed_to_its_result() {
        let (a, b) = (r#"{"command":"a"}"#, r#"{"command":"b"}"#);
        let of_old_turn = call("Bash", "old", a);
        let prompt = "{\"type\":\"user\",\"message\":{\"content\":\"go on\"}}\n".to_owned();
        let transcript = Transcript::new(&[of_old_turn, prompt, call("Bash", "one", a), call("Bash", "two", b)]);
        let mut second = transcript.call("Bash", b);
        assert_eq!((second.id.as_deref(), transcript.call("Bash", a).id.as_deref()), (Some("two"), Some("one")));
        transcript.gains(&result("one"));
        second.look();
        assert!(!second.has_result);
        transcript.gains(result("two").trim_end());
        second.look();
        assert!(!second.has_result, "the line is not complete");
        transcript.gains("\n");
        second.look();
        assert!(second.has_result && second.taken.is_none() && !second.is_rejected());
        let mut third = Call::with_id(transcript.path.clone(), "three");
        transcript.gains(&result("three").replace(r#""type":"user""#, r#""type":"user","toolDenialKind":"user-rejected""#));
        third.look();
        assert!(third.has_result && third.is_rejected());
    }

    #[test]
    fn the_receipt_is_that_of_the_call_itself() {
        let transcript = Transcript::new(&[call("Bash", "one", "{}"), decision("other", "deny")]);
        let mut one = transcript.call("Bash", "{}");
        transcript.gains(&decision("one", "allow"));
        one.look();
        assert_eq!(one.taken, Some(Taken::Allow));
        let mut later = Call::with_id(transcript.path.clone(), "other");
        later.look();
        assert_eq!((later.taken, later.has_result), (Some(Taken::Deny), false));
    }

    #[test]
    fn a_changed_input_and_a_plan_are_found_if_they_are_alone() {
        let transcript = Transcript::new(&[call("ExitPlanMode", "plan", "{}"), call("Bash", "one", r#"{"command":"a"}"#)]);
        assert_eq!(transcript.call("ExitPlanMode", r#"{"plan":"x"}"#).id.as_deref(), Some("plan"));
        assert_eq!(transcript.call("Bash", r#"{"command":"changed"}"#).id.as_deref(), Some("one"));
        transcript.gains(&call("Bash", "two", r#"{"command":"b"}"#));
        assert_eq!(transcript.call("Bash", r#"{"command":"changed"}"#).id.as_deref(), None, "it may be either");
        assert_eq!(transcript.call("Write", "{}").id.as_deref(), None);
    }

    #[test]
    fn a_call_that_comes_together_with_its_result_is_over() {
        let a = r#"{"command":"a"}"#;
        let transcript = Transcript::new(&[call("Bash", "before", a), result("before")]);
        let mut late = transcript.call("Bash", a);
        assert!(late.id.is_none() && !late.has_result, "an earlier call");
        // The session has made the same call again since.
        transcript.gains(&[call("Bash", "late", a), result("late"), call("Bash", "again", a)].concat());
        late.look();
        assert!(late.id.as_deref() == Some("late") && late.has_result, "{late:?}");
        let mut other = transcript.call("Bash", a);
        transcript.gains(&[call("Read", "read", "{}"), result("read")].concat());
        other.look();
        assert_eq!((other.id.as_deref(), other.has_result), (Some("again"), false));
    }

    #[test]
    fn a_call_that_was_written_late_is_found_by_time_and_input() {
        let at = |second: u32, line: String| line.replacen('{', &format!(r#"{{"timestamp":"2026-11-27T02:23:{second:02}.000Z","#), 1);
        let (a, b, c) = (r#"{"command":"a"}"#, r#"{"command":"b"}"#, r#"{"command":"c"}"#);
        let before = [at(1, call("Bash", "old", a)), at(2, call("Bash", "ended", c)), at(3, result("ended"))];
        let lines = [at(8, call("Bash", "it", a)), at(8, call("Bash", "other", b)), at(20, result("it"))];
        let again = [at(21, call("Bash", "later", a)), call("Bash", "without a time", a)];
        let transcript = Transcript::new(&[before.concat(), lines.concat(), again.concat()]);
        let found = |tool: &str, input: &'static str| {
            let open = ["2026-11-27T02:23:09Z", "2026-11-27T02:23:15Z"].map(|at| at.parse().unwrap());
            newest_call(&transcript.path, tool, open, |of| of["command"] == input)
        };
        assert_eq!((found("Bash", "a"), found("Bash", "b")), (Some("it".into()), Some("other".into())));
        assert_eq!((found("Bash", "c"), found("Write", "a")), (None, None));
    }

    #[test]
    fn a_session_waits_as_its_file_says() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sessions")).unwrap();
        let of = |text: &str| {
            std::fs::write(folder.path().join("sessions/7.json"), text).unwrap();
            status(folder.path(), "7")
        };
        assert_eq!(of(r#"{"status":"waiting"}"#), Some(Status::Waiting));
        assert_eq!(of(r#"{"status":"busy"}"#), Some(Status::Other { since: None }));
        let since = Time::from_timestamp_millis(1000);
        assert_eq!(of(r#"{"status":"idle","statusUpdatedAt":1000}"#), Some(Status::Other { since }));
        assert_eq!((of("{"), of(r#"{"status":7}"#), of(r#"{"status":"else"}"#)), (None, None, None));
        assert_eq!((status(folder.path(), "8"), status(folder.path(), "../7"), status(folder.path(), "")), (None, None, None));
    }
}
