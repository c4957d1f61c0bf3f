//! A long answer, written in the user's own editor.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempPath;

use crate::program;
use askbox_mailbox::documents::answer::MAX_ANSWER;
use askbox_mailbox::{Error, IoContext, Result, text};

/// The middle of the line that separates the answer (above it) from the reminder (below it).
const SCISSORS: &str = "------------------------ >8 ------------------------";

/// The text that the user wrote, in a file that is removed when the draft is dropped.
#[derive(Debug)]
pub struct Draft {
    /// The text.
    pub text: String,
    file: TempPath,
}

impl Draft {
    /// Keeps the text, which was not sent, and tells the person where it is.
    pub fn keep(self) {
        if let Ok(path) = self.file.keep() {
            program::say(&format!("your text is kept in {}\n", path.display()));
        }
    }
}

/// Opens the editor on an answer that is empty or has been begun, with `below` under it as a reminder.
pub fn write(begun: &str, below: &str, suffix: &str) -> Result<Draft> {
    let folder = std::env::temp_dir();
    let mut file = tempfile::Builder::new()
        .prefix("answer-")
        .suffix(suffix)
        .permissions(std::fs::Permissions::from_mode(0o600))
        .tempfile()
        .io("write in", &folder)?;
    let shown = text::printable(below);
    let line = line_that_is_not_in(begun);
    let given = format!(
        "{begun}\n{line}\nWrite the answer above this line. This line and everything below it are not part of the answer.\n\n{shown}"
    );
    file.write_all(given.as_bytes()).io("write in", &folder)?;
    let file = file.into_temp_path();
    match edited(&file, &line) {
        Ok(text) => Ok(Draft { text, file }),
        Err(error) => Err(keeping(file, &given, error)),
    }
}

/// The separating line, longer if the text that was begun has such a line.
fn line_that_is_not_in(begun: &str) -> String {
    let mut line = SCISSORS.to_owned();
    while begun.contains(&line) {
        line = format!("--{line}--");
    }
    line
}

/// Lets the user edit the file. Returns the text that then stands above this line.
fn edited(file: &Path, line: &str) -> Result<String> {
    let editor = program::env("VISUAL").or_else(|| program::env("EDITOR")).unwrap_or_else(|| "vi".into());
    // $EDITOR may contain arguments, so a shell runs it.
    let status = Command::new("/bin/sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file).status();
    if !status.io("run the editor on", file)?.success() {
        let hint = "choose one with $EDITOR, or answer on the command line";
        return Err(Error::failed(format!("the editor `{}` failed; no answer was sent", text::excerpt(&editor, 60)), hint));
    }
    let bytes = program::read_input(file, MAX_ANSWER as u64)?;
    let all = String::from_utf8(bytes).map_err(|_| Error::invalid("answer", "is not valid UTF-8", "save it as UTF-8"))?;
    let text = if let Some(n) = all.find(line) { &all[..n] } else { &all };
    let text = text.trim_matches(['\n', '\r']).to_owned();
    if text.trim().is_empty() {
        return Err(Error::failed("the answer is empty, so nothing was sent", "write the answer above the line, and save"));
    }
    Ok(text)
}

/// Keeps the file if the user has changed it, and adds its path to the error.
fn keeping(file: TempPath, given: &str, error: Error) -> Error {
    let is_changed = std::fs::metadata(&file).is_ok_and(|meta| meta.len() != given.len() as u64)
        || std::fs::read(&file).is_ok_and(|bytes| bytes != given.as_bytes());
    if is_changed && let Ok(path) = file.keep() {
        program::say(&format!("what you wrote is kept in {}\n", path.display()));
    }
    error
}
