//! The command that runs a parked round again. Whatever must be mended first stands in front, so that the whole line works when it is typed.

use crate::commands::doctor::checkup::{Checkup, word};
use askbox_mailbox::id::{RoundId, WorkflowId};
use askbox_mailbox::{Mailbox, text, workflows};
use askbox_run::attempt::failure::Class;
use askbox_run::attempt::record;
use askbox_run::claim::moved_folder;
use askbox_run::process::programs;
use askbox_run::story::cause::{edit_configuration, startable};

/// The command that runs a parked round again.
pub(super) fn command(checkup: &Checkup, mailbox: &Mailbox, round: &RoundId) -> String {
    let id = &round.workflow;
    if let Some(renamed) = in_renamed_folder(mailbox, id) {
        return checkup.launching(&renamed);
    }
    let retry = checkup.launching(&format!("relaunch retry {id}"));
    match before(checkup, mailbox, round) {
        Some(first) => format!("{first} && {retry}"),
        None => retry,
    }
}

/// The command that goes on in a working folder that was renamed. It is made here: the words in the run's record may be anybody's.
fn in_renamed_folder(mailbox: &Mailbox, id: &WorkflowId) -> Option<String> {
    let known = workflows::read(mailbox, id).ok()??.typed;
    let gone = known.cwd.clone().filter(|cwd| !cwd.exists())?;
    let now = moved_folder::find(&known, &gone)?;
    Some(format!("relaunch retry {id} --cwd {}", text::path_word(&now)))
}

/// The command that mends the cause, if a retry alone would only fail again.
fn before(checkup: &Checkup, mailbox: &Mailbox, round: &RoundId) -> Option<String> {
    let run = record::latest(mailbox, round).ok().flatten()?;
    if let Some(gone) = run.plan.cwd.as_ref().filter(|cwd| !cwd.exists()) {
        return Some(format!("mkdir -p {}", word(gone)));
    }
    let class = run.progress.failure.as_ref()?.class;
    if class == Class::Setup && programs::cannot_start(&checkup.config, &round.workflow).is_some() {
        return checkup.config.runner_of(&round.workflow).ok().map(|(_, runner)| startable(&runner));
    }
    let is_limit = class.is_limit() || class == Class::Tree;
    (is_limit || class == Class::Setup).then(edit_configuration)
}
