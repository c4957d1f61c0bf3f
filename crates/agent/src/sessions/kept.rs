//! Reads the files that an agent program keeps of its sessions. Every byte of them may be hostile, and each read is bounded.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::de::DeserializeOwned;

use askbox_mailbox::disk::LinesFromEnd;
use askbox_mailbox::platform::processes::Seen;
use askbox_mailbox::{Error, IoContext, Result, disk};

/// The maximum number of entries that are read of a folder.
const MOST: usize = 10_000;
/// The longest file of JSON, in bytes.
const LONGEST_FILE: u64 = 64 << 10;
/// The longest record of a session that is read, in bytes. A record holds the output of a tool.
const LONGEST_RECORD: usize = 4 << 20;
/// The most bytes of a session's records that are read in one look.
const LARGEST_LOOK: usize = 16 << 20;

/// The folders in this folder, each with its name. A link is none. A folder that is missing or cannot be read has none.
pub(super) fn folders(parent: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten().take(MOST);
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path()))).collect()
}

/// The names of the entries in this folder, whatever they are.
pub(super) fn names(parent: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten().take(MOST);
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// Reads a small file of JSON. Links, special files, and files of other users are refused.
pub(super) fn json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    serde_json::from_slice(&disk::read(path, LONGEST_FILE)?).map_err(|e| no_json(path, &e))
}

fn no_json(path: &Path, e: &serde_json::Error) -> Error {
    Error::invalid("file", format!("is not as its program writes it: {e}"), "look at the file").in_file(path)
}

/// When the file was last changed. `None` if it is missing, or no regular file of this user.
pub(super) fn changed(path: &Path) -> Option<SystemTime> {
    disk::open_to_read(path).ok()?.metadata().ok()?.modified().ok()
}

/// The records of a session, the newest first. What is no such record is left out, as a line that its program has not finished.
///
/// They end at a line over 4 MiB, and after 16 MiB.
pub(super) fn newest_records<T: DeserializeOwned>(path: &Path) -> Result<impl Iterator<Item = T> + use<T>> {
    let lines = LinesFromEnd::new(disk::open_to_read(path)?).io("read", path)?.bounded(LONGEST_RECORD);
    let mut left = LARGEST_LOOK;
    let bounded = lines.map_while(move |line| {
        let line = line.ok()?;
        left = left.checked_sub(line.len())?;
        Some(line)
    });
    Ok(bounded.filter_map(|line| serde_json::from_slice(&line).ok()))
}

/// The first record of a session.
pub(super) fn first_record<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let file = BufReader::new(disk::open_to_read(path)?.take(LONGEST_FILE));
    T::deserialize(&mut serde_json::Deserializer::from_reader(file)).map_err(|e| no_json(path, &e))
}

/// The process with this id, if it belongs to this user and began at `began`, in the kernel's ticks. On a system that does not tell when a
/// process began, its id has to do.
pub(super) fn process(pid: i32, began: Option<&str>) -> Option<Seen> {
    let process = (pid > 0).then(|| Seen::at(pid)).flatten().filter(Seen::is_of_this_user)?;
    let is_same = match (process.began(), began) {
        (Some(ticks), Some(began)) => ticks.to_string() == began,
        _ => true,
    };
    is_same.then_some(process)
}
