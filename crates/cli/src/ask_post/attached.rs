//! `ask-post --attach FILE`: reads the files that are shown beside the question.

use std::path::Path;

use crate::args::ask_post_args::AskPost;
use crate::program;
use askbox_mailbox::documents::fields::attachment::{LARGEST_IMAGE, MOST};
use askbox_mailbox::{AttachedFile, Error, Result, text};

/// The name of what comes from standard input.
const STANDARD_INPUT: &str = "standard-input";

/// Reads the files. Below an agent, they must lie where the agent may read.
///
/// # Errors
/// [`Error::Usage`] if there are too many, or if standard input is to be read twice. [`Error::Invalid`] if a file is not to be shown.
pub(super) fn read(args: &AskPost) -> Result<Vec<AttachedFile>> {
    if args.attach.is_empty() {
        return Ok(Vec::new());
    }
    if args.attach.len() > MOST {
        // Each of them may be large, so they are counted before they are read.
        return Err(Error::usage(format!("--attach: {} files are given, the limit is {MOST}", args.attach.len()), "attach fewer"));
    }
    let is_stdin = |path: &Path| path == Path::new("-") || path == Path::new("/dev/stdin");
    let others = [args.question.as_deref().map(Path::new), args.file.as_deref()];
    let readers = args.attach.iter().map(AsRef::as_ref).chain(others.into_iter().flatten()).filter(|path| is_stdin(path)).count();
    if readers > 1 {
        return Err(Error::usage("standard input is named twice", "save one of them as a file"));
    }
    args.attach.iter().map(|path| one(path, is_stdin(path))).collect()
}

fn one(path: &Path, is_stdin: bool) -> Result<AttachedFile> {
    let bytes = program::read_input(path, LARGEST_IMAGE)?;
    let name = match path.file_name() {
        _ if is_stdin => STANDARD_INPUT,
        Some(name) => name
            .to_str()
            .ok_or_else(|| Error::usage(format!("--attach: the name {} is not UTF-8", text::path_word(path)), "rename the file"))?,
        None => return Err(Error::usage(format!("--attach: {} names no file", text::path_word(path)), "name a file")),
    };
    AttachedFile::new(name, bytes)
}
