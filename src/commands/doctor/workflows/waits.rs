//! Checks `awaits/`: which workflow waits for which, and whether it will be resumed.

use std::collections::BTreeSet;
use std::path::Path;

use crate::commands::doctor::checkup::{AT_ONCE, Checkup, PATIENCE, age, word};
use askbox_mailbox::{Await, Closed, Folder, Join, Mailbox, RoundId, WorkflowId, awaits, disk, list, round, time, workflows};
use askbox_run::{OwnState, Teller, outcome};

/// Checks the waits of every parent, or those of the only workflow and of its parents.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let Some(mailbox) = checkup.mailbox.clone() else { return };
    let mut parents = match &checkup.only {
        Some(id) => awaits::of_child(&mailbox, id).unwrap_or_default(),
        None => awaits::parents(&mailbox).unwrap_or_default(),
    };
    parents.extend(checkup.only.clone());
    parents.sort();
    parents.iter().for_each(|parent| of_parent(checkup, &mailbox, parent));
}

/// Checks the waits of one parent.
fn of_parent(checkup: &mut Checkup, mailbox: &Mailbox, parent: &WorkflowId) {
    let mut children = awaits::children(mailbox, parent).unwrap_or_default();
    children.sort();
    let mut waits = Vec::new();
    for child in &children {
        let path = mailbox.folder(Folder::Awaits).join(parent.as_str()).join(child.file_name());
        match awaits::read(mailbox, parent, child).map(|wait| wait.map(|document| document.typed)) {
            Ok(wait) => waits.extend(wait.filter(|wait| !is_stale(checkup, mailbox, &path, wait))),
            Err(error) => checkup.report_unreadable(&path, &error),
        }
    }
    // A parent with an unreadable wait is not woken. That wait has already been reported.
    if waits.len() == children.len() {
        unwoken(checkup, mailbox, parent, &waits);
    }
}

/// Reports a wait that can be removed. Returns true if it was one.
fn is_stale(checkup: &mut Checkup, mailbox: &Mailbox, path: &Path, wait: &Await) -> bool {
    let (parent, child) = (&wait.parent, &wait.child);
    let told = wait.told_by.map(|question| RoundId { workflow: parent.clone(), question });
    let newest = round::latest(mailbox, parent).map(|f| f.document.typed.closed.map(|c| c.state));
    let (kind, said) = if told.is_some_and(|round| round::is_claimed_or_closed(mailbox, &round)) && age(path) >= AT_ONCE {
        ("half_done", format!("{parent} was told how {child} ended but is still recorded as waiting for it"))
    } else if newest.is_none() && matches!(workflows::read(mailbox, parent), Ok(None)) {
        ("stale_wait", format!("{parent} waits for {child} but does not exist"))
    } else if newest == Some(Some(Closed::Dropped)) && !checkup.watcher {
        ("stale_wait", format!("{parent} was dropped but is still recorded as waiting for {child}"))
    } else if is_first_of_ring(mailbox, parent, child) {
        ("stale_wait", format!("{parent} and {child} wait for each other, directly or through others, so neither is ever resumed"))
    } else {
        return false;
    };
    checkup.report(kind, checkup.shown(path), said, format!("rm {}", word(path)));
    true
}

/// True if the child in turn waits for its parent. Such a ring is reported once, at its smallest name.
fn is_first_of_ring(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> bool {
    let below = waited_for(mailbox, child);
    below.contains(parent) && below.iter().filter(|other| *other < parent).all(|other| !waited_for(mailbox, other).contains(parent))
}

/// A workflow and all workflows that it waits for, directly or through others.
fn waited_for(mailbox: &Mailbox, workflow: &WorkflowId) -> BTreeSet<WorkflowId> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![workflow.clone()]);
    while let Some(at) = next.pop() {
        if !seen.contains(&at) {
            next.extend(awaits::children(mailbox, &at).unwrap_or_default());
            seen.insert(at);
        }
    }
    seen
}

/// Reports a parent that could be resumed, because its children have ended, but was not.
fn unwoken(checkup: &mut Checkup, mailbox: &Mailbox, parent: &WorkflowId, waits: &[Await]) {
    let open = [Folder::Pending, Folder::Answered].iter().any(|f| disk::exists(mailbox.document(*f, parent)))
        || [Folder::Running, Folder::Parked].iter().any(|f| list::round_names(mailbox, *f).any(|r| r.workflow == *parent));
    if open || waits.is_empty() || waits.iter().any(|w| awaits::is_held(mailbox, parent, &w.child).unwrap_or(true)) {
        return;
    }
    let over: Vec<_> = waits.iter().filter_map(|w| Some((w, how(mailbox, w)?))).collect();
    let enough = over.len() == waits.len() || over.iter().any(|(w, _)| w.join == Join::Any);
    let since = over.iter().map(|(_, (_, since))| *since).min().unwrap_or_default();
    if !enough || since < if checkup.watcher { PATIENCE } else { AT_ONCE } {
        return;
    }
    let words: Vec<_> = over.iter().map(|(w, (how, _))| format!("{} {how}", w.child)).collect();
    // `relaunch resume` does the same as a watcher. If a watcher runs but does not wake the parent, a second watcher will.
    let mend = if checkup.watcher { checkup.command("relaunch watch") } else { checkup.command(&format!("relaunch resume {parent}")) };
    let said = format!("what it waits for ended {} ago ({}), but it was not resumed", time::human(since), words.join(", "));
    checkup.report("unwoken", parent.as_str(), said, mend);
}

/// How the child of a wait ended, and how long ago. `None` if it has not ended.
fn how(mailbox: &Mailbox, wait: &Await) -> Option<(&'static str, std::time::Duration)> {
    let since_created = time::since(wait.created);
    match outcome::own_state_without_lock(mailbox, &wait.child).ok()? {
        OwnState::Ended(ended) if !outcome::is_news(mailbox, wait, &ended).ok()? => None,
        OwnState::Ended(ended) => {
            let since = Teller::of_states(mailbox).at_a_glance(&wait.child).since.map_or(since_created, time::since);
            Some((ended.end.word(), since.min(since_created)))
        }
        OwnState::Unknown => Some(("was never started", since_created)),
        _ => None,
    }
}
