//! `checkpoint save`: a checkpoint from flags, a file or standard input.

use std::io::IsTerminal;
use std::path::Path;

use serde_json::{Map, Value};

use crate::document::Stored;
use crate::error::{Error, Result};
use crate::mailbox::documents::checkpoint::{Checkpoint, CheckpointDocument};
use crate::surface::args::checkpoint_args::Save;
use crate::surface::program;

const HOW: &str = "give fields, such as --step NAME --next-action TEXT, or send JSON on standard input or with --file FILE";

/// Reads the checkpoint to save: the flags override the fields of `--file`; without flags and file, standard input is read.
pub fn content(save: &Save) -> Result<Vec<u8>> {
    let mut base = match &save.file {
        Some(file) => program::read_input(file, Checkpoint::LARGEST)?,
        None if save.has_fields() => b"{}".to_vec(),
        None if std::io::stdin().is_terminal() => {
            return Err(Error::usage("nothing to save", HOW));
        }
        None => {
            let sent = program::read_input(Path::new("-"), Checkpoint::LARGEST)?;
            if sent.trim_ascii().is_empty() {
                return Err(Error::invalid("standard input", "is empty", HOW));
            }
            sent
        }
    };
    if save.has_fields() {
        let file = save.file.as_deref().unwrap_or(Path::new("-"));
        let mut document = CheckpointDocument::parse(&base).map_err(|e| program::in_input(file, e))?;
        let fields = &mut document.typed;
        let text = |new: &Option<String>, old: &mut Option<String>| *old = new.clone().or(old.take());
        text(&save.step, &mut fields.current_step);
        text(&save.context, &mut fields.context);
        text(&save.next_action, &mut fields.next_action);
        text(&save.kind, &mut fields.workflow_type);
        fields.completed_steps.extend(save.completed.iter().cloned());
        fields.pending_steps.extend(save.pending.iter().cloned());
        put(&save.file_ref, &mut fields.files);
        // The next process may run in another folder.
        for value in fields.files.values_mut() {
            if let Some(absolute) = value.as_str().and_then(|path| std::path::absolute(path).ok()) {
                *value = absolute.display().to_string().into();
            }
        }
        put(&save.state, &mut fields.state_variables);
        document.update()?;
        base = document.to_bytes();
    }
    Ok(base)
}

fn put(pairs: &[(String, String)], into: &mut Map<String, Value>) {
    into.extend(pairs.iter().map(|(key, value)| (key.clone(), value.as_str().into())));
}
