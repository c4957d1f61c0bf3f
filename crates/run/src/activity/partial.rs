//! The file `partial.jsonl` of an attempt: the text that the model is generating.

use std::path::{Path, PathBuf};

/// The largest size of `partial.jsonl`, in bytes. Further pieces of that text are left out.
pub(crate) const LARGEST_PARTIAL: u64 = 4 << 20;

/// The path of an attempt's file.
pub fn partial_path(folder: &Path) -> PathBuf {
    folder.join("partial.jsonl")
}
