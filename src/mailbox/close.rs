//! The ends of a round. A pending one's document first says how it ended (durable, in place), then one rename into `closed/`
//! makes it so; a claimed one's the same, with fewer syncs. A crash between the two is completed at the next look.

use crate::disk::{self, Placed};
use crate::error::{Error, Result};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::answer::{Answer, AnswerValue};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::documents::question::{Closed, Closing, OnExpiry, QuestionDocument};
use crate::mailbox::layout::{Folder, Mailbox, WorkflowLock};
use crate::mailbox::{intake, list, timers};
use crate::time::{self, Time};

/// A round, wherever it lies.
#[derive(Debug)]
pub struct Found {
    /// Its folder, that is: its state.
    pub folder: Folder,
    /// Its id.
    pub round: RoundId,
    /// Its document.
    pub document: QuestionDocument,
}

/// Takes a pending question back; nothing is relaunched.
pub fn withdraw(mailbox: &Mailbox, workflow: &WorkflowId, by: &str, why: Option<String>) -> Result<RoundId> {
    let lock = mailbox.lock(workflow)?;
    intake::settle(mailbox, &lock)?;
    match intake::read_pending(mailbox, workflow) {
        Ok(document) => from_pending(mailbox, &lock, document, Closed::Withdrawn, by, why),
        Err(e) if e.is_missing_file() => {
            let hint = "see what is: ask-answer list";
            Err(match latest_round(mailbox, workflow) {
                None => Error::not_found(format!("no question of {workflow} is pending"), hint),
                Some(found) => {
                    let state = found.document.typed.closed.map_or(found.folder.name(), |c| c.state.word());
                    Error::conflict(format!("the question of {workflow} is not pending any more: it is {state}"), hint)
                }
            })
        }
        Err(e) => Err(e),
    }
}

/// What an expiry came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expiry {
    /// Not due, or no longer pending.
    Nothing,
    /// An earlier answer of the workflow still waits for its run: the default comes behind it.
    Later,
    /// It stays open, overdue.
    Kept,
    /// The asker's default became the answer.
    Defaulted,
    /// The round is closed as expired.
    Cancelled,
}

/// Applies what the asker wanted to happen when nobody answers in time, if the question is due.
pub fn expire(mailbox: &Mailbox, round: &RoundId, now: Time) -> Result<Expiry> {
    let lock = mailbox.lock(&round.workflow)?;
    intake::settle(mailbox, &lock)?;
    let document = match intake::read_pending(mailbox, &round.workflow) {
        Ok(document) => document,
        Err(e) if e.is_missing_file() => return Ok(Expiry::Nothing),
        Err(e) => return Err(e),
    };
    let due = document.typed.expires_at.filter(|at| *at <= now);
    let (Some(expires_at), true) = (due, intake::round_of(mailbox, &document.typed)? == *round) else {
        return Ok(Expiry::Nothing);
    };
    match (document.typed.on_expiry(), document.typed.default.clone()) {
        (OnExpiry::Default, Some(default)) => {
            drop(lock);
            default_applies(mailbox, round, default)
        }
        (OnExpiry::Cancel, _) => {
            from_pending(mailbox, &lock, document, Closed::Expired, "timer", None)?;
            Ok(Expiry::Cancelled)
        }
        _ if timers::tell_once(mailbox, round, expires_at)? => {
            audit::record(mailbox, Entry::of("overdue", round).by("timer"));
            Ok(Expiry::Kept)
        }
        _ => Ok(Expiry::Nothing),
    }
}

fn default_applies(mailbox: &Mailbox, round: &RoundId, default: AnswerValue) -> Result<Expiry> {
    match super::answer::answer(mailbox, &round.workflow, Some(round.question), Answer::value(default, super::answer::DEFAULT, "timer")) {
        Ok(_) => Ok(Expiry::Defaulted),
        Err(Error::Conflict { .. }) if mailbox.document(Folder::Pending, &round.workflow).exists() => Ok(Expiry::Later),
        // A human was faster.
        Err(Error::Conflict { .. } | Error::NotFound { .. }) => Ok(Expiry::Nothing),
        Err(e) => Err(e),
    }
}

/// Closes a pending question. The caller holds the workflow's lock and has settled it.
pub fn from_pending(
    mailbox: &Mailbox,
    lock: &WorkflowLock,
    mut document: QuestionDocument,
    state: Closed,
    by: &str,
    why: Option<String>,
) -> Result<RoundId> {
    let round = intake::round_of(mailbox, &document.typed)?;
    document.typed.question_id = Some(round.question);
    document.typed.closed = Some(Closing { state, at: time::now(), by: by.into(), why });
    document.update()?;
    note(mailbox, &round)?;
    disk::replace(&mailbox.document(Folder::Pending, lock.workflow()), &document.to_bytes())?;
    finish(mailbox, Folder::Pending, &round)?;
    timers::disarm(mailbox, &document.typed, &round);
    Ok(round)
}

/// Closes a claimed round: delivered, or dropped. The caller holds the workflow's lock.
pub fn from_claimed(
    mailbox: &Mailbox,
    lock: &WorkflowLock,
    from: Folder,
    question: QuestionId,
    state: Closed,
    by: &str,
    why: Option<String>,
) -> Result<()> {
    prepare(mailbox, lock, from, question, state, by, why)?.map_or(Ok(()), |close| close.commit(mailbox))
}

/// A claimed round about to be closed: what its document will say is on its way to the disk.
#[must_use = "nothing is closed before it is committed"]
pub struct Close {
    from: Folder,
    round: RoundId,
    document: QuestionDocument,
    closing: Closing,
    staged: disk::Staged,
}

