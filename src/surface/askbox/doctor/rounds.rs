//! The documents: questions, answers, runs, checkpoints; what is stuck, over time, half done or unreadable.

use std::path::Path;
use std::time::Duration;

use crate::disk::{self, Lock};
use crate::error::Error;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::documents::question::MAX_QUESTION;
use crate::mailbox::documents::workflow;
use crate::mailbox::{Folder, Mailbox, Question, QuestionDocument, intake, list};
use crate::run::attempt::record::{self, State};
use crate::run::claim;
use crate::run::view::status::{self, Standing};
use crate::surface::askbox::doctor::{Ward, edit, places, problem, word};
use crate::text::{self, shell_quote};
use crate::time;

/// So long a watcher may take for what it does at once.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(10);
/// So long an answer may wait for other runs to end before it counts as stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) fn look(ward: &mut Ward) {
    let Some(mailbox) = ward.mailbox.clone() else { return };
    for id in sorted(list::workflows(&mailbox, Folder::Pending)) {
        pending(ward, &mailbox, &id);
    }
    for id in sorted(list::workflows(&mailbox, Folder::Answered)) {
        answered(ward, &mailbox, &id);
    }
    for folder in [Folder::Running, Folder::Parked, Folder::Closed] {
        let mut rounds: Vec<_> = list::round_names(&mailbox, folder).collect();
        rounds.sort();
        for round in rounds {
            claimed(ward, &mailbox, folder, &round);
        }
    }
    for id in sorted(list::workflows(&mailbox, Folder::Checkpoints)) {
        let path = mailbox.document(Folder::Checkpoints, &id);
        if let Some(error) = places::checkpoint_problem(&path, &id).filter(|e| is_about_content(&path, e)) {
            let mend = format!("{} && checkpoint validate {}", edit(&path), word(&path));
            ward.find("checkpoint", id.as_str(), problem(&error), mend);
        }
    }
    for id in sorted(list::workflows(&mailbox, Folder::Workflows)) {
        let path = mailbox.document(Folder::Workflows, &id);
        if let Err(error) = workflow::read(&mailbox, &id)
            && is_about_content(&path, &error)
        {
            ward.find("unreadable", ward.shown(&path), problem(&error), edit(&path));
        }
    }
    quarantine(ward, &mailbox);
}

fn sorted(ids: crate::Result<Vec<WorkflowId>>) -> Vec<WorkflowId> {
    let mut ids = ids.unwrap_or_default();
    ids.sort();
    ids
}

/// Links, owners and modes are told of elsewhere, and what has vanished is no trouble.
fn is_about_content(path: &Path, error: &Error) -> bool {
    !error.is_missing_file() && disk::read(path, u64::MAX >> 1).is_ok()
}

pub(crate) fn age(path: &Path) -> Duration {
    path.symlink_metadata().and_then(|m| m.modified()).ok().and_then(|at| at.elapsed().ok()).unwrap_or_default()
}

pub(crate) fn unreadable(ward: &mut Ward, path: &Path, error: &Error) {
    if is_about_content(path, error) && age(path) >= intake::SETTLE {
        ward.find("unreadable", ward.shown(path), problem(error), edit(path));
    }
}

fn pending(ward: &mut Ward, mailbox: &Mailbox, id: &WorkflowId) {
    let path = mailbox.document(Folder::Pending, id);
    let question = match intake::read_pending(mailbox, id) {
        Ok(document) => document.typed,
        Err(error) => return not_pending(ward, mailbox, &path, &error),
    };
    // Any look at the workflow completes what is half done; this is one.
    let complete = ward.command(&format!("relaunch -- {id}"));
    let known = question.round();
    if question.closed.is_some() {
        return ward.find("half_done", id.as_str(), "its question says how it ended, but is pending still", complete);
    }
    if known.as_ref().is_some_and(|round| intake::is_over(mailbox, round)) {
        return ward.find("half_done", id.as_str(), "its pending question is of a round that has gone on", complete);
    }
    if let (Ok(round), Ok(answer)) =
        (intake::round_of(mailbox, &question), intake::read_round_file(&mailbox.document(Folder::Answered, id)))
        && intake::round_of(mailbox, &answer.typed).is_ok_and(|answered| answered == round)
    {
        return ward.find("half_done", id.as_str(), "its question is answered, and pending still", complete);
    }
    waiting(ward, id, &question);
    if let Some(path) = &question.checkpoint
        && let Some(error) = places::checkpoint_problem(path, id)
        && !mailbox.document(Folder::Checkpoints, id).exists()
    {
        let mend = ward.command(&format!("checkpoint save {id} < FILE"));
        ward.find("checkpoint", id.as_str(), format!("the relaunched agent will not find its state: {error}"), mend);
    }
}

