//! The record of everything that setups wrote, in `setup.json` in the state folder, so that it can be taken back. An entry is recorded
//! before its file is written, so a setup that was interrupted can be completed and taken back like any other.
//!
//! The record's own folders may be new as well. While they are made or removed, the record lies aside, in the nearest folder that is
//! not ours. So the folders that a killed setup made are always on record.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use askbox_cli::args::askbox_args::Part;
use askbox_mailbox::{Error, IoContext, Result, disk, document, layout};

/// The name of the record while it lies aside.
const ASIDE: &str = ".askbox-setup.json";
/// The maximum size of the record, in bytes.
const LONGEST: u64 = 1 << 20;

/// Everything that setups have written and that was not taken back.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    /// The folders that did not exist before, the outer ones first.
    pub(super) folders: Vec<PathBuf>,
    /// The files that setups created or extended.
    pub(super) files: Vec<Written>,
    /// The mailbox, if a setup made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mailbox: Option<PathBuf>,
    /// True if the service was enabled.
    pub(super) is_service_enabled: bool,
    #[serde(skip)]
    path: PathBuf,
}

/// One file that a setup created or extended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Written {
    pub(super) part: Part,
    pub(super) path: PathBuf,
    /// True if the file did not exist before.
    pub(super) is_new: bool,
    /// The hash of the content that was written. Missing if the content is a credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<String>,
    /// The texts that were added, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) added: Vec<Added>,
    /// The variables that were added. Their values are not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) variables: Vec<String>,
}

/// A text that was added to a file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Added {
    pub(super) at: usize,
    pub(super) text: String,
    /// The text that it replaces, which it contains with other white space.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) replaces: String,
    /// The rules in the text, if the file is a settings.json.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) rules: Vec<String>,
}

impl Added {
    /// The difference of two texts.
    pub(super) fn between(before: &str, after: &str, rules: &[&str]) -> Self {
        let same = |(one, other): &(char, char)| one == other;
        let length = |same: &(char, char)| same.0.len_utf8();
        let at: usize = before.chars().zip(after.chars()).take_while(same).map(|c| length(&c)).sum();
        let (before, after) = (&before[at..], &after[at..]);
        let end: usize = before.chars().rev().zip(after.chars().rev()).take_while(same).map(|c| length(&c)).sum();
        let rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
        Self { at, text: after[..after.len() - end].to_owned(), replaces: before[..before.len() - end].to_owned(), rules }
    }
}

impl Record {
    /// Reads the record. It is empty if its file does not exist.
    pub(super) fn read() -> Result<Self> {
        let folder = layout::state_folder()?;
        let path = std::path::absolute(folder.join("setup.json")).io("find", folder)?;
        let Some(bytes) = disk::if_there(disk::read(&path, LONGEST))? else {
            // A setup may have been killed while it made or removed the record's folders.
            let read = |aside: PathBuf| disk::read(&aside, LONGEST).ok().and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
            let aside = places_aside(&path).find_map(read).unwrap_or_default();
            return Ok(Self { path, ..aside });
        };
        let record: Self = serde_json::from_slice(&bytes).map_err(|e| {
            let fix = "move it away; what it says was written can then only be removed by hand";
            Error::invalid("setup.json", format!("is no record of a setup: {e}"), fix).in_file(&path)
        })?;
        Ok(Self { path, ..record })
    }

    /// The entry of this file.
    pub(super) fn written_to(&self, path: &Path) -> Option<&Written> {
        self.files.iter().find(|written| written.path == path)
    }

    /// Records that the missing folders above `path` will be created.
    pub(super) fn note_folders_above(&mut self, path: &Path) {
        let missing: Vec<_> = path.ancestors().skip(1).take_while(|folder| folder.symlink_metadata().is_err()).collect();
        for folder in missing.into_iter().rev() {
            if !self.folders.iter().any(|known| known == folder) {
                self.folders.push(folder.to_path_buf());
            }
        }
    }

    /// Writes the record to disk, durably.
    pub(super) fn keep(&mut self) -> Result<()> {
        let path = self.path.clone();
        self.note_folders_above(&path);
        let folder = path.parent().unwrap_or(Path::new("/"));
        if !folder.is_dir() {
            self.lay_aside()?;
            disk::create_folder(folder)?;
        }
        disk::replace(&path, &document::to_json(self)?)?;
        self.remove_aside()
    }

    /// Removes the record, and the folders that a setup created and that are empty now. Does nothing if anything is still recorded.
    pub(super) fn remove_if_empty(&self) -> Result<()> {
        if !self.files.is_empty() || self.mailbox.is_some() || self.is_service_enabled {
            return Ok(());
        }
        if self.folders.iter().any(|folder| self.path.starts_with(folder)) {
            self.lay_aside()?;
        }
        disk::remove(&self.path)?;
        for folder in self.folders.iter().rev() {
            remove_temporary(folder)?;
            disk::remove_folder_if_empty(folder);
        }
        self.remove_aside()
    }

    /// Writes the record into the nearest folder above its place that exists and that no setup created. The file has no temporary name
    /// while it is written: a torn one says that nothing has happened yet.
    fn lay_aside(&self) -> Result<()> {
        let is_not_ours = |folder: &&Path| folder.is_dir() && !self.folders.iter().any(|ours| ours == folder);
        let Some(folder) = self.path.ancestors().skip(1).find(is_not_ours) else { return Ok(()) };
        let aside = folder.join(ASIDE);
        disk::untouch(&aside)?;
        disk::append(&aside, &[document::to_json(self)?, b"\n".to_vec()].concat()).map(drop)
    }

    fn remove_aside(&self) -> Result<()> {
        places_aside(&self.path).try_for_each(|aside| if disk::exists(&aside) { disk::untouch(&aside) } else { Ok(()) })
    }
}

/// The files where the record may lie aside.
fn places_aside(record: &Path) -> impl Iterator<Item = PathBuf> {
    record.ancestors().skip(1).map(|folder| folder.join(ASIDE))
}

/// Removes the temporary files that a killed setup left in a folder.
pub(super) fn remove_temporary(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(disk::is_temporary_name) {
            disk::remove(&entry.path())?;
        }
    }
    Ok(())
}
