//! `checkpoint`: runs each command. `save` puts a checkpoint together from flags, a file or standard input. Checkpoints are shown as people read them. The caller removes control characters from the text before printing it.

use std::fmt::Write;
use std::io::IsTerminal;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::args::checkpoint_args::{Checkpoint, Command, Save};
use crate::{columns, program};
use askbox_mailbox::checkpoints::{change, store};
use askbox_mailbox::documents::checkpoint::{self, CheckpointDocument, MAX_CHECKPOINT};
use askbox_mailbox::documents::{dotted_path, shell_export};
use askbox_mailbox::{Error, Folder, Mailbox, Result, Stored, WorkflowId, disk, list, settle, time};
use askbox_run::attempt::used_answer;

/// A checkpoint for people.
pub fn checkpoint(document: &CheckpointDocument, path: &Path) -> String {
    let checkpoint = &document.typed;
    let mut out = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(out, "{name:<12}  {}", value.trim_end().replace('\n', "\n              "));
        }
    };
    line("workflow", checkpoint.workflow_id.as_ref().map_or("", |w| w.as_str()));
    line("type", checkpoint.workflow_type.as_deref().unwrap_or_default());
    line("step", checkpoint.current_step.as_deref().unwrap_or_default());
    line("done", &checkpoint.completed_steps.join(", "));
    line("to come", &checkpoint.pending_steps.join(", "));
    for (key, value) in &checkpoint.files {
        line("file", &format!("{key} = {}", shell_export::bare(value)));
    }
    for (key, value) in &checkpoint.state_variables {
        line("state", &format!("{key} = {}", shell_export::bare(value)));
    }
    line("context", checkpoint.context.as_deref().unwrap_or_default());
    line("next action", checkpoint.next_action.as_deref().unwrap_or_default());
    line("answer", &checkpoint.user_answer.as_ref().map(shell_export::bare).unwrap_or_default());
    line("file name", &path.display().to_string());
    out
}

/// Prints the checkpoints. A missing mailbox counts as empty.
pub fn print_list(mailbox: Option<&Mailbox>, as_json: bool) -> Result<()> {
    let Some(mailbox) = mailbox else { return Ok(()) };
    let mut ids = list::workflows(mailbox, Folder::Checkpoints)?;
    ids.sort_unstable();
    let mut rows = Vec::new();
    for id in ids {
        let path = store::path(mailbox, &id);
        let read = store::read_own(&path, &id);
        if as_json {
            program::print_json(&match &read {
                Ok(d) => {
                    json!({"workflow_id": id, "path": path, "current_step": d.typed.current_step, "answered": d.typed.user_answer.is_some()})
                }
                Err(e) => json!({"workflow_id": id, "path": path, "error": program::message(e)}),
            })?;
        } else {
            let step = match &read {
                Ok(d) => d.typed.current_step.clone().unwrap_or_else(|| "-".into()),
                Err(e) => format!("unreadable: {}", program::message(e)),
            };
            let changed = disk::metadata(&path).and_then(|m| m.modified());
            let age = changed.map_or_else(|_| "-".into(), |at| time::human(at.elapsed().unwrap_or_default()));
            rows.push([id.to_string(), age, step]);
        }
    }
    if as_json {
        return Ok(());
    }
    if rows.is_empty() {
        program::say("no checkpoint is kept\n");
    }
    program::print(&columns::table(["WORKFLOW", "AGE", "STEP"], &rows))
}

