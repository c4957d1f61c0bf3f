//! What a program reads: files and standard input, up to a limit.

use std::io::{self, Read};
use std::path::Path;

use crate::error::{Error, IoContext, Result};
use crate::surface::program::named_file;

/// Reads a file, or standard input for `-` and `/dev/stdin`. A file is a regular file, or a pipe that a program writes into.
///
/// # Errors
/// [`Error::Invalid`] where it is longer than `limit` bytes, and where it is neither a regular file nor a pipe with a writer.
pub fn read_input(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") || path == Path::new("/dev/stdin") {
        io::stdin().lock().take(limit + 1).read_to_end(&mut bytes).io("read", path)?;
    } else {
        named_file::open(path).and_then(|file| file.read_up_to(limit + 1, &mut bytes)).map_err(|e| in_input(path, e))?;
    }
    if bytes.len() as u64 > limit {
        let fix = "shorten it, or save the bulk in a file and give its path";
        return Err(in_input(path, Error::invalid("file", format!("is longer than the limit of {limit} bytes"), fix)));
    }
    Ok(bytes)
}

/// Names the input in an error about its content.
#[must_use]
pub fn in_input(path: &Path, error: Error) -> Error {
    error.in_file(if path == Path::new("-") { Path::new("standard input") } else { path })
}

/// Reads text from standard input, without its last newline.
pub fn read_stdin_text(limit: u64) -> Result<String> {
    let bytes = read_input(Path::new("-"), limit)?;
    let mut text = String::from_utf8(bytes).map_err(|e| {
        let problem = format!("is not valid UTF-8 (byte {})", e.utf8_error().valid_up_to());
        in_input(Path::new("-"), Error::invalid("text", problem, "send text in UTF-8"))
    })?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}
