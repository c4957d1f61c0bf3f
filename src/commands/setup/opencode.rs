//! The plugin for opencode, in a folder whose plugins opencode loads by itself.

use std::path::{Path, PathBuf};

use crate::commands::live::OPENCODE_PLUGIN;
use crate::commands::setup::record::Record;
use crate::commands::setup::wanted::{self, Wanted};
use askbox_cli::args::askbox_args::Part;
use askbox_cli::program;
use askbox_mailbox::disk;
use askbox_mailbox::error::{Error, Result};
use askbox_run::process::programs;

/// The longest plugin, in bytes.
const LONGEST: u64 = 1 << 20;

/// A sentence about the first start with a plugin (measured with opencode 1.18.33).
pub(super) const FIRST_START: &str = "opencode loads a package for plugins from npm when it starts the next time, and does not wait for it again. \
                                      Without a network, each start takes up to two minutes until then";

/// The plugin that lies in opencode's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Installed {
    Missing,
    /// It is the plugin of another version, or somebody has changed it.
    Other,
    /// It is the one that this program contains.
    This,
}

/// opencode's own folder. `None` if it has no place, because `$HOME` is not set.
fn folder() -> Option<PathBuf> {
    let base = program::env("XDG_CONFIG_HOME").map(PathBuf::from).filter(|base| base.is_absolute());
    let base = base.or_else(|| program::env("HOME").map(|home| Path::new(&home).join(".config")))?;
    Some(base.join("opencode"))
}

/// The file of the plugin.
pub(in crate::commands) fn path() -> Option<PathBuf> {
    folder().map(|folder| folder.join("plugin/askbox.js"))
}

/// Looks at the file of the plugin.
pub(in crate::commands) fn installed(path: &Path) -> Installed {
    match disk::read(path, LONGEST) {
        Ok(bytes) if bytes == OPENCODE_PLUGIN.as_bytes() => Installed::This,
        Err(e) if e.is_missing_file() => Installed::Missing,
        _ => Installed::Other,
    }
}

/// True if a person of this machine uses opencode: the program is on PATH, or its folder is there.
pub(super) fn is_used() -> bool {
    programs::find(Path::new("opencode")).is_ok() || folder().is_some_and(|folder| folder.is_dir())
}

/// The file of the plugin, as this program contains it.
pub(super) fn wanted(record: &Record) -> Result<Wanted> {
    let path = path().ok_or_else(|| Error::usage("the plugin for opencode has no place: $HOME is unset", "set $HOME"))?;
    Ok(wanted::own_file(Part::Live, path, OPENCODE_PLUGIN, "new: opencode's plugin of askbox".to_owned(), record))
}

/// True if an earlier setup wrote the file.
pub(super) fn is_recorded(record: &Record) -> bool {
    path().is_some_and(|path| record.written_to(&path).is_some())
}
