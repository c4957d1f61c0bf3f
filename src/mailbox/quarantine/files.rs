//! `quarantine/`: files that cannot be used, each with its reason beside it. askbox never deletes them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::disk::{self, Placed};
use crate::error::{Error, Result};
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::layout::{Folder, Mailbox};
use crate::mailbox::quarantine::held;
use crate::time::{self, Time};

/// The grace time. An unusable file may still be in the middle of being written: it is moved only after it has not changed for
/// this long.
pub const GRACE: Duration = Duration::from_secs(3);

/// What is left of a file's [`GRACE`] time; `None` once it is over, or if the file is gone.
pub(in crate::mailbox) fn grace_left(path: &Path) -> Option<Duration> {
    use std::os::unix::fs::MetadataExt;
    let meta = disk::metadata(path).ok()?;
    // ctime: the last change of any kind, renames included.
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

/// How many files of one name the quarantine takes.
const MAX_SAME_NAME: u32 = 100_000;

/// The longest name that a file keeps in quarantine, in bytes: a number and `.reason` follow it, and filesystems take 255 bytes.
const MAX_NAME: usize = 240;

/// Moves a file to `quarantine/NAME` and writes `quarantine/NAME.reason`. Returns the file's new path. A name keeps its bytes, UTF-8 or
/// not; one that leaves no room for `.reason` is cut.
pub fn quarantine(mailbox: &Mailbox, path: &Path, name: impl AsRef<OsStr>, reason: &str) -> Result<PathBuf> {
    let folder = mailbox.folder(Folder::Quarantine);
    let from = path.parent().and_then(Path::file_name).map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let shown = crate::text::file_name(name.as_ref());
    let held = held::instead(path, &shown).map_or_else(String::new, |held| format!("; {held}"));
    let cut = if name.as_ref().len() > MAX_NAME { format!("; its whole name was {shown}") } else { String::new() };
    let reason = format!("{reason}{held}{cut}");
    let name = cut_to(name.as_ref(), MAX_NAME);
    let text = format!("{} from {from}/: {reason}\n", time::rfc3339(time::now()));
    for n in 0..MAX_SAME_NAME {
        let mut own = name.clone();
        if n > 0 {
            own.push(format!(".{n}"));
        }
        let target = folder.join(&own);
        own.push(".reason");
        let reason_file = folder.join(own);
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

/// Keeps a copy of a file in `quarantine/`, with its reason, under the name that the file has. Nothing is written if the very copy is there
/// already. Returns the copy's path.
#[cfg(feature = "relaunch")]
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
        // The reason last: without its file it says nothing.
        let placed = if is_this { Placed::Done } else { disk::create(&target, bytes)? };
        if placed == Placed::Done {
            let _ = disk::create(&reason_of(&target), text.as_bytes())?;
            return Ok(target);
        }
    }
    Err(Error::failed("every name in quarantine/ for this file is in use", "remove files from quarantine/ that you no longer need"))
}

/// The first `max` bytes of a name, without half a character at the end.
fn cut_to(name: &OsStr, max: usize) -> OsString {
    let end = name.to_str().map_or(max.min(name.len()), |text| text.floor_char_boundary(max));
    OsStr::from_bytes(&name.as_bytes()[..end]).to_owned()
}

/// Every quarantine is in the audit trail, and in the log of a program that has one. The reason may quote the file, so both only name it.
fn log(mailbox: &Mailbox, from: &str, name: &str, reason: &Path) {
    let round = RoundId::from_file_name(name).filter(|_| from == Folder::Running.name());
    let workflow = round.as_ref().map(|r| r.workflow.clone()).or_else(|| WorkflowId::from_file_name(name));
    #[cfg(feature = "relaunch")]
    tracing::warn!("quarantined {from}/{}: see quarantine/", crate::text::excerpt(name, 140));
    let reason = crate::text::file_name(reason.file_name().unwrap_or_default());
    let entry = Entry { workflow_id: workflow, question_id: round.map(|r| r.question), ..Entry::about("quarantined") };
    audit::record(mailbox, entry.by("askbox").why(format!("{from}/{name}: see quarantine/{reason}")));
}

/// What the `.reason` of a quarantined file says.
#[derive(Debug)]
pub struct Reason {
    /// The name that the file had.
    pub name: String,
    /// The folder in which it lay.
    pub from: Folder,
    /// When it was moved.
    pub at: Option<Time>,
    /// Why.
    pub why: String,
}

/// Why a file lies in quarantine; `None` if nothing says so.
#[must_use]
pub fn reason(mailbox: &Mailbox, name: &str) -> Option<Reason> {
    let text = disk::read(&reason_of(&mailbox.folder(Folder::Quarantine).join(name)), MAX_REASON).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (at, rest) = text.split_once(" from ")?;
    let (from, why) = rest.split_once("/: ")?;
    let from = Folder::ALL.into_iter().find(|folder| folder.name() == from)?;
    // A number follows the name where a file of that name was already in quarantine.
    let own = match name.rsplit_once(".json") {
        Some((stem, _)) => format!("{stem}.json"),
        None => name.to_owned(),
    };
    Some(Reason { name: own, from, at: time::parse_rfc3339(at), why: why.trim_end().to_owned() })
}

/// The `.reason` beside a file in quarantine.
#[must_use]
pub fn reason_of(file: &Path) -> PathBuf {
    file.with_file_name(format!("{}.reason", file.file_name().unwrap_or_default().to_string_lossy()))
}
