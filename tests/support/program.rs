//! Programs that a test puts somewhere. A process of its own writes them: a file that a thread beside ours still holds open
//! for writing, through a child that it is just starting, cannot be executed ("text file busy").

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a script that anybody may run.
#[allow(dead_code)]
pub fn write(path: &Path, text: &str) {
    let script = "cat > \"$0\" && chmod 755 \"$0\"";
    let mut child = Command::new("/bin/sh").args(["-c", script]).arg(path).stdin(Stdio::piped()).spawn().expect("a shell");
    child.stdin.take().expect("its input").write_all(text.as_bytes()).expect("the script's text");
    assert!(child.wait().expect("its end").success(), "{} was not written", path.display());
}

/// Copies a program.
#[allow(dead_code)]
pub fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").args([from, to]).status().expect("cp").success(), "{} was not copied", from.display());
}
