//! The record of everything that setups wrote, in `setup.json` in the state folder, so that it can be taken back. An entry is recorded
//! before its file is written, so a setup that was interrupted can be completed and taken back like any other.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use askbox_cli::args::askbox_args::Part;
use askbox_cli::program;
use askbox_mailbox::error::{Error, IoContext, Result};
use askbox_mailbox::{disk, document, layout};

/// The maximum size of the record, in bytes.
const LONGEST: u64 = 1 << 20;

/// Everything that setups have written and that was not taken back.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Record {
    /// The folders that did not exist before, the outer ones first.
    #[serde(default)]
    pub(super) folders: Vec<PathBuf>,
    /// The files that setups created or extended.
    #[serde(default)]
    pub(super) files: Vec<Written>,
    /// True if the service was enabled.
    #[serde(default)]
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
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Added {
    pub(super) at: usize,
    pub(super) text: String,
    /// The rules in the text, if the file is a settings.json.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) rules: Vec<String>,
}

impl Record {
    /// Reads the record. It is empty if its file does not exist.
    pub(super) fn read() -> Result<Self> {
        let base =
            program::env("XDG_STATE_HOME").map_or_else(|| layout::home().map(|home| home.join(".local/state")), |base| Ok(base.into()))?;
        let path = std::path::absolute(base.join("askbox/setup.json")).io("find", base)?;
        let bytes = match disk::read(&path, LONGEST) {
            Err(e) if e.is_missing_file() => return Ok(Self { folders: left_over(&path), path, ..Self::default() }),
            bytes => bytes?,
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
        disk::create_folder(path.parent().unwrap_or(Path::new("/")))?;
        disk::replace(&path, &document::to_json(self)?)
    }

    /// Removes the record, and the folders that a setup created and that are empty now. Does nothing if anything is still recorded.
    pub(super) fn remove_if_empty(&self) -> Result<()> {
        if !self.files.is_empty() || self.is_service_enabled {
            return Ok(());
        }
        disk::remove(&self.path)?;
        for folder in self.folders.iter().rev() {
            remove_temporary(folder)?;
            disk::remove_folder_if_empty(folder);
        }
        Ok(())
    }
}

/// The folder of the record, if it contains only temporary files: a first setup was then killed before it wrote the record.
fn left_over(record: &Path) -> Vec<PathBuf> {
    let Some(folder) = record.parent() else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_empty = entries.flatten().all(|entry| entry.file_name().to_str().is_some_and(disk::is_temporary_name));
    if is_empty { vec![folder.to_path_buf()] } else { Vec::new() }
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
