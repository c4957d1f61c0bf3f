//! `quarantine/`: files that cannot be used, each with its `.reason` beside it. askbox never deletes them.
//!
//! A file is moved there once its grace time is over. The reason also describes its content in words. [`quarantined_round`](crate::transitions::quarantined_round) finds
//! answered and claimed rounds whose file lies there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

use crate::audit::{self, Entry};
use crate::documents::question::MAX_QUESTION;
use crate::{Error, Folder, Mailbox, Placed, Result, RoundId, Time, WorkflowId, disk, time, without_bom};

/// The grace time. A program may still be writing an unusable file, so the file is moved only after it has not changed for this long.
pub const GRACE: Duration = Duration::from_secs(3);

/// Returns the rest of a file's [`GRACE`] time. `None` once the time is over, or if the file does not exist.
pub(crate) fn grace_left(path: &Path) -> Option<Duration> {
    use std::os::unix::fs::MetadataExt;
    let meta = disk::metadata(path).ok()?;
    // The ctime is the time of the last change of any kind, even a rename.
    let nanos = u32::try_from(meta.ctime_nsec()).unwrap_or(0);
    let changed = u64::try_from(meta.ctime()).map_or(SystemTime::UNIX_EPOCH, |s| SystemTime::UNIX_EPOCH + Duration::new(s, nanos));
    match changed.elapsed() {
        Ok(age) => GRACE.checked_sub(age).filter(|left| !left.is_zero()),
        // The clock was set back, or the clock of a file server is ahead.
        Err(ahead) => (ahead.duration() <= time::CLOCK_SKEW).then_some(GRACE),
    }
}

/// The longest `.reason`, in bytes.
const MAX_REASON: u64 = 1 << 20;

/// How many files with the same name the quarantine takes.
const MAX_SAME_NAME: u32 = 100_000;

/// The longest name that a file keeps in quarantine, in bytes. A number and `.reason` may follow it, and filesystems take 255 bytes.
const MAX_NAME: usize = 240;

/// Moves a file to `quarantine/NAME` and writes `quarantine/NAME.reason`. Returns the file's new path. If that name is in use, a
/// number is added: `NAME.1`. The name keeps its bytes even if they are not UTF-8. A name that is too long to add `.reason` to it
/// is cut.
///
/// # Errors
/// [`Error::Failed`] if 100,000 files with that name are there. [`Error::Io`] if the system refuses. The file stays where it is then.
pub fn quarantine(mailbox: &Mailbox, path: &Path, name: impl AsRef<OsStr>, reason: &str) -> Result<PathBuf> {
    let folder = mailbox.folder(Folder::Quarantine);
    let from = path.parent().and_then(Path::file_name).map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let shown = crate::text::file_name(name.as_ref());
    let held = other_content(path, &shown).map_or_else(String::new, |held| format!("; {held}"));
    let cut = if name.as_ref().len() > MAX_NAME { format!("; its whole name was {shown}") } else { String::new() };
    let reason = format!("{reason}{held}{cut}");
    // Without half a character at the end.
    let name = name.as_ref();
    let end = name.to_str().map_or(MAX_NAME.min(name.len()), |text| text.floor_char_boundary(MAX_NAME));
    let name = OsStr::from_bytes(&name.as_bytes()[..end]).to_owned();
    let text = format!("{} from {from}/: {reason}\n", time::rfc3339(time::now()));
    for n in 0..MAX_SAME_NAME {
        let mut own = name.clone();
        if n > 0 {
            own.push(format!(".{n}"));
        }
        let target = folder.join(own);
        let reason_file = reason_of(&target);
        if disk::exists(&target) || disk::create(&reason_file, text.as_bytes())? == Placed::NameExists {
            continue;
        }
        match disk::rename(path, &target) {
            Ok(Placed::Done) => {
                log(mailbox, &from, &shown, &reason_file);
                return Ok(target);
            }
            Ok(Placed::NameExists) => {}
            Err(e) => {
                disk::remove(&reason_file)?;
                return Err(e);
            }
        }
    }
    Err(Error::failed("every name in quarantine/ for this file is in use", "remove files from quarantine/ that you no longer need"))
}

/// Keeps a copy of a file in `quarantine/`, with its reason, under the file's own name. Returns the path of the copy. Writes
/// nothing if an identical copy is already there.
///
/// # Errors
/// [`Error::Failed`] if 100,000 files with that name are there. [`Error::Io`] if the system refuses.
pub fn keep_copy(mailbox: &Mailbox, path: &Path, bytes: &[u8], reason: &str) -> Result<PathBuf> {
    let folder = mailbox.folder(Folder::Quarantine);
    let from = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let text = format!("{} from {from}/: {reason}\n", time::rfc3339(time::now()));
    for n in 0..MAX_SAME_NAME {
        let target = folder.join(if n == 0 { name.to_string() } else { format!("{name}.{n}") });
        let is_this = disk::read(&target, bytes.len() as u64).is_ok_and(|there| there == bytes);
        if !is_this && (disk::exists(&target) || disk::exists(reason_of(&target))) {
            continue;
        }
        // The reason is written last: without its file it would be useless.
        let placed = if is_this { Placed::Done } else { disk::create(&target, bytes)? };
        if placed == Placed::Done {
            let _ = disk::create(&reason_of(&target), text.as_bytes())?;
            return Ok(target);
        }
    }
    Err(Error::failed("every name in quarantine/ for this file is in use", "remove files from quarantine/ that you no longer need"))
}

