//! A question in the mailbox beside a dialog that is open somewhere else. Only the process that holds it takes its answer.
//!
//! The place that a session's dialog is about: its project, the branch there, and the workflow of its question.

use std::path::Path;
use std::time::Duration;

use uuid::Uuid;

use crate::approval::ask;
use crate::asking::hold::{Held, Look};
use crate::asking::orphans;
use crate::asking::receipt::{ASKS_AGAIN, End};
use crate::claim::inline;
use askbox_mailbox::programs::Facts;
use askbox_mailbox::transitions::post::IfPending;
use askbox_mailbox::{
    Error, Folder, Mailbox, Policy, Question, QuestionDocument, Result, SessionId, WorkflowId, disk, list, read_question, round, text,
};

/// A question beside a dialog, with the lock of its waiter.
pub struct Posted {
    held: Held,
    /// The name of this process in the rounds that it ends.
    by: &'static str,
}

impl Posted {
    /// Takes the lock of a waiter, and posts the question. If an answer to the same call was sent before and its end is not known, the question
    /// says that the call may have run. `None` if another process, or another request, asks for the same workflow.
    ///
    /// If the session asks again, this first ends what a process that was killed has left of the same question: an answer that it sent has
    /// not reached the session.
    ///
    /// # Errors
    /// Those of a post. [`Error::Held`] if another process keeps a lock.
    pub fn post(mailbox: &Mailbox, mut document: QuestionDocument, facts: &Facts) -> Result<Option<Self>> {
        let (workflow, by) = (document.typed.workflow_id.clone(), facts.by);
        if facts.asks_again {
            orphans::end_waiting(mailbox, &workflow)?;
            orphans::end_answered(mailbox, &workflow)?;
        }
        let waiter = match inline::begin(mailbox, &workflow) {
            Err(Error::Conflict { .. }) => return Ok(None),
            other => other?,
        };
        if facts.asks_again
            && let Some(claim) = orphans::sent(mailbox, &workflow)?
        {
            claim.superseded(mailbox, by, ASKS_AGAIN)?;
        }
        for round in list::round_names(mailbox, Folder::Running) {
            if let Ok(earlier) = read_question::of_round(&mailbox.round(Folder::Running, &round), &round) {
                ask::say_if_allowed(&mut document.typed, &earlier.typed);
            }
        }
        document.update()?;
        Ok(Some(Self { held: waiter.post(mailbox, document, &[], IfPending::Conflict)?, by }))
    }

    /// Looks for an answer, and claims it. A question that somebody has put in its place by hand counts as a change.
    ///
    /// # Errors
    /// If the answer is there and cannot be claimed now.
    pub fn look(&self, mailbox: &Mailbox, policy: &Policy) -> Result<Look> {
        let is_there = |folder| disk::exists(mailbox.document(folder, &self.held.round().workflow));
        if !is_there(Folder::Answered) && is_there(Folder::Pending) {
            return Ok(Look::Waits);
        }
        Ok(match self.take(mailbox, policy)? {
            // While this process holds the lock of the waiter, no other process takes the answer to the other question.
            Look::Waits if self.is_displaced(mailbox) => Look::Changed,
            look => look,
        })
    }

    /// True if the answer that lies there is to another question.
    fn is_displaced(&self, mailbox: &Mailbox) -> bool {
        let answered = read_question::answered(mailbox, &self.held.round().workflow);
        answered.is_ok_and(|document| document.typed.question_id.is_some_and(|id| id != self.held.round().question))
    }

    /// Withdraws the question, because its dialog has ended in this way. If it was answered just now, the answer came too late.
    ///
    /// # Errors
    /// If the question stays. Once this is dropped, a watcher withdraws it.
    pub fn withdraw(&self, mailbox: &Mailbox, policy: &Policy, how: &str) -> Result<()> {
        let Err(e) = self.held.withdraw(mailbox, self.by, how) else { return Ok(()) };
        match self.take(mailbox, policy)? {
            Look::Answered(claim) => End::too_late(how).close(*claim, mailbox, self.by),
            Look::Changed | Look::Ended(_) => Ok(()),
            Look::Waits => Err(e),
        }
    }

