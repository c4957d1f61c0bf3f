//! Checks rounds that a run has claimed: parked, interrupted, stuck or half done.

use std::path::Path;

use crate::commands::doctor::checkup::{AT_ONCE, Checkup, age, edit, problem, word};
use askbox_mailbox::{Error, Folder, Mailbox, RoundId, disk, read_question, text, time};
use askbox_run::{Cause, Run, RunState, Standing, Teller, record};

/// Checks a round in `running/`, `parked/` or `closed/`.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup, teller: &Teller<'_>, folder: Folder, round: &RoundId) {
    let mailbox = teller.mailbox();
    let path = mailbox.round(folder, round);
    let document = match read_question::document(&path) {
        Ok(document) => document,
        Err(error) => return checkup.report_unreadable(&path, &error),
    };
    if folder == Folder::Closed {
        let runs = mailbox.runs_of(round);
        if !disk::exists(&runs) {
            let said = "the round is closed but has no folder in runs/, so it is not found among its workflow's rounds";
            checkup.report("unlisted", checkup.shown(&path), said, format!("mkdir -p -m 700 {}", word(&runs)));
        }
        for attempt in record::attempts(mailbox, round).unwrap_or_default() {
            if let Err(error) = record::read(mailbox, round, attempt) {
                unreadable_record(checkup, mailbox, round, &error);
            }
        }
        return;
    }
    let id = &round.workflow;
    let status = match teller.of_round(folder, round, &document.typed) {
        Ok(status) => status,
        Err(error) => return unreadable_record(checkup, mailbox, round, &error),
    };
    let why = status.why.clone().map_or_else(String::new, |why| format!(": {}", text::excerpt(&why, 200)));
    // A retry alone does not help if something else must be repaired first.
    let todo = status.todo.clone().map_or_else(String::new, |todo| format!("; {todo}"));
    let run = checkup.launching(&format!("relaunch -- {id}"));
    let retry = status.hold_ups.first().map_or_else(|| run.clone(), |hold_up| hold_up.next.clone());
    let (kind, said, mend) = match status.state {
        Standing::Parked => ("parked", format!("its run failed and is parked{why}{todo} (to give it up: relaunch drop {id})"), retry),
        Standing::Interrupted => ("interrupted", format!("its run was stopped{why}"), retry),
        Standing::Running => return hanging(checkup, mailbox, round),
        // The session, its transcript or a person tells it.
        Standing::Sent => return,
        // The watcher launches the run when the queue continues.
        Standing::Queued if checkup.watcher => return,
        Standing::Retrying | Standing::Throttled => {
            let is_due = status.retry_at.is_none_or(|at| at + AT_ONCE < time::now());
            match is_due {
                true if status.cause.is_some_and(Cause::is_of_queue) => return,
                true => ("stuck", format!("its next attempt is due but was not started{why}"), run),
                false if checkup.watcher => return,
                false => {
                    let said = format!("its next attempt is scheduled, but no watcher is running{why}");
                    ("unclaimed", said, checkup.command("relaunch watch"))
                }
            }
        }
        _ => {
            let last = record::latest(mailbox, round).ok().flatten();
            let is_over = |run: &Run| run.is_delivered() || matches!(run.state, RunState::Parked | RunState::Interrupted);
            let begun = last.as_ref().map(|run| run.started_at.unwrap_or(run.claimed_at));
            // The process that claimed the round may be about to launch the run.
            if begun.map_or_else(|| age(&path), time::since) < AT_ONCE {
                return;
            }
            match document.typed.closed.is_some() || last.as_ref().is_some_and(is_over) {
                // The supervisors end because they cannot read it. That is told once.
                false if status.cause == Some(Cause::Configuration) => return,
                true => ("half_done", "its run has ended, but the round is still in running/".to_owned(), run),
                false => ("orphaned", "claimed, but its supervisor is no longer running".to_owned(), run),
            }
        }
    };
    checkup.report(kind, id.as_str(), said, mend);
}

/// Reports a record of a round's attempts that cannot be read. A crash can leave an attempt without one.
fn unreadable_record(checkup: &mut Checkup, mailbox: &Mailbox, round: &RoundId, error: &Error) {
    if error.is_missing_file() {
        return;
    }
    let record = mailbox.runs_of(round);
    let mend = match error {
        Error::Invalid { file, .. } => edit(Path::new(file)),
        _ => format!("ls -l {}", word(&record)),
    };
    checkup.report("unreadable", checkup.shown(&record), problem(error), mend);
}

/// Reports a live run that has been silent for longer than its supervisor should allow.
fn hanging(checkup: &mut Checkup, mailbox: &Mailbox, round: &RoundId) {
    let Ok(Some(run)) = record::latest(mailbox, round) else { return };
    let silent = age(&run.folder(mailbox).join("events.jsonl"));
    let limit = checkup.config.limits.silence.0.saturating_mul(2) + checkup.config.limits.grace.0 + AT_ONCE;
    if silent > limit && run.started_at.is_some_and(|at| time::since(at) > limit) {
        let mend = checkup.command(&format!("relaunch stop {} --now", round.workflow));
        checkup.report("stuck", round.workflow.as_str(), format!("its run is live but has been silent for {}", time::human(silent)), mend);
    }
}
