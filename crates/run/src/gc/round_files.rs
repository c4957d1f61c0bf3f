//! The files of a round: which of them are askbox's own, and which there are.
//!
//! Estimates the space that the closed rounds in the mailbox take.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::activity::so_far;
use crate::approval::call;
use crate::attempt::used_answer::MARKS;
use crate::attempt::{acp_session, once, unasked, used_answer};
use crate::fence;
use crate::process::agent_lock;
use crate::prompt::round_input;
use askbox_mailbox::disk::TEMPORARY_PREFIX;
use askbox_mailbox::listing::closings::Closed;
use askbox_mailbox::{Folder, IoContext, Mailbox, Result, RoundId, attachments, disk};

/// The files of an attempt.
const OF_AN_ATTEMPT: [&str; 14] = [
    "run.json",
    "events.jsonl",
    so_far::NAME,
    "partial.jsonl",
    "stderr.log",
    "supervisor.log",
    agent_lock::NAME,
    "answer.txt",
    round_input::FILE,
    acp_session::FILE,
    used_answer::FILE,
    "handed_over",
    "stop.json",
    "control",
];

/// True for a name in `runs/W/Q` that askbox made. Other names are not removed.
pub(super) fn is_ours(depth: usize, name: &str, is_folder: bool) -> bool {
    match depth {
        0 if is_folder => name.parse::<u32>().is_ok(),
        1 if is_folder => name == fence::ASKS,
        2 if is_folder => true,
        _ if is_folder => false,
        2.. => true,
        0 => {
            name == "lock"
                || name == unasked::FILE
                || MARKS.contains(&name)
                || [once::PREFIX, TEMPORARY_PREFIX].iter().any(|begin| name.starts_with(begin))
        }
        _ => OF_AN_ATTEMPT.contains(&name) || [call::LET_THROUGH, TEMPORARY_PREFIX].iter().any(|begin| name.starts_with(begin)),
    }
}

/// The lock of a round. It has no content.
const LOCK: &str = "lock";

/// The regular files of a closed round, as they were at one moment, by their paths below the mailbox.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RoundFiles(BTreeMap<String, FoundFile>);

/// A file. Two are equal if it was not changed in between.
#[derive(Debug, PartialEq, Eq)]
struct FoundFile {
    inode: u64,
    length: u64,
    modified: (i64, i64),
    /// The space that it takes, in bytes.
    space: u64,
}

impl FoundFile {
    /// `None` if no regular file is there.
    fn at(path: &Path) -> Result<Option<Self>> {
        let meta = match disk::metadata(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other.io("look at", path)?,
        };
        let modified = (meta.mtime(), meta.mtime_nsec());
        Ok(meta.is_file().then(|| Self { inode: meta.ino(), length: meta.len(), modified, space: meta.blocks() * 512 }))
    }
}

impl RoundFiles {
    /// The files of a round that a gc would remove, but for empty locks and temporary files. With `is_whole_workflow`, those of the workflow
    /// itself are among them: its checkpoint, its record and its result.
    pub(super) fn of(mailbox: &Mailbox, round: &RoundId, is_whole_workflow: bool) -> Result<Self> {
        let mut found = Self::default();
        found.add(mailbox, &mailbox.round(Folder::Closed, round))?;
        if is_whole_workflow {
            found.add(mailbox, &mailbox.document(Folder::Checkpoints, &round.workflow))?;
            found.add(mailbox, &mailbox.document(Folder::Workflows, &round.workflow))?;
            found.add(mailbox, &mailbox.runs_of_workflow(&round.workflow).join("result.txt"))?;
        }
        found.add_folder(mailbox, &mailbox.runs_of(round), 0)?;
        for path in attachments::files(mailbox, round)? {
            found.add(mailbox, &path)?;
        }
        Ok(found)
    }

    fn add_folder(&mut self, mailbox: &Mailbox, folder: &Path, depth: usize) -> Result<()> {
        let entries = match disk::entries(folder) {
            Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => return Ok(()),
            other => other.io("read", folder)?,
        };
        for entry in entries {
            let entry = entry.io("read", folder)?;
            let Some(name) = entry.name.to_str().filter(|name| is_ours(depth, name, entry.is_folder())) else { continue };
            if entry.is_folder() {
                self.add_folder(mailbox, &entry.path, depth + 1)?;
            } else if entry.is_file() && !(depth == 0 && name == LOCK) && !name.starts_with(TEMPORARY_PREFIX) {
                self.add(mailbox, &entry.path)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, mailbox: &Mailbox, path: &Path) -> Result<()> {
        self.0.extend(FoundFile::at(path)?.map(|file| (below(mailbox, path), file)));
        Ok(())
    }

    /// Their paths below the mailbox.
    pub(super) fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// True if the file that is at `now` is the one that was at `path`.
    pub(super) fn hold_at(&self, mailbox: &Mailbox, path: &Path, now: &Path) -> bool {
        FoundFile::at(now).is_ok_and(|found| found.as_ref() == self.0.get(&below(mailbox, path)))
    }

    /// The space that the files take, in bytes.
    pub(super) fn space(&self) -> u64 {
        self.0.values().map(|file| file.space).sum()
    }
}

fn below(mailbox: &Mailbox, path: &Path) -> String {
    path.strip_prefix(mailbox.root()).unwrap_or(path).display().to_string()
}

/// The inodes of a round besides its files: its folder, its lock, and the folder of an attempt.
const BESIDES: u64 = 3;

/// The space that the closed rounds in the mailbox take.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// The number of rounds.
    pub rounds: u64,
    /// About how many bytes their files take.
    pub bytes: u64,
    /// About how many files and folders they have.
    pub files: u64,
}

/// Estimates the space that the closed rounds take. The others are taken to be like the newest ones.
pub fn cost(mailbox: &Mailbox, closed: &Closed) -> Cost {
    let (mut seen, mut bytes, mut files) = (0, 0, 0);
    for found in closed.newest.iter().filter_map(|round| RoundFiles::of(mailbox, round, false).ok()) {
        seen += 1;
        bytes += found.space();
        files += found.0.len() as u64 + BESIDES;
    }
    let rounds = closed.count as u64;
    let of_all = |sum: u64| u64::try_from(u128::from(sum) * u128::from(rounds) / u128::from(u64::max(seen, 1))).unwrap_or(u64::MAX);
    Cost { rounds, bytes: of_all(bytes), files: of_all(files) }
}