fn waiting(ward: &mut Ward, id: &WorkflowId, question: &Question) {
    let title = text::excerpt(&question.title(), 60);
    let answer = ward.command(&format!("ask-answer show {id}"));
    if let Some(at) = question.expires_at.filter(|at| *at <= time::now()) {
        let since = time::human(time::since(at));
        match question.on_expiry() {
            crate::mailbox::documents::question::OnExpiry::Keep => {
                ward.find("overdue", id.as_str(), format!("its time ended {since} ago, and nobody answered: {title}"), answer);
            }
            // A watcher does at once what the asker wanted.
            _ if ward.watcher && time::since(at) < AT_ONCE => {}
            _ => {
                let mend = ward.command("relaunch watch");
                ward.find("overdue", id.as_str(), format!("its time ended {since} ago, and no watcher saw to it: {title}"), mend);
            }
        }
    } else if let Some(asked) = question.asked_at().map(time::since).filter(|age| *age >= ward.stale) {
        let nobody = if ward.watcher { "" } else { "; nor does a watcher run" };
        let said = format!("asked {} ago, and nobody answered{nobody}: {title}", time::human(asked));
        ward.find("stale", id.as_str(), said, answer);
    }
}

/// A file that is no question: perhaps only its name is wrong.
fn not_pending(ward: &mut Ward, mailbox: &Mailbox, path: &Path, error: &Error) {
    let own = disk::read(path, MAX_QUESTION).and_then(|bytes| QuestionDocument::parse(&bytes)).map(|d| d.typed.workflow_id);
    match own {
        Ok(own) if mailbox.document(Folder::Pending, &own) != *path => {
            let target = mailbox.document(Folder::Pending, &own);
            ward.find("misnamed", ward.shown(path), problem(error), format!("mv -n {} {}", word(path), word(&target)));
        }
        _ => unreadable(ward, path, error),
    }
}

fn answered(ward: &mut Ward, mailbox: &Mailbox, id: &WorkflowId) {
    let path = mailbox.document(Folder::Answered, id);
    let question = match intake::read_round_file(&path) {
        Ok(document) => document.typed,
        Err(error) => return unreadable(ward, &path, &error),
    };
    let Ok(round) = intake::round_of(mailbox, &question) else { return };
    let by_hand = ward.command(&format!("relaunch -- {id}"));
    if question.round().is_some() && intake::is_over(mailbox, &round) {
        return ward.find("half_done", id.as_str(), "its answered question is of a round that has gone on", by_hand);
    }
    if Lock::is_held(&claim::waiter_path(mailbox, id)).unwrap_or(false) {
        // The asker waits for it.
        return;
    }
    let since = question.answer.as_ref().and_then(|a| a.at).map_or_else(|| age(&path), time::since);
    if since < AT_ONCE {
        return;
    }
    let ago = time::human(since);
    if !ward.watcher {
        let mend = ward.command("relaunch watch");
        return ward.find("unclaimed", id.as_str(), format!("answered {ago} ago, and no watcher runs to relaunch its agent"), mend);
    }
    let live = list::round_names(mailbox, Folder::Running).filter(|r| Lock::is_held(&record::lock_path(mailbox, r)).unwrap_or(false));
    let queued =
        live.count() >= ward.config.relaunch.max_concurrent || list::round_names(mailbox, Folder::Running).any(|r| r.workflow == *id);
    if since >= PATIENCE && !queued {
        ward.find("stuck", id.as_str(), format!("answered {ago} ago, and the watcher has not launched it"), by_hand);
    }
}

