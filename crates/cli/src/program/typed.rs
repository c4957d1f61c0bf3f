//! The words that the person typed: `askbox web …` in the program `askbox-web` too.

use std::ffi::OsString;
use std::sync::OnceLock;

static TYPED: OnceLock<Vec<OsString>> = OnceLock::new();

/// Keeps the words of this process, with the name of the program.
pub(super) fn these_are(words: Vec<OsString>) -> &'static [OsString] {
    TYPED.get_or_init(|| words)
}

/// The words behind the name of the program.
pub(super) fn words() -> impl Iterator<Item = OsString> {
    TYPED.get().into_iter().flatten().skip(1).cloned()
}
