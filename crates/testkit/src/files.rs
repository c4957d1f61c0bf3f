//! Names and contents of folders, and programs that a test writes.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Writes a script that every user may run. Another process writes it: a file that a thread of this process holds open for
/// writing, through a child that it is just starting, cannot be executed ("text file busy").
pub fn write_program(path: &Path, text: &str) {
    let script = "cat > \"$0\" && chmod 755 \"$0\"";
    let mut child = Command::new("/bin/sh").args(["-c", script]).arg(path).stdin(Stdio::piped()).spawn().expect("a shell");
    child.stdin.take().expect("its input").write_all(text.as_bytes()).expect("the script's text");
    assert!(child.wait().expect("its end").success(), "{} was not written", path.display());
}

/// Copies a program, by another process for the same reason.
pub fn copy_program(from: &Path, to: &Path) {
    assert!(Command::new("cp").args([from, to]).status().expect("cp").success(), "{} was not copied", from.display());
}

/// The visible names in a folder, sorted. Empty if the folder does not exist.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).filter(|n| !n.starts_with('.')).collect();
    names.sort();
    names
}

/// Writes a file under `beside`, and renames it to `path`. So no program sees a part of it, however slowly it is written.
#[track_caller]
pub(crate) fn put_whole(path: &Path, beside: &Path, content: impl AsRef<[u8]>) {
    std::fs::write(beside, content).expect("a file beside it");
    std::fs::rename(beside, path).expect("its place");
}

/// The lines of a log that are written to their end. The last line has no end yet while its writer is at work.
pub fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'))
}

/// True if a file's name begins with a dot, as the names of temporary files do.
pub fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'))
}

/// Every regular file below a folder and its content. To read a pipe would block.
pub fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.is_file()
            && let Ok(bytes) = std::fs::read(&path)
        {
            found.insert(path, bytes);
        }
    }
    found
}

/// Removes a file when dropped, for the fixed paths in /tmp that the first sketch of the mailbox used.
pub struct Litter(pub PathBuf);

impl Drop for Litter {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