fn claimed(ward: &mut Ward, mailbox: &Mailbox, folder: Folder, round: &RoundId) {
    let path = mailbox.round(folder, round);
    let document = match intake::read_round_file(&path) {
        Ok(document) => document,
        Err(error) => return unreadable(ward, &path, &error),
    };
    if folder == Folder::Closed {
        let runs = mailbox.runs_of(round);
        if runs.symlink_metadata().is_err() {
            let said = "it is closed, and its workflow does not know it: it has no folder in runs/";
            ward.find("unlisted", ward.shown(&path), said, format!("mkdir -p -m 700 {}", word(&runs)));
        }
        return;
    }
    let id = &round.workflow;
    let status = match status::of_round(mailbox, folder, round, &document.typed) {
        Ok(status) => status,
        Err(error) => {
            let record = mailbox.runs_of(round);
            let mend = match &error {
                Error::Invalid { file, .. } => edit(Path::new(file)),
                _ => format!("ls -l {}", word(&record)),
            };
            return ward.find("unreadable", ward.shown(&record), problem(&error), mend);
        }
    };
    let why = status.why.clone().map_or_else(String::new, |why| format!(": {}", text::excerpt(&why, 200)));
    let (retry, run) = (ward.command(&format!("relaunch retry {id}")), ward.command(&format!("relaunch -- {id}")));
    match status.state {
        Standing::Parked => ward.find("parked", id.as_str(), format!("its run was given up{why} (to drop it: relaunch drop {id})"), retry),
        Standing::Interrupted => ward.find("interrupted", id.as_str(), format!("its run was stopped{why}"), retry),
        Standing::Running => hanging(ward, mailbox, round),
        // Its watcher launches it when the queue goes on.
        Standing::Queued if ward.watcher => {}
        Standing::Retrying | Standing::Throttled => {
            let due = status.retry_at.is_none_or(|at| at + chrono::TimeDelta::seconds(AT_ONCE.as_secs().cast_signed()) < time::now());
            if due {
                ward.find("stuck", id.as_str(), format!("its next attempt is due, and nobody makes it{why}"), run);
            } else if !ward.watcher {
                let mend = ward.command("relaunch watch");
                ward.find("unclaimed", id.as_str(), format!("its next attempt waits, and no watcher runs to make it{why}"), mend);
            }
        }
        _ => {
            let last = record::latest(mailbox, round).ok().flatten();
            let over = document.typed.closed.is_some()
                || last.as_ref().is_some_and(|r| matches!(r.state, State::Delivered | State::Parked | State::Interrupted));
            if last.as_ref().map_or_else(|| age(&path), |r| time::since(r.started_at.unwrap_or(r.claimed_at))) < AT_ONCE {
                // Its claimer is about to launch it.
            } else if over {
                ward.find("half_done", id.as_str(), "its run is over, but the round lies in running/ still", run);
            } else {
                ward.find("orphaned", id.as_str(), "claimed, but its supervisor is gone", run);
            }
        }
    }
}

/// A live run whose supervisor does not keep its own limits.
fn hanging(ward: &mut Ward, mailbox: &Mailbox, round: &RoundId) {
    let Ok(Some(run)) = record::latest(mailbox, round) else { return };
    let silent = age(&run.folder(mailbox).join("events.jsonl"));
    let limit = ward.config.limits.silence.0.saturating_mul(2) + ward.config.limits.grace.0 + AT_ONCE;
    if silent > limit && run.started_at.is_some_and(|at| time::since(at) > limit) {
        let mend = ward.command(&format!("relaunch stop {} --now", round.workflow));
        ward.find("stuck", round.workflow.as_str(), format!("its run is live, but silent for {}", time::human(silent)), mend);
    }
}

fn quarantine(ward: &mut Ward, mailbox: &Mailbox) {
    let folder = mailbox.folder(Folder::Quarantine);
    let mut names = list::names(mailbox, Folder::Quarantine).unwrap_or_default();
    names.sort();
    for name in &names {
        let path = folder.join(name);
        if let Some(of) = name.strip_suffix(".reason") {
            if !names.iter().any(|n| n == of) && age(&path) >= AT_ONCE {
                ward.find(
                    "leftover",
                    ward.shown(&path),
                    "the file that it gives the reason for is not there",
                    format!("rm {}", word(&path)),
                );
            }
            continue;
        }
        let reason = folder.join(format!("{name}.reason"));
        let why = disk::read(&reason, 1 << 20).map(|b| String::from_utf8_lossy(&b).into_owned());
        let said = why.map_or_else(|_| "no reason is given".to_owned(), |why| text::excerpt(why.trim(), 400));
        let (file, reason) = (word(&path), shell_quote(&reason.display().to_string()));
        ward.find(
            "quarantined",
            ward.shown(&path),
            format!("{said} (to give it up: rm -f {file} {reason})"),
            restore(mailbox, &path, &said),
        );
    }
}

/// Edits a quarantined file and puts it back where it came from: `… from FOLDER/: …`.
fn restore(mailbox: &Mailbox, path: &Path, reason: &str) -> String {
    let from = Folder::ALL.into_iter().find(|f| reason.contains(&format!(" from {}/: ", f.name()))).unwrap_or(Folder::Pending);
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    // A second file of the same name got a number behind it.
    let own = match name.rsplit_once(".json") {
        Some((stem, _)) => format!("{stem}.json"),
        None => name,
    };
    let target = mailbox.folder(from).join(own);
    format!(
        "{} && mv -n {} {} && rm -f {}",
        edit(path),
        word(path),
        word(&target),
        word(&path.with_file_name(format!("{}.reason", path.file_name().unwrap_or_default().to_string_lossy())))
    )
}
