//! Finds and loads the configuration file.

use std::path::PathBuf;

use crate::config::parse::{Loaded, parse};
use crate::disk;
use crate::error::{Error, Result};

/// The largest configuration file, in bytes.
pub const MAX_CONFIG: u64 = 1 << 20;

/// The path that an environment variable holds, if the variable is not empty.
fn path_in(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// The path of the configuration file: `$ASKBOX_CONFIG`, else `askbox/config.toml` in `$XDG_CONFIG_HOME` or `~/.config`.
#[must_use]
pub fn location() -> Option<PathBuf> {
    path_in("ASKBOX_CONFIG").or_else(|| {
        let base = path_in("XDG_CONFIG_HOME").or_else(|| path_in("HOME").map(|h| h.join(".config")))?;
        Some(base.join("askbox/config.toml"))
    })
}

/// Loads the configuration. A missing file means the defaults, unless `$ASKBOX_CONFIG` names it.
///
/// # Errors
/// [`Error::NotFound`] if `$ASKBOX_CONFIG` names a missing file; [`Error::Invalid`] with file, key and line if a value is wrong or a key is
/// unknown.
pub fn load() -> Result<Loaded> {
    let Some(path) = location() else { return Ok(Loaded::default()) };
    match disk::read(&path, MAX_CONFIG) {
        Err(e) if e.is_missing_file() && path_in("ASKBOX_CONFIG").is_none() => Ok(Loaded::default()),
        Err(e) if e.is_missing_file() => Err(Error::not_found(
            format!("$ASKBOX_CONFIG names {}, which does not exist", path.display()),
            "write that file with: askbox init, or unset ASKBOX_CONFIG",
        )),
        other => parse(&other?, &path),
    }
}