/// Records a quarantine in the audit trail, and in the log of a program that has one. The reason may quote the file, so both only
/// name the reason's file.
fn log(mailbox: &Mailbox, from: &str, name: &str, reason: &Path) {
    let round = RoundId::from_file_name(name).filter(|_| from == Folder::Running.name());
    let workflow = round.as_ref().map(|r| r.workflow.clone()).or_else(|| WorkflowId::from_file_name(name));
    tracing::warn!("quarantined {from}/{}: see quarantine/", crate::text::excerpt(name, 140));
    let reason = crate::text::file_name(reason.file_name().unwrap_or_default());
    let entry = Entry { workflow_id: workflow, question_id: round.map(|r| r.question), ..Entry::about("quarantined") };
    audit::record(mailbox, entry.by("askbox").why(format!("{from}/{name}: see quarantine/{reason}")));
}

/// True if this is the name, in quarantine, of a document of the workflow or of one of its rounds, or of the reason beside it.
pub fn is_of(name: &OsStr, workflow: &WorkflowId) -> bool {
    // The name of a workflow's document is always ASCII.
    let name = name.to_str().unwrap_or_default();
    let document = name.rfind(".json").map_or(name, |end| &name[..end + ".json".len()]);
    WorkflowId::from_file_name(document).as_ref() == Some(workflow)
        || RoundId::from_file_name(document).is_some_and(|r| r.workflow == *workflow)
}

/// The kinds of documents, each with the fields that identify it.
const KINDS: [(&str, &[&str]); 6] = [
    ("a question", &["question"]),
    ("a batch of questions", &["questions"]),
    ("the record of a run", &["attempt", "session_id"]),
    ("an await", &["parent", "child"]),
    ("a checkpoint", &["current_step"]),
    ("a checkpoint", &["state_variables"]),
];

/// Returns what the file named `name` holds instead of its own question, in words: a whole document of another kind or round, or the
/// remains of a document. `None` if that cannot be told.
///
/// On ext2, and on ext4 without a journal, a power cut can leave a name on an inode that has another file's content by then. Such a
/// file is whole, but says that it is something else.
fn other_content(path: &Path, name: &str) -> Option<String> {
    let bytes = disk::read(path, MAX_QUESTION).ok()?;
    if bytes.is_empty() {
        return Some("the file is empty".into());
    }
    if bytes.iter().all(|b| *b == 0) {
        return Some("the file holds only zeros, as after a power cut".into());
    }
    let Ok(fields) = serde_json::from_slice::<Map<String, Value>>(without_bom(&bytes)) else {
        let begins = without_bom(&bytes).trim_ascii_start().starts_with(b"{") && !bytes.trim_ascii_end().ends_with(b"}");
        return begins.then(|| "the file is torn: it ends within its JSON object".into());
    };
    let (kind, _) = KINDS.iter().find(|(_, names)| names.iter().all(|name| fields.contains_key(*name)))?;
    let said = |field: &str| fields.get(field).and_then(Value::as_str).map(|value| crate::text::excerpt(value, 140));
    let (workflow, question) = (said("workflow_id"), said("question_id"));
    let round = RoundId::from_file_name(name);
    let own = round.as_ref().map(|r| r.workflow.clone()).or_else(|| WorkflowId::from_file_name(name));
    let is_question = kind.ends_with("question") || kind.ends_with("questions");
    let other_workflow = workflow.as_deref().is_some_and(|said| own.is_some_and(|own| own.as_str() != said));
    let other_round = round.is_some_and(|own| question.as_deref().is_some_and(|said| own.question.to_string() != said));
    if is_question && !other_workflow && !other_round {
        return None;
    }
    let of = workflow.map_or_else(String::new, |workflow| format!(" of {workflow}"));
    let of_round = question.map_or_else(String::new, |question| format!(", question {question}"));
    Some(format!("the file is whole but holds another document: {kind}{of}{of_round}"))
}

/// The content of the `.reason` of a quarantined file.
#[derive(Debug)]
pub struct Reason {
    /// The original name of the file.
    pub name: String,
    /// The original folder of the file.
    pub from: Folder,
    /// The time of the move.
    pub at: Option<Time>,
    /// The reason, as a sentence for people. It may quote the file.
    pub why: String,
}

/// Reads why a file lies in quarantine. `name` is its name there. `None` if its `.reason` is missing or cannot be read.
pub fn reason(mailbox: &Mailbox, name: &str) -> Option<Reason> {
    let text = disk::read(&reason_of(&mailbox.folder(Folder::Quarantine).join(name)), MAX_REASON).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (at, rest) = text.split_once(" from ")?;
    let (from, why) = rest.split_once("/: ")?;
    let from = Folder::all().find(|folder| folder.name() == from)?;
    // A number follows the name if a file with that name was already in quarantine.
    let own = match name.rsplit_once(".json") {
        Some((stem, _)) => format!("{stem}.json"),
        None => name.to_owned(),
    };
    Some(Reason { name: own, from, at: time::parse_rfc3339(at), why: why.trim_end().to_owned() })
}

/// Returns the path of the `.reason` beside a file in quarantine.
pub fn reason_of(file: &Path) -> PathBuf {
    let mut reason = file.as_os_str().to_owned();
    reason.push(".reason");
    reason.into()
}
