//! The command that runs a parked round again. Whatever must be mended first stands in front, so that the whole line works when it is typed.

use crate::attempt::failure::Class;
use crate::attempt::record::Run;
use crate::claim::moved_folder;
use crate::process::programs;
use crate::story::cause::{edit_configuration, startable};
use crate::story::teller::Teller;
use askbox_mailbox::{Mailbox, WorkflowId, pause, text, workflows};

/// The command that runs a parked round again. `run` is its newest attempt, if its record can be read.
pub(super) fn command(teller: &Teller<'_>, id: &WorkflowId, run: Option<&Run>) -> String {
    if let Some(renamed) = in_renamed_folder(teller.mailbox, id) {
        return launching(teller.mailbox, &renamed);
    }
    let retry = launching(teller.mailbox, &format!("relaunch retry {id}"));
    match run.and_then(|run| before(teller, id, run)) {
        Some(first) => format!("{first} && {retry}"),
        None => retry,
    }
}

/// A command that may launch an agent. If a person has paused the queue, `relaunch go` stands before it, because the command alone would be
/// refused.
pub(super) fn launching(mailbox: &Mailbox, words: &str) -> String {
    if pause::held(mailbox).is_some() { format!("relaunch go && {words}") } else { words.to_owned() }
}

/// The command that goes on in a working folder that was renamed. It is made here: the words in the run's record may be anybody's.
fn in_renamed_folder(mailbox: &Mailbox, id: &WorkflowId) -> Option<String> {
    let known = workflows::read(mailbox, id).ok()??.typed;
    let gone = known.cwd.clone().filter(|cwd| !cwd.exists())?;
    let now = moved_folder::find(&known, &gone)?;
    Some(format!("relaunch retry {id} --cwd {}", text::path_word(&now)))
}

/// The command that mends the cause, if a retry alone would only fail again.
fn before(teller: &Teller<'_>, id: &WorkflowId, run: &Run) -> Option<String> {
    if let Some(gone) = run.cwd.as_ref().filter(|cwd| !cwd.exists()) {
        return Some(format!("mkdir -p {}", text::path_word(gone)));
    }
    let class = run.failure.as_ref()?.class;
    if class == Class::Setup
        && let Some(config) = teller.config()
        && programs::cannot_start(config, id).is_some()
    {
        return config.runner_of(id).ok().map(|(_, runner)| startable(&runner));
    }
    let is_limit = class.is_limit() || class == Class::Tree;
    (is_limit || class == Class::Setup).then(edit_configuration)
}
