//! Wakes the session that asked, or that started a workflow. A live session of a user has the file `looked/SESSION.wake`, which Claude Code
//! watches. A transition that is news for the session changes the file, after its line in the audit trail.
//!
//! A workflow's record names the session that waits for its result (`awaited_in`). A command of the session that prints the result itself
//! removes the name before it waits, so that the session is not woken for a result that it reads anyway.
//!
//! The file is a hint, and holds nothing that anybody reads. A change that is lost costs only time: the session is told the same news with
//! its next prompt.
//!
//! A session of Codex has no prompt with news. A watcher that is a client of Codex's daemon makes the empty file `looked/codex/THREAD` for each
//! session of the daemon. A transition that is news for such a session makes the empty file `looked/codex/THREAD.WORKFLOW`. The watcher tells
//! the session, and removes that file then.

use std::path::PathBuf;
use std::time::SystemTime;

use crate::{Mailbox, Question, Result, SessionId, WorkflowId, disk, workflows};

/// The end of the names of these files.
pub const SUFFIX: &str = ".wake";

/// The folder of all that is kept about what sessions were told.
pub fn folder(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("looked")
}

/// The file whose changes wake this session.
pub fn path(mailbox: &Mailbox, session: &SessionId) -> PathBuf {
    folder(mailbox).join(format!("{session}{SUFFIX}"))
}

/// Makes the file of a session. From now on, the session is woken.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn begin(mailbox: &Mailbox, session: &SessionId) -> Result<PathBuf> {
    disk::create_folder_in(&folder(mailbox))?;
    let path = path(mailbox, session);
    disk::replace_unsynced(&path, b"", SystemTime::now())?;
    Ok(path)
}

/// The folder of the sessions of Codex's daemon, and of the workflows with news for them.
pub fn codex_folder(mailbox: &Mailbox) -> PathBuf {
    folder(mailbox).join("codex")
}

/// The file of a session of Codex that is woken.
fn codex_path(mailbox: &Mailbox, thread: &SessionId) -> PathBuf {
    codex_folder(mailbox).join(thread.to_string())
}

/// The file that says that this workflow may have news for this session of Codex.
pub fn codex_news(mailbox: &Mailbox, thread: &SessionId, workflow: &WorkflowId) -> PathBuf {
    codex_folder(mailbox).join(format!("{thread}.{workflow}"))
}

/// Makes the file of a session of Codex. From now on, the session takes the answers to its questions, and is woken.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn begin_codex(mailbox: &Mailbox, thread: &SessionId) -> Result<()> {
    disk::create_folder_in(&folder(mailbox))?;
    disk::create_folder_in(&codex_folder(mailbox))?;
    disk::replace_unsynced(&codex_path(mailbox, thread), b"", SystemTime::now())
}

/// True if a watcher serves this session of Codex, or has served it before.
pub fn is_of_codex(mailbox: &Mailbox, thread: &SessionId) -> bool {
    disk::exists(codex_path(mailbox, thread))
}

/// True if the session wants to be woken.
pub fn is_wanted(mailbox: &Mailbox, session: &SessionId) -> bool {
    disk::exists(path(mailbox, session))
}

/// Lets the end of this workflow wake the session.
///
/// # Errors
/// Those of [`workflows::update`].
pub fn expect(mailbox: &Mailbox, workflow: &WorkflowId, session: SessionId) -> Result<()> {
    let lock = mailbox.lock(workflow)?;
    workflows::update(mailbox, &lock, |record| record.awaited_in = Some(session)).map(drop)
}

/// Lets the end of this workflow not wake the session any more. Returns true if it would have.
///
/// # Errors
/// Those of [`workflows::update`].
pub fn expect_no_more(mailbox: &Mailbox, workflow: &WorkflowId, session: &SessionId) -> Result<bool> {
    if !is_awaited_in(mailbox, workflow, session) {
        return Ok(false);
    }
    let lock = mailbox.lock(workflow)?;
    let mut was_awaited = false;
    workflows::update(mailbox, &lock, |record| was_awaited = record.awaited_in.take_if(|id| id == session).is_some())?;
    Ok(was_awaited)
}

/// True if the session waits for the result of this workflow.
pub fn is_awaited_in(mailbox: &Mailbox, workflow: &WorkflowId, session: &SessionId) -> bool {
    awaiting(mailbox, workflow).as_ref() == Some(session)
}

/// The session that waits for the result of this workflow.
fn awaiting(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<SessionId> {
    workflows::read(mailbox, workflow).ok()??.typed.awaited_in
}

/// Wakes the session that goes on with the answer to this question. If an agent is launched with it, nobody is woken.
pub fn by_answer(mailbox: &Mailbox, question: &Question) {
    asker_of_codex(mailbox, question);
    if let Some(session) = question.continues_in {
        change(mailbox, &session);
    }
}

/// Wakes the session that asked this question, because its round is over or parked. A dialog of the session, and a task of it, tell the session
/// themselves.
pub fn by_end(mailbox: &Mailbox, question: &Question) {
    asker_of_codex(mailbox, question);
    if let Some(session) = question.session_id.as_ref().filter(|_| question.live.is_none() && !question.to_session) {
        change(mailbox, session);
    }
}

/// Notes that the workflow of this question may have news for the session of Codex that asked it, if one did.
pub fn asker_of_codex(mailbox: &Mailbox, question: &Question) {
    if let Some(thread) = &question.codex_thread() {
        has_news(mailbox, thread, &question.workflow_id);
    }
}

/// Wakes the session that waits for the result of this workflow, if it wants to be woken.
pub fn starter(mailbox: &Mailbox, workflow: &WorkflowId) {
    if let Some(session) = awaiting(mailbox, workflow) {
        change(mailbox, &session);
        if is_of_codex(mailbox, &session) {
            has_news(mailbox, &session, workflow);
        }
    }
}

/// Notes that this workflow may have news for this session of Codex, durably, because nothing else reminds the watcher.
pub fn has_news(mailbox: &Mailbox, thread: &SessionId, workflow: &WorkflowId) {
    let _ = disk::create(&codex_news(mailbox, thread, workflow), b"");
}

fn change(mailbox: &Mailbox, session: &SessionId) {
    if is_wanted(mailbox, session) {
        let _ = disk::replace_unsynced(&path(mailbox, session), b"", SystemTime::now());
    }
}
