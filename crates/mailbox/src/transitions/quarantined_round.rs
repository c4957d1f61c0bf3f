//! Rounds that were answered or claimed, but whose file could not be read and lies in `quarantine/`. Their agents wait, so these
//! rounds count as parked until a person mends the file.
//!
//! Only the file's name and its `.reason` tell which round it was: see [`crate::quarantine`].

use std::path::{Path, PathBuf};

use crate::audit::{self, Entry};
use crate::transitions::answered_by_hand;
use crate::{
    Error, Folder, Mailbox, Placed, QuestionId, Result, RoundId, Time, WorkflowId, WorkflowLock, disk, list, quarantine, read_question,
    round, text,
};

/// A file in quarantine whose round is not over.
#[derive(Debug, Clone)]
pub struct QuarantinedRound {
    /// The workflow in the file's name.
    pub workflow: WorkflowId,
    /// The round, if the file's name has it.
    pub question: Option<QuestionId>,
    /// The path of the file in quarantine.
    pub file: PathBuf,
    /// The original folder of the file: `answered/` or `running/`.
    pub from: Folder,
    /// The time when the file was moved to quarantine.
    pub since: Option<Time>,
    /// The reason why the file lies there.
    pub reason: String,
}

impl QuarantinedRound {
    /// Returns why the round does not go on, as a sentence for people.
    pub fn why(&self) -> String {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        format!("its file could not be used and lies in quarantine/{name}: {}", text::excerpt(&self.reason, 300))
    }

    /// Returns what a person does about it.
    pub fn todo(&self) -> String {
        format!("mend {}, then: relaunch retry {}", text::shell_quote(&self.file.display().to_string()), self.workflow)
    }
}

/// Returns the quarantined rounds of all workflows, sorted by workflow.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn all(mailbox: &Mailbox) -> Result<Vec<QuarantinedRound>> {
    let mut found: Vec<QuarantinedRound> =
        list::names(mailbox, Folder::Quarantine)?.iter().filter_map(|name| look(mailbox, name, None)).collect();
    found.sort_unstable_by(|a, b| (&a.workflow, &a.file).cmp(&(&b.workflow, &b.file)));
    Ok(found)
}

/// Returns the first quarantined round of a workflow.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn of_workflow(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<QuarantinedRound>> {
    let mut names = list::names(mailbox, Folder::Quarantine)?;
    names.retain(|name| name.starts_with(workflow.as_str()));
    names.sort_unstable();
    Ok(names.iter().find_map(|name| look(mailbox, name, Some(workflow))))
}

fn look(mailbox: &Mailbox, name: &str, wanted: Option<&WorkflowId>) -> Option<QuarantinedRound> {
    let quarantined = quarantine::reason(mailbox, name)?;
    let (workflow, question) = match quarantined.from {
        Folder::Answered => (WorkflowId::from_file_name(&quarantined.name)?, None),
        Folder::Running => RoundId::from_file_name(&quarantined.name).map(|round| (round.workflow, Some(round.question)))?,
        _ => return None,
    };
    let file = mailbox.folder(Folder::Quarantine).join(name);
    let is_wanted = wanted.is_none_or(|wanted| *wanted == workflow);
    (is_wanted && disk::exists(&file) && !is_elsewhere(mailbox, &workflow, question, &file)).then_some(QuarantinedRound {
        workflow,
        question,
        file,
        from: quarantined.from,
        since: quarantined.at,
        reason: quarantined.why,
    })
}

/// True if the round lies in another folder as well. Then the file is a copy, or an answer that came too late.
fn is_elsewhere(mailbox: &Mailbox, workflow: &WorkflowId, question: Option<QuestionId>, file: &Path) -> bool {
    if let Some(question) = question {
        return round::is_claimed_or_closed(mailbox, &RoundId { workflow: workflow.clone(), question });
    }
    let Ok(document) = read_question::document(file) else { return false };
    let Ok(own) = round::round_of(mailbox, &document.typed) else { return false };
    let pending = || read_question::pending(mailbox, workflow).and_then(|d| round::of_pending(mailbox, &d.typed));
    let answered = || read_question::answered(mailbox, workflow).and_then(|d| round::round_of(mailbox, &d.typed));
    round::is_claimed_or_closed(mailbox, &own) || [pending(), answered()].into_iter().flatten().any(|there| there == own)
}

/// Moves a file that a person has mended back to its original folder. The caller holds the workflow's lock.
///
/// # Errors
/// [`Error::Invalid`] if the file still cannot be used. [`Error::Conflict`] if another file has its name by now. [`Error::Io`] if
/// the system refuses.
pub fn give_back(mailbox: &Mailbox, lock: &WorkflowLock, held: &QuarantinedRound) -> Result<()> {
    let workflow = lock.workflow();
    let target = match held.question {
        Some(question) => mailbox.round(held.from, &RoundId { workflow: workflow.clone(), question }),
        None => mailbox.document(held.from, workflow),
    };
    let read = match held.question {
        Some(question) => read_question::of_round(&held.file, &RoundId { workflow: workflow.clone(), question }),
        None => answered_by_hand::readable(&held.file, workflow),
    };
    read.map_err(|e| match e {
        Error::Invalid { file, field, problem, fix } => {
            Error::Invalid { file, field, problem, fix: fix.then(format!("relaunch retry {workflow}")) }
        }
        other => other,
    })?;
    if disk::rename(&held.file, &target)? == Placed::NameExists {
        let said = format!("{} exists by now: it belongs to a later round", target.display());
        return Err(Error::conflict(said, ("wait until that round is over", format!("relaunch status {workflow}"))));
    }
    disk::untouch(&quarantine::reason_of(&held.file))?;
    let entry = Entry { workflow_id: Some(workflow.clone()), question_id: held.question, ..Entry::about("retried") };
    audit::record(mailbox, entry.by("operator").why("mended and moved back from quarantine/"));
    Ok(())
}
