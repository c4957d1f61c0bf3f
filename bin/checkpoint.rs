//! `checkpoint`: saves and reads the state that a fresh process resumes from.

#![deny(clippy::disallowed_methods)]

use std::path::Path;
use std::process::ExitCode;

use askbox::error::{Error, Result};
use askbox::id::WorkflowId;
use askbox::mailbox::documents::checkpoint::{self, CheckpointDocument, MAX_CHECKPOINT};
use askbox::mailbox::{Folder, Mailbox};
use askbox::surface::args::checkpoint::{Checkpoint, Command};
use askbox::surface::ask_answer::{listing, show};
use askbox::surface::{program, saving};
use serde_json::{Value, json};

fn main() -> ExitCode {
    program::main(std::env::args_os(), run)
}

fn run(args: Checkpoint) -> Result<u8> {
    let Checkpoint { command, common } = args;
    let document = |id: &str| -> Result<(Mailbox, WorkflowId, CheckpointDocument)> {
        let (id, mailbox) = (program::workflow(id)?, common.open()?);
        let document = checkpoint::load(&mailbox, &id)?;
        Ok((mailbox, id, document))
    };
    match command {
        Command::Save(save) => {
            let id = or_env(save.id.as_deref(), "save")?;
            let bytes = saving::content(&save)?;
            let file = save.file.as_deref().unwrap_or(Path::new("-"));
            let named = |e| if save.has_fields() && save.file.is_none() { e } else { program::in_input(file, e) };
            let path = checkpoint::save(&common.open_or_create()?, &id, &bytes).map_err(named)?;
            if common.json {
                program::print_json(&json!({"workflow_id": id, "path": path}))?;
            } else {
                program::print_value(&path.display().to_string())?;
            }
        }
        Command::Get { id, field } => {
            let value = checkpoint::get(&document(&id)?.2, &field)?;
            if common.json { program::print_json(&value)? } else { program::print_value(&checkpoint::bare(&value))? }
        }
        Command::Set { id, field, value, as_json } => {
            let id = program::workflow(&id)?;
            let text = if value == "-" { program::read_stdin_text(MAX_CHECKPOINT)? } else { value };
            let value = if as_json {
                serde_json::from_str(&text)
                    .map_err(|e| Error::invalid(&field, format!("is no JSON: {e}"), "quote text as \"text\", or leave out --as-json"))?
            } else {
                Value::String(text)
            };
            checkpoint::set(&common.open()?, &id, &field, value)?;
        }
        Command::Step { id, name } => checkpoint::step(&common.open()?, &program::workflow(&id)?, &name)?,
        Command::Show { id } => {
            let id = or_env(id.as_deref(), "show")?;
            let (mailbox, _, document) = document(id.as_str())?;
            if common.json {
                print_document(&document)?;
            } else {
                program::print_words(&show::checkpoint(&document, &checkpoint::path(&mailbox, &id)))?;
            }
        }
        Command::Env { id, prefix } => {
            if !prefix.chars().enumerate().all(|(n, c)| c == '_' || c.is_ascii_alphabetic() || (n > 0 && c.is_ascii_digit())) {
                let shown = askbox::text::excerpt(&prefix, 40);
                return Err(Error::usage(format!("--prefix: `{shown}` cannot begin a shell variable"), "use letters, digits and _"));
            }
            let id = or_env(id.as_deref(), "env")?;
            let (mailbox, _, document) = document(id.as_str())?;
            program::print(&checkpoint::shell_assignments(&document, &checkpoint::path(&mailbox, &id), &prefix))?;
        }
        Command::Path { id } => {
            let id = or_env(id.as_deref(), "path")?;
            let root = Mailbox::locate(common.mailbox.as_deref())?;
            program::print_value(&root.join(Folder::Checkpoints.name()).join(id.file_name()).display().to_string())?;
        }
        Command::Validate { target } => {
            let path = if target.contains('/') || Path::new(&target).is_file() {
                std::path::absolute(&target).map_err(|_| Error::usage("the path is empty", "name a file or an id"))?
            } else {
                checkpoint::path(&common.open()?, &program::workflow(&target)?)
            };
            let document = checkpoint::read(&path).map_err(|e| missing(e, &path))?;
            checkpoint::check(&document.typed).map_err(|e| e.in_file(&path))?;
            program::print_words(&format!("valid: {}\n", path.display()))?;
        }
        Command::List => listing::checkpoints(&common.open()?, common.json)?,
        Command::Rm { id } => checkpoint::remove(&common.open()?, &program::workflow(&id)?)?,
    }
    Ok(0)
}

fn or_env(id: Option<&str>, command: &str) -> Result<WorkflowId> {
    program::workflow_or_env(id)?
        .ok_or_else(|| Error::usage("no workflow is named", format!("name one: checkpoint {command} ID, or set $WORKFLOW_ID")))
}

fn missing(e: Error, path: &Path) -> Error {
    if e.is_missing_file() {
        return Error::not_found(format!("there is no checkpoint at {}", path.display()), "see which there are: checkpoint list");
    }
    e
}

fn print_document(document: &CheckpointDocument) -> Result<()> {
    let text = String::from_utf8_lossy(&document.to_bytes()).into_owned();
    program::print(&askbox::text::escape_json(&text))
}