/// Runs `checkpoint`; returns the exit status.
pub fn run(args: Checkpoint) -> Result<u8> {
    let Checkpoint { command, common } = args;
    let load = |id: &WorkflowId| -> Result<(Mailbox, CheckpointDocument)> {
        let mailbox = common.open()?;
        let document = settle::settled_checkpoint(&mailbox, id)?;
        Ok((mailbox, document))
    };
    // The mailbox, if this program may change this workflow in it.
    let open_to_change =
        |mailbox: Result<Mailbox>, id: &WorkflowId| mailbox.and_then(|mailbox| program::check_own(&mailbox, id).map(|()| mailbox));
    match command {
        Command::Save(save) => {
            let id = named_or_current(save.id.clone(), "save")?;
            let bytes = content_to_save(&save)?;
            let file = save.file.as_deref().unwrap_or(Path::new("-"));
            let named = |e| if save.has_fields() && save.file.is_none() { e } else { program::in_input(file, e) };
            let path = store::save(&open_to_change(common.open_or_create(), &id)?, &id, &bytes).map_err(named)?;
            if common.json {
                program::print_json(&json!({"workflow_id": id, "path": path}))?;
            } else {
                program::print_value(&path.display().to_string())?;
            }
        }
        Command::Get { id, field } => {
            let (mailbox, document) = load(&id)?;
            let value = dotted_path::get(&document, &id, &field)?;
            if common.json {
                program::print_json(&value)?
            } else {
                program::print_value(&shell_export::bare(&value))?
            }
            if field.split('.').next() == Some("user_answer") {
                note_answer_fetched(&mailbox, &id, &document);
            }
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
            change::set(&open_to_change(common.open(), &id)?, &id, &field, value)?;
        }
        Command::Step { id, name } => change::step(&open_to_change(common.open(), &id)?, &id, &name)?,
        Command::Show { id } => {
            let id = named_or_current(id, "show")?;
            let (mailbox, document) = load(&id)?;
            if common.json {
                program::print_json_text(&String::from_utf8_lossy(&document.to_bytes()))?;
            } else {
                program::print(&checkpoint(&document, &store::path(&mailbox, &id)))?;
            }
            note_answer_fetched(&mailbox, &id, &document);
        }
        Command::Env { id, prefix } => {
            let id = named_or_current(id, "env")?;
            let (mailbox, document) = load(&id)?;
            program::print_exactly(&shell_export::shell_assignments(&document, &store::path(&mailbox, &id), &prefix))?;
            note_answer_fetched(&mailbox, &id, &document);
        }
        Command::Path { id } => {
            let id = named_or_current(id, "path")?;
            let root = Mailbox::locate(common.mailbox.as_deref())?;
            program::print_value(&root.join(Folder::Checkpoints.name()).join(id.file_name()).display().to_string())?;
        }
        Command::Validate { target } => {
            let path = if target.contains('/') || Path::new(&target).is_file() {
                let path = std::path::absolute(&target).map_err(|_| Error::usage("the path is empty", "name a file or an id"))?;
                // The errors below may quote the file.
                if let Ok(file) = std::fs::File::open(&path) {
                    program::check_readable(&file, &path).map_err(|e| e.in_file(&path))?;
                }
                path
            } else {
                store::path(&common.open()?, &target.parse()?)
            };
            let document = store::read(&path).map_err(|e| missing(e, &path))?;
            checkpoint::check(&document.typed).map_err(|e| e.in_file(&path))?;
            program::print(&format!("valid: {}\n", path.display()))?;
        }
        Command::List => print_list(common.open_if_there()?.as_ref(), common.json)?,
        Command::Rm { id } => store::remove(&open_to_change(common.open(), &id)?, &id)?,
    }
    Ok(0)
}

/// Leaves the receipt if this is a process of the run that delivers the answer. The answer is printed all the same if the receipt cannot be
/// written, as in a sandbox: the receipt is one sign of several.
pub fn note_answer_fetched(mailbox: &Mailbox, workflow: &WorkflowId, document: &CheckpointDocument) {
    if let Some((run, nonce)) = program::run_and_nonce() {
        let _ = used_answer::note(mailbox, &run, &nonce, workflow, &document.typed);
    }
}

/// The workflow that the arguments name, or else the current workflow of the environment.
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

const HOW: &str = "give fields, such as --step NAME --next-action TEXT, or send JSON on standard input or with --file FILE";

/// Reads the checkpoint to save. Flags override the fields of `--file`. Without flags and file, the checkpoint is read from standard input.
fn content_to_save(save: &Save) -> Result<Vec<u8>> {
    let mut base = match &save.file {
        Some(file) => program::read_input(file, checkpoint::Checkpoint::LARGEST)?,
        None if save.has_fields() => b"{}".to_vec(),
        None if std::io::stdin().is_terminal() => {
            return Err(Error::usage("nothing to save", HOW));
        }
        None => {
            let sent = program::read_input(Path::new("-"), checkpoint::Checkpoint::LARGEST)?;
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
        // The next process may run in another folder, so relative paths become absolute.
        for value in fields.files.values_mut() {
            if let Some(absolute) = value.as_str().and_then(|path| std::path::absolute(path).ok()) {
                *value = program::in_a_document(&absolute)?.into();
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