/// The first half of [`from_claimed`]; `None` where the round is closed already.
pub fn prepare(
    mailbox: &Mailbox,
    lock: &WorkflowLock,
    from: Folder,
    question: QuestionId,
    state: Closed,
    by: &str,
    why: Option<String>,
) -> Result<Option<Close>> {
    let round = RoundId { workflow: lock.workflow().clone(), question };
    let path = mailbox.round(from, &round);
    let mut document = match intake::read_round_file(&path) {
        Ok(document) => document,
        Err(e) if e.is_missing_file() && mailbox.round(Folder::Closed, &round).exists() => return Ok(None),
        Err(e) => return Err(e),
    };
    let closing = Closing { state, at: time::now(), by: by.into(), why };
    document.set_field("closed", &closing)?;
    let staged = disk::stage(&path, &document.to_bytes())?;
    Ok(Some(Close { from, round, document, closing, staged }))
}

impl Close {
    /// Makes it so. The caller has held the workflow's lock since [`prepare`].
    pub fn commit(self, mailbox: &Mailbox) -> Result<()> {
        let Self { from, round, document, closing, staged } = self;
        let path = mailbox.round(from, &round);
        staged.replace_ahead()?;
        match disk::rename_ahead(&path, &mailbox.round(Folder::Closed, &round))? {
            Placed::Done => audited(mailbox, &round, closing),
            Placed::NameExists if is_closed(mailbox, &round, &document) => disk::untouch(&path)?,
            Placed::NameExists => {
                intake::quarantine(mailbox, &path, &round.file_name(), "its round is closed already, with another answer")?;
            }
        }
        Ok(())
    }
}

/// Whether a claimed document is of a round that is closed: a power cut can bring back its name from before the move. The
/// caller may remove it.
#[must_use]
pub fn is_closed(mailbox: &Mailbox, round: &RoundId, document: &QuestionDocument) -> bool {
    let closed = intake::read_round_file(&mailbox.round(Folder::Closed, round)).map(|closed| closed.typed);
    closed.is_ok_and(|closed| closed.closed.is_some() && closed.answer == document.typed.answer)
}

fn audited(mailbox: &Mailbox, round: &RoundId, closing: Closing) {
    audit::record(mailbox, Entry::of(closing.state.word(), round).by(&closing.by).why(closing.why.unwrap_or_default()));
}

/// Gives a round that never ran its folder in `runs/`, by which its workflow's history is found. Not synced by itself.
fn note(mailbox: &Mailbox, round: &RoundId) -> Result<()> {
    disk::touch_folder(&mailbox.runs_of(round))
}

/// The rename that closes a round whose document says how it ended.
pub fn finish(mailbox: &Mailbox, from: Folder, round: &RoundId) -> Result<()> {
    if from == Folder::Pending {
        note(mailbox, round)?;
    }
    let path = match from {
        Folder::Pending | Folder::Answered => mailbox.document(from, &round.workflow),
        _ => mailbox.round(from, round),
    };
    let closing = intake::read_round_file(&path)?.typed.closed;
    if disk::rename(&path, &mailbox.round(Folder::Closed, round))? == Placed::NameExists {
        // Closed before: this copy is a stranger's.
        intake::quarantine(mailbox, &path, &round.workflow.file_name(), "its round is closed already")?;
        return Ok(());
    }
    if let Some(closing) = closing {
        audited(mailbox, round, closing);
    }
    Ok(())
}

/// Keeps an answer that came too late with its round. Nothing is run. The caller holds the workflow's lock.
pub fn keep_late_answer(mailbox: &Mailbox, found: &Found, reply: Answer) -> Result<()> {
    let path = match found.folder {
        Folder::Pending | Folder::Answered => mailbox.document(found.folder, &found.round.workflow),
        folder => mailbox.round(folder, &found.round),
    };
    let mut document = intake::read_round_file(&path)?;
    let entry = Entry::of("late_answer", &found.round).by(&reply.by).why(&reply.channel);
    document.typed.late_answers.push(reply);
    document.update()?;
    disk::replace(&path, &document.to_bytes())?;
    audit::record(mailbox, entry);
    Ok(())
}

/// Every round of a workflow that can be read, in the order of a round's life, the closed ones by time. Costs as much as the
/// workflow has rounds, however many others there are.
#[must_use]
pub fn rounds(mailbox: &Mailbox, workflow: &WorkflowId) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    // Read in the order in which a round moves, so that one that moves meanwhile is found: at the latest of its places.
    let mut add = |folder, round: RoundId, document| {
        found.retain(|f| f.round != round);
        found.push(Found { folder, round, document });
    };
    for folder in [Folder::Pending, Folder::Answered] {
        if let Ok(document) = intake::read_round_file(&mailbox.document(folder, workflow))
            && let Ok(round) = intake::round_of(mailbox, &document.typed)
        {
            add(folder, round, document);
        }
    }
    let mut look = |folder, rounds: &mut dyn Iterator<Item = RoundId>| {
        for round in rounds.filter(|r| r.workflow == *workflow) {
            if let Ok(document) = intake::read_round_file(&mailbox.round(folder, &round)) {
                add(folder, round, document);
            }
        }
    };
    for folder in [Folder::Running, Folder::Parked] {
        look(folder, &mut list::round_names(mailbox, folder));
    }
    // Only what is open is few.
    look(Folder::Closed, &mut list::rounds_of(mailbox, workflow));
    let place =
        |folder| [Folder::Closed, Folder::Parked, Folder::Running, Folder::Answered, Folder::Pending].iter().position(|f| *f == folder);
    found.sort_unstable_by_key(|f| (f.document.typed.closed.as_ref().map_or(Time::MAX_UTC, |c| c.at), place(f.folder), f.round.clone()));
    found
}

/// The workflow's newest round.
#[must_use]
pub fn latest_round(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<Found> {
    rounds(mailbox, workflow).pop()
}