    fn take(&self, mailbox: &Mailbox, policy: &Policy) -> Result<Look> {
        self.held.look(mailbox, policy, Duration::ZERO, &|| false)
    }
}

/// The most characters of a name.
pub const LONGEST_NAME: usize = 60;
/// The most letters of the project's name in the id of the question.
const IN_ID: usize = 24;
/// The longest file that names a branch, in bytes.
const LONGEST_HEAD: u64 = 4096;

/// Returns the workflow of the call with this id. Two processes beside one dialog find the same workflow, so only one of them asks.
///
/// # Errors
/// [`askbox_mailbox::error::Error::Invalid`] if no id can be made.
pub fn workflow(cwd: &Path, session: &SessionId, call_id: &str) -> Result<WorkflowId> {
    let name: String = project(cwd).0.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let name: String = name.trim_matches('-').chars().take(IN_ID).collect();
    format!("live-{name}{}", end_of_id(session, call_id)).parse()
}

fn end_of_id(session: &SessionId, call_id: &str) -> String {
    let hash = Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{session} {call_id}").as_bytes()).simple().to_string();
    format!("-{}", &hash[..8])
}

/// Returns the newest question about the call with this id, whatever has become of it. The session may work in another folder by now.
pub fn question_of_call(mailbox: &Mailbox, cwd: &Path, session: &SessionId, call_id: &str) -> Option<Question> {
    let of = |workflow: &WorkflowId| {
        let question = round::latest(mailbox, workflow)?.document.typed;
        question.tool_call.as_ref().is_some_and(|call| call.id == call_id).then_some(question)
    };
    workflow(cwd, session, call_id).ok().as_ref().and_then(of).or_else(|| {
        let end = end_of_id(session, call_id);
        let names = disk::entries(&mailbox.folder(Folder::Runs)).ok()?.flatten().filter_map(|entry| entry.name.into_string().ok());
        names.filter(|name| name.starts_with("live-") && name.ends_with(&end)).find_map(|name| of(&name.parse().ok()?))
    })
}

/// Returns the name of the project's folder, and the branch that is checked out in it. The project is the nearest folder with a `.git`.
pub fn project(cwd: &Path) -> (String, Option<String>) {
    let root = cwd.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    let name = root.unwrap_or(cwd).file_name().map(|name| text::excerpt(&name.to_string_lossy(), LONGEST_NAME));
    let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "-".into());
    (name, root.and_then(branch).filter(|branch| !branch.is_empty()))
}

fn branch(root: &Path) -> Option<String> {
    let read = |path: &Path| disk::read(path, LONGEST_HEAD).ok().map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    let git = root.join(".git");
    let git = if git.is_dir() { git } else { root.join(read(&git)?.strip_prefix("gitdir:")?.trim()) };
    let head = read(&git.join("HEAD"))?;
    head.strip_prefix("ref: refs/heads/").map(|branch| text::excerpt(branch, LONGEST_NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_is_that_of_the_nearest_repository() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("shop/src");
        std::fs::create_dir_all(folder.path().join("shop/.git")).unwrap();
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(folder.path().join("shop/.git/HEAD"), "ref: refs/heads/feature/x\n").unwrap();
        assert_eq!(project(&below), ("shop".into(), Some("feature/x".into())));
        std::fs::create_dir_all(folder.path().join("tree")).unwrap();
        std::fs::write(folder.path().join("tree/.git"), "gitdir: ../shop/.git\n").unwrap();
        assert_eq!(project(&folder.path().join("tree")), ("tree".into(), Some("feature/x".into())));
        assert_eq!(project(Path::new("/")), ("-".into(), None));
    }
}
