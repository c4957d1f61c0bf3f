//! The first inputs of a run.

use std::path::{Path, PathBuf};

/// The inputs of a target with their files, in a fixed order.
pub fn of(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(if cfg!(test) { "fuzz/corpus" } else { "corpus" }).join(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable corpus").path()).collect();
    files.sort();
    files.into_iter().map(|file| (file.clone(), std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display())))).collect()
}
