//! A change to one file: the file is created, or text is added to it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::commands::setup::record::{Added, Record, Written};
use askbox_cli::args::askbox_args::Part;
use askbox_mailbox::{Error, Placed, Result, disk};

/// The maximum size of a file that is added to, in bytes.
pub(super) const LONGEST: u64 = 16 << 20;

/// A change to one file.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) part: Part,
    pub(super) path: PathBuf,
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Vec<u8>,
    /// The text that is added, or `None` if the file as a whole is ours.
    pub(super) added: Option<Added>,
    /// The variables that are added. Their values are never shown.
    pub(super) variables: Vec<String>,
    /// The purpose of the change, in a few words.
    pub(super) what: String,
}

/// The hash of a file's content, in the form of the record.
pub(super) fn hash(bytes: &[u8]) -> String {
    askbox_mailbox::text::hex(&Sha256::digest(bytes))
}

/// The content of a file that may be added to, or `None` if it does not exist. Also returns the file's real path, with links followed.
///
/// # Errors
/// The obstacle, in words that continue a sentence after the file's name.
pub(super) fn current(path: &Path) -> std::result::Result<(PathBuf, Option<Vec<u8>>), String> {
    // If the path is a link, the file behind it is changed, and the link stays.
    let path = match path.canonicalize() {
        Ok(own) => own,
        Err(_) if path.symlink_metadata().is_err() => return Ok((path.to_path_buf(), None)),
        Err(e) => return Err(format!("cannot be followed: {e}")),
    };
    match disk::read(&path, LONGEST) {
        Ok(bytes) => Ok((path, Some(bytes))),
        Err(e) => Err(format!("cannot be read ({e})")),
    }
}

/// Refuses a file that its owner made read-only. Replacing it by a rename would succeed even so.
pub(super) fn check_writable(path: &Path) -> Result<()> {
    match path.metadata() {
        Ok(found) if found.permissions().mode() & 0o200 == 0 => Err(Error::failed(
            format!("{} is read-only and was not changed", path.display()),
            format!("chmod u+w {}, then repeat the command", askbox_mailbox::text::path_word(path)),
        )),
        _ => Ok(()),
    }
}

/// The error for a file that another program changed after it was read. The file is as that program left it.
pub(super) fn changed_meanwhile(path: &Path) -> Error {
    Error::conflict(format!("{} was changed while this command ran", path.display()), "repeat the command; what it has done stays done")
}

impl Change {
    /// A file that gets this content as a whole.
    pub(super) fn whole(part: Part, path: PathBuf, before: Option<Vec<u8>>, after: &str, what: impl Into<String>) -> Self {
        Self { part, path, before, after: after.as_bytes().to_vec(), added: None, variables: Vec::new(), what: what.into() }
    }

    /// Records the change, then makes it.
    pub(super) fn carry_out(&self, record: &mut Record) -> Result<()> {
        if self.before.is_some() {
            check_writable(&self.path)?;
        }
        record.note_folders_above(&self.path);
        let mut written = record.written_to(&self.path).cloned().unwrap_or_else(|| Written {
            part: self.part,
            path: self.path.clone(),
            is_new: self.before.is_none(),
            sha256: None,
            added: Vec::new(),
            variables: Vec::new(),
        });
        // A file that was removed in the meantime counts as new again.
        if self.before.is_none() {
            (written.is_new, written.added, written.variables) = (true, Vec::new(), Vec::new());
        }
        written.sha256 = self.variables.is_empty().then(|| hash(&self.after));
        // Forget texts that are not in the file: an interrupted setup did not add them, or the person has removed them.
        let there = String::from_utf8_lossy(self.before.as_deref().unwrap_or_default());
        written.added.retain(|added| there.contains(&added.text));
        written.added.extend(self.added.clone());
        written.variables.retain(|name| !self.variables.contains(name));
        written.variables.extend(self.variables.iter().cloned());
        record.files.retain(|known| known.path != self.path);
        record.files.push(written);
        record.keep()?;
        disk::create_folder(self.path.parent().unwrap_or(Path::new("/")))?;
        let changed = || changed_meanwhile(&self.path);
        match &self.before {
            None if disk::create(&self.path, &self.after)? == Placed::NameExists => Err(changed()),
            None => Ok(()),
            Some(before) if disk::replace_if(&self.path, before, &self.after)? => Ok(()),
            Some(_) => Err(changed()),
        }
    }
}
