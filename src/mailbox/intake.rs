//! Strangers' files, and transitions that somebody left half done.
//!
//! Bash inside a subagent writes `pending/ID.json` with `cat`, the main agent answers with `jq` and `mv`: none of them knows
//! of us. A torn file gets time to settle, then goes to quarantine with its reason. A hand-made `mv pending/x answered/x` is
//! a valid answer if the checkpoint's `user_answer` is newer than the question; otherwise it is undone.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::answer::{Answer, AnswerValue, Outcome};
use super::audit::{self, Entry};
use super::layout::{Folder, Mailbox, WorkflowLock};
use super::question::{MAX_ANSWERED, MAX_QUESTION, Question, QuestionDocument};
use super::{close, timers, validate};
use crate::checkpoint;
use crate::disk::{self, Placed};
use crate::document::Document;
use crate::error::{Error, IoContext, Result};
use crate::id::{RoundId, WorkflowId};
use crate::time;

/// How long an unreadable file may stay unchanged before it is quarantined, and an unanswered `answered/` file before it is undone.
pub const SETTLE: Duration = Duration::from_secs(3);

/// Reads `pending/WORKFLOW.json` and checks that it may be answered.
pub fn read_pending(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<QuestionDocument> {
    let path = mailbox.document(Folder::Pending, workflow);
    let document = read_question(&path, MAX_QUESTION)?;
    check_name(&path, &document.typed, workflow)?;
    validate::question(&document.typed).map_err(|e| e.in_file(&path))?;
    Ok(document)
}

/// Reads a question document that has left `pending/`.
pub fn read_round_file(path: &Path) -> Result<QuestionDocument> {
    read_question(path, MAX_ANSWERED)
}

fn read_question(path: &Path, limit: u64) -> Result<QuestionDocument> {
    Document::parse(&disk::read(path, limit)?).map_err(|e| e.in_file(path))
}

fn check_name(path: &Path, question: &Question, workflow: &WorkflowId) -> Result<()> {
    if question.workflow_id == *workflow {
        return Ok(());
    }
    let problem = format!("says `{}`, but the file is named for `{workflow}`", question.workflow_id);
    Err(Error::invalid("workflow_id", problem, "name the file WORKFLOW_ID.json").in_file(path))
}

/// The round a question belongs to: its `question_id`, or one derived from its content. The same content asked again after
/// its round was claimed or closed is the next round.
pub fn round_of(mailbox: &Mailbox, question: &Question) -> Result<RoundId> {
    if let Some(round) = question.round() {
        return Ok(round);
    }
    for n in 0.. {
        let round = RoundId { workflow: question.workflow_id.clone(), question: question.derived_id(n)? };
        if !is_over(mailbox, &round) {
            return Ok(round);
        }
    }
    Err(Error::failed("every derived round id is taken", "post with ask-post, which numbers rounds by itself"))
}

/// Whether a round has left `answered/`: it was claimed or closed.
#[must_use]
pub fn is_over(mailbox: &Mailbox, round: &RoundId) -> bool {
    [Folder::Running, Folder::Parked, Folder::Closed].iter().any(|f| mailbox.round(*f, round).symlink_metadata().is_ok())
}

/// Completes what was left half done for one workflow. Cheap where there is nothing to do; first step of every transition.
pub fn settle(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<()> {
    let workflow = lock.workflow();
    put_back(mailbox, workflow)?;
    let pending = match read_pending(mailbox, workflow) {
        Ok(document) => document,
        // Nothing there, or not readable: the latter is the watcher's and the doctor's to judge, with patience.
        Err(_) => return Ok(()),
    };
    if pending.typed.closed.is_some() {
        return close::finish(mailbox, Folder::Pending, &round_of(mailbox, &pending.typed)?);
    }
    if let Some(round) = pending.typed.round()
        && is_over(mailbox, &round)
    {
        let reason = format!("its question_id {} is of a round that is over", round.question);
        quarantine(mailbox, &mailbox.document(Folder::Pending, workflow), &reason)?;
        return Ok(());
    }
    let answered = mailbox.document(Folder::Answered, workflow);
    if let Ok(document) = read_round_file(&answered) {
        let round = round_of(mailbox, &pending.typed)?;
        if round_of(mailbox, &document.typed)? == round {
            retire_pending(mailbox, &round)?;
        }
    }
    Ok(())
}

/// Removes the pending copy of a round that was answered, but nothing newer: a stranger may have put the next question there
/// since we looked. It is moved aside first, then read, and put back if it is another round's.
pub fn retire_pending(mailbox: &Mailbox, round: &RoundId) -> Result<()> {
    let path = mailbox.document(Folder::Pending, &round.workflow);
    let aside = aside(mailbox, &round.workflow);
    match std::fs::rename(&path, &aside) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        other => other.io("move", &path)?,
    }
    let newer = match read_question(&aside, MAX_QUESTION) {
        Ok(document) => round_of(mailbox, &document.typed)? != *round,
        // Somebody is writing it right now: certainly not the file that was answered.
        Err(_) => true,
    };
    if newer && disk::rename(&aside, &path)? == Placed::Done {
        return Ok(());
    }
    disk::remove(&aside)
}

/// Where [`retire_pending`] looks at what it takes away.
fn aside(mailbox: &Mailbox, workflow: &WorkflowId) -> PathBuf {
    mailbox.folder(Folder::Pending).join(format!("{RETIRED}{}", workflow.file_name()))
}

/// How such names begin.
const RETIRED: &str = ".tmp-retired.";

/// Completes a [`retire_pending`] that was killed: what it had moved aside is the copy of a round that was answered, and goes,
/// or something newer, and goes back.
fn put_back(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<()> {
    let aside = aside(mailbox, workflow);
    if aside.symlink_metadata().is_err() {
        return Ok(());
    }
    let answered = read_round_file(&mailbox.document(Folder::Answered, workflow)).ok();
    let answered = answered.and_then(|d| round_of(mailbox, &d.typed).ok());
    let round = read_question(&aside, MAX_QUESTION).ok().and_then(|d| round_of(mailbox, &d.typed).ok());
    if round.is_some_and(|round| answered.as_ref() == Some(&round) || is_over(mailbox, &round)) {
        return disk::remove(&aside);
    }
    let path = mailbox.document(Folder::Pending, workflow);
    if disk::rename(&aside, &path)? == Placed::Taken {
        quarantine(mailbox, &aside, "it was moved aside, and pending/ holds another question by now")?;
    }
    Ok(())
}

/// The workflows of which something was moved aside and is still there: nothing else leads to them.
#[must_use]
pub fn moved_aside(mailbox: &Mailbox) -> Vec<WorkflowId> {
    let entries = std::fs::read_dir(mailbox.folder(Folder::Pending)).into_iter().flatten().flatten();
    entries.filter_map(|e| WorkflowId::from_file_name(e.file_name().to_str()?.strip_prefix(RETIRED)?)).collect()
}

/// What lies in `answered/`.
#[derive(Debug)]
pub enum Adopted {
    /// A complete answer; ready to be claimed.
    Ready(Box<QuestionDocument>, RoundId),
    /// Nothing is there.
    Nothing,
    /// A stranger's file that may still change; look again after this long.
    Unsettled(Duration),
    /// Somebody moved the question without an answer; it is back in `pending/`.
    Undone,
    /// It could not be read and went to quarantine.
    Quarantined,
}

/// Brings `answered/WORKFLOW.json` into its full form: id, answer, who.
pub fn adopt(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<Adopted> {
    let workflow = lock.workflow();
    let path = mailbox.document(Folder::Answered, workflow);
    let read = read_round_file(&path).and_then(|document| {
        check_name(&path, &document.typed, workflow)?;
        validate::question(&document.typed).map_err(|e| e.in_file(&path))?;
        Ok(document)
    });
    let mut document = match read {
        Ok(document) => document,
        Err(e) if e.is_missing_file() => return Ok(Adopted::Nothing),
        Err(Error::Invalid { .. }) if age(&path) < SETTLE => return Ok(Adopted::Unsettled(SETTLE - age(&path))),
        Err(e @ Error::Invalid { .. }) => {
            quarantine(mailbox, &path, &e.to_string())?;
            return Ok(Adopted::Quarantined);
        }
        Err(e) => return Err(e),
    };
    let round = round_of(mailbox, &document.typed)?;
    if document.typed.round().is_some() && is_over(mailbox, &round) {
        quarantine(mailbox, &path, &format!("its question_id {} is of a round that is over", round.question))?;
        return Ok(Adopted::Quarantined);
    }
    let complete = document.typed.question_id.is_some() && document.typed.answer.as_ref().is_some_and(|a| a.at.is_some());
    if complete {
        return Ok(Adopted::Ready(Box::new(document), round));
    }
    let given = match document.typed.answer.take() {
        Some(answer) => Some(answer),
        None => answer_in_checkpoint(mailbox, &path, &document.typed, &round),
    };
    let reply = given
        .ok_or_else(|| "no answer came with it".to_owned())
        .and_then(|answer| validate::reply(&document.typed, answer).map_err(|e| e.to_string()));
    let reply = match reply {
        Ok(reply) => reply,
        Err(_) if age(&path) < SETTLE => return Ok(Adopted::Unsettled(SETTLE - age(&path))),
        Err(why) => return undo(mailbox, &path, &round, &why),
    };
    let by_hand = |s: &str| if s.is_empty() { "hand".to_owned() } else { s.to_owned() };
    document.typed.question_id = Some(round.question);
    document.typed.answer = Some(Answer {
        by: by_hand(&reply.by),
        channel: by_hand(&reply.channel),
        at: reply.at.or_else(|| Some(modified(&path).into())),
        question_hash: Some(document.typed.hash()?),
        ..reply
    });
    document.update()?;
    disk::replace(&path, &document.to_bytes())?;
    audit::record(mailbox, Entry::of("answered", &round).by("hand").why("a file put into answered/"));
    Ok(Adopted::Ready(Box::new(document), round))
}

/// The checkpoint's `user_answer`, if it was given to this question: written after it was asked, and not to another round.
fn answer_in_checkpoint(mailbox: &Mailbox, path: &Path, question: &Question, round: &RoundId) -> Option<Answer> {
    let own = mailbox.document(Folder::Checkpoints, &round.workflow);
    let candidates = question.checkpoint.iter().cloned().chain([own]);
    for candidate in candidates {
        let Ok(document) = checkpoint::read(&candidate) else { continue };
        if document.typed.workflow_id.as_ref().is_some_and(|w| *w != round.workflow) {
            continue;
        }
        let value = document.typed.user_answer.clone().and_then(|v| AnswerValue::from_json(v).ok());
        let of_this_round = match document.typed.user_answer_to {
            Some(id) => id == round.question,
            // `mv` keeps the question's own time; the answer was written later than that.
            None => modified(&candidate) >= modified(path),
        };
        if let (Some(value), true) = (value, of_this_round) {
            return Some(Answer {
                outcome: Outcome::Answered,
                at: Some(modified(&candidate).into()),
                ..Answer::value(value, "hand", "hand")
            });
        }
    }
    None
}

fn undo(mailbox: &Mailbox, path: &Path, round: &RoundId, why: &str) -> Result<Adopted> {
    if disk::rename(path, &mailbox.document(Folder::Pending, &round.workflow))? == Placed::Taken {
        quarantine(mailbox, path, &format!("moved to answered/, but {why}, and pending/ holds a newer question"))?;
        return Ok(Adopted::Quarantined);
    }
    audit::record(mailbox, Entry::of("undone", round).by("askbox").why(format!("moved to answered/, but {why}")));
    Ok(Adopted::Undone)
}

/// What a new file in `pending/` is.
#[derive(Debug)]
pub enum Taken {
    /// A question; its dates are armed and its checkpoint is safe.
    Question(Box<QuestionDocument>, RoundId),
    /// Gone again.
    Nothing,
    /// Unreadable, but young; look again after this long.
    Unsettled(Duration),
    /// Unreadable; in quarantine with its reason.
    Quarantined,
}

/// Takes in one file of `pending/` by its name, if that ends in `.json`.
pub fn take_in(mailbox: &Mailbox, name: &str) -> Result<Taken> {
    let path = mailbox.folder(Folder::Pending).join(name);
    let Some(workflow) = WorkflowId::from_file_name(name) else {
        return judge(mailbox, &path, &Error::invalid("file", "its name is no WORKFLOW_ID.json", "rename it"));
    };
    let lock = mailbox.lock(&workflow)?;
    settle(mailbox, &lock)?;
    match read_pending(mailbox, &workflow) {
        Ok(document) => {
            let round = round_of(mailbox, &document.typed)?;
            timers::arm(mailbox, &document.typed, &round)?;
            // A checkpoint that is missing or torn is the relaunched agent's to report; the question stands.
            let _ = keep_checkpoint(mailbox, &document.typed);
            Ok(Taken::Question(Box::new(document), round))
        }
        Err(e) if e.is_missing_file() => Ok(Taken::Nothing),
        Err(e @ Error::Invalid { .. }) => judge(mailbox, &path, &e),
        Err(e) => Err(e),
    }
}

fn judge(mailbox: &Mailbox, path: &Path, error: &Error) -> Result<Taken> {
    if path.symlink_metadata().is_err() {
        return Ok(Taken::Nothing);
    }
    let age = age(path);
    if age < SETTLE {
        return Ok(Taken::Unsettled(SETTLE - age));
    }
    quarantine(mailbox, path, &format!("{error}; {}", error.hint()))?;
    Ok(Taken::Quarantined)
}

/// Moves a file out of the way, never to the bin: `quarantine/NAME` and `quarantine/NAME.reason`.
pub fn quarantine(mailbox: &Mailbox, path: &Path, reason: &str) -> Result<PathBuf> {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = mailbox.folder(Folder::Quarantine);
    let from = path.parent().and_then(Path::file_name).map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let text = format!("{} from {from}/: {reason}\n", time::rfc3339(time::now()));
    for n in 0.. {
        let target = folder.join(if n == 0 { name.clone() } else { format!("{name}.{n}") });
        let beside = folder.join(format!("{}.reason", target.file_name().unwrap_or_default().to_string_lossy()));
        if target.symlink_metadata().is_ok() || disk::create(&beside, text.as_bytes())? == Placed::Taken {
            continue;
        }
        match disk::rename(path, &target) {
            Ok(Placed::Done) => {
                audit::record(mailbox, Entry::about("quarantined").by("askbox").why(format!("{from}/{name}: {reason}")));
                return Ok(target);
            }
            Ok(Placed::Taken) => {}
            Err(e) => {
                disk::remove(&beside)?;
                return Err(e);
            }
        }
    }
    Err(Error::failed("the quarantine is full", "empty it: it is yours to judge"))
}

/// A checkpoint under a temporary folder dies at reboot: keeps a copy in `checkpoints/`, with its time. The original path
/// keeps working while it exists.
pub fn keep_checkpoint(mailbox: &Mailbox, question: &Question) -> Result<()> {
    let Some(path) = question.checkpoint.as_deref().filter(|p| is_temporary(p)) else { return Ok(()) };
    let copy = mailbox.document(Folder::Checkpoints, &question.workflow_id);
    let document = checkpoint::read_for(path, &question.workflow_id)?;
    let time = modified(path);
    if copy.exists() && modified(&copy) >= time {
        return Ok(());
    }
    disk::replace(&copy, &document.to_bytes())?;
    // Whether an answer is newer than its question is read off this time.
    std::fs::File::options().append(true).open(&copy).and_then(|f| f.set_modified(time)).io("date", &copy)
}

fn is_temporary(path: &Path) -> bool {
    let temp = std::env::temp_dir();
    [Path::new("/tmp"), Path::new("/var/tmp"), Path::new("/dev/shm"), temp.as_path()].iter().any(|t| path.starts_with(t))
}

fn modified(path: &Path) -> SystemTime {
    path.symlink_metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Time since the file's last change of any kind, renames included.
fn age(path: &Path) -> Duration {
    use std::os::unix::fs::MetadataExt;
    let Ok(meta) = path.symlink_metadata() else { return SETTLE };
    let nanos = u32::try_from(meta.ctime_nsec()).unwrap_or(0);
    let changed = u64::try_from(meta.ctime()).map_or(SystemTime::UNIX_EPOCH, |s| SystemTime::UNIX_EPOCH + Duration::new(s, nanos));
    changed.elapsed().unwrap_or_default()
}
