//! The commands of `checkpoint`.

use std::path::Path;

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::checkpoints::{change, store};
use crate::mailbox::documents::checkpoint::{self, CheckpointDocument, MAX_CHECKPOINT};
use crate::mailbox::documents::{dotted_path, shell_export};
use crate::mailbox::{Folder, Mailbox};
use crate::surface::args::checkpoint_args::{Checkpoint, Command};
use crate::surface::checkpoint::{checkpoint_list, checkpoint_text, saving};
use crate::surface::program;

/// Runs `checkpoint`; returns the exit status.
pub fn run(args: Checkpoint) -> Result<u8> {
    let Checkpoint { command, common } = args;
    let load = |id: &WorkflowId| -> Result<(Mailbox, CheckpointDocument)> {
        let mailbox = common.open()?;
        let document = store::load(&mailbox, id)?;
        Ok((mailbox, document))
    };
    match command {
        Command::Save(save) => {
            let id = named_or_current(save.id.clone(), "save")?;
            let bytes = saving::content(&save)?;
            let file = save.file.as_deref().unwrap_or(Path::new("-"));
            let named = |e| if save.has_fields() && save.file.is_none() { e } else { program::in_input(file, e) };
            let path = store::save(&common.open_or_create()?, &id, &bytes).map_err(named)?;
            if common.json {
                program::print_json(&json!({"workflow_id": id, "path": path}))?;
            } else {
                program::print_value(&path.display().to_string())?;
            }
        }
        Command::Get { id, field } => {
            let value = dotted_path::get(&load(&id)?.1, &id, &field)?;
            if common.json { program::print_json(&value)? } else { program::print_value(&shell_export::bare(&value))? }
        }
        Command::Set { id, field, value, as_json } => {
            let text = if value == "-" { program::read_stdin_text(MAX_CHECKPOINT)? } else { value };
            let value = if as_json {
                serde_json::from_str(&text).map_err(|e| {
                    Error::invalid(&field, format!("is not valid JSON: {e}"), "quote text as \"text\", or leave out --as-json")
                })?
            } else {
                Value::String(text)
            };
            change::set(&common.open()?, &id, &field, value)?;
        }
        Command::Step { id, name } => change::step(&common.open()?, &id, &name)?,
        Command::Show { id } => {
            let id = named_or_current(id, "show")?;
            let (mailbox, document) = load(&id)?;
            if common.json {
                print_document(&document)?;
            } else {
                program::print(&checkpoint_text::checkpoint(&document, &store::path(&mailbox, &id)))?;
            }
        }
        Command::Env { id, prefix } => {
            let id = named_or_current(id, "env")?;
            let (mailbox, document) = load(&id)?;
            program::print_exactly(&shell_export::shell_assignments(&document, &store::path(&mailbox, &id), &prefix))?;
        }
        Command::Path { id } => {
            let id = named_or_current(id, "path")?;
            let root = Mailbox::locate(common.mailbox.as_deref())?;
            program::print_value(&root.join(Folder::Checkpoints.name()).join(id.file_name()).display().to_string())?;
        }
        Command::Validate { target } => {
            let path = if target.contains('/') || Path::new(&target).is_file() {
                std::path::absolute(&target).map_err(|_| Error::usage("the path is empty", "name a file or an id"))?
            } else {
                store::path(&common.open()?, &target.parse()?)
            };
            let document = store::read(&path).map_err(|e| missing(e, &path))?;
            checkpoint::check(&document.typed).map_err(|e| e.in_file(&path))?;
            program::print(&format!("valid: {}\n", path.display()))?;
        }
        Command::List => checkpoint_list::print(common.open_if_there()?.as_ref(), common.json)?,
        Command::Rm { id } => store::remove(&common.open()?, &id)?,
    }
    Ok(0)
}

/// The workflow that the arguments name, else the one of the environment.
fn named_or_current(id: Option<WorkflowId>, command: &str) -> Result<WorkflowId> {
    match id {
        Some(id) => Ok(id),
        None => program::current_workflow()?
            .ok_or_else(|| Error::usage("no workflow is named", format!("name one: checkpoint {command} ID, or set $WORKFLOW_ID"))),
    }
}

fn missing(e: Error, path: &Path) -> Error {
    if e.is_missing_file() {
        return Error::not_found(format!("the checkpoint {} does not exist", path.display()), "see the checkpoints: checkpoint list");
    }
    e
}

fn print_document(document: &CheckpointDocument) -> Result<()> {
    program::print_json_text(&String::from_utf8_lossy(&document.to_bytes()))
}
