//! Strangers' files, and transitions that somebody left half done.
//!
//! Bash inside a subagent writes `pending/ID.json` with `cat`, the main agent answers with `jq` and `mv`: none of them knows
//! of us. A torn file gets time to settle, then goes to quarantine with its reason. What they put into `answered/` is
//! [`super::adopt`]'s.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::disk::{self, Placed};
use crate::document::{self, Document};
use crate::error::{Error, Result};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::documents::question::{MAX_ANSWERED, MAX_QUESTION, Question, QuestionDocument};
use crate::mailbox::documents::{checkpoint, validate};
use crate::mailbox::layout::{Folder, Mailbox, WorkflowLock};
use crate::mailbox::{close, timers};
use crate::time::{self, Time};

/// How long an unreadable file may stay unchanged before it is quarantined, and an unanswered `answered/` file before it is undone.
pub const SETTLE: Duration = Duration::from_secs(3);

/// The name, in `pending/`, of a question that is being taken away because it was answered; its round follows.
const RETIRED: &str = ".tmpretired.";

/// How often a workflow may ask the very same hand-written question.
const MAX_REPEATS: u32 = 100_000;

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

pub(super) fn check_name(path: &Path, question: &Question, workflow: &WorkflowId) -> Result<()> {
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
    for n in 0..MAX_REPEATS {
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

/// When a document was answered, as far as it says so: nothing else of it is looked at.
pub fn answered_at(path: &Path) -> Result<Option<Time>> {
    #[derive(serde::Deserialize)]
    struct Answered {
        answer: At,
    }
    #[derive(serde::Deserialize)]
    struct At {
        at: Option<Time>,
    }
    Ok(document::json::<Answered>(&disk::read(path, MAX_QUESTION)?).and_then(|answered| answered.answer.at))
}

/// Completes what was left half done for one workflow. Cheap where there is nothing to do; first step of every transition.
/// Returns the pending question where there is one and nothing had to be done.
pub fn settle(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<Option<QuestionDocument>> {
    let workflow = lock.workflow();
    let pending = match read_pending(mailbox, workflow) {
        Ok(document) => document,
        // Nothing there, or not readable: the latter is the watcher's and the doctor's to judge, with patience.
        Err(_) => return Ok(None),
    };
    if pending.typed.closed.is_some() {
        return close::finish(mailbox, Folder::Pending, &round_of(mailbox, &pending.typed)?).map(|()| None);
    }
    if let Some(round) = pending.typed.round()
        && is_over(mailbox, &round)
    {
        let path = mailbox.document(Folder::Pending, workflow);
        if came_back(mailbox, &round, &path, &pending.typed) {
            return disk::untouch(&path).map(|()| None);
        }
        let reason = format!("its question_id {} is of a round that is over", round.question);
        quarantine(mailbox, &path, &workflow.file_name(), &reason)?;
        return Ok(None);
    }
    let answered = mailbox.document(Folder::Answered, workflow);
    // A bare copy (`cp pending/x answered/x`) has no answer yet and takes nothing away.
    if let Ok(document) = read_round_file(&answered)
        && let Some(answer) = &document.typed.answer
    {
        let round = round_of(mailbox, &pending.typed)?;
        let path = mailbox.document(Folder::Pending, workflow);
        let at = answer.at.or_else(|| Some(time::to_the_millisecond(modified(&answered).into())));
        if round_of(mailbox, &document.typed)? == round && !is_asked_again(&path, &pending.typed, at) {
            retire_pending(mailbox, &round, at)?;
            return Ok(None);
        }
    }
    Ok(Some(pending))
}

/// Whether a question is the one that was answered: a power cut brings its name back, since only the answer's is waited for. A
/// younger copy is somebody's.
fn came_back(mailbox: &Mailbox, round: &RoundId, path: &Path, pending: &Question) -> bool {
    let over = [Folder::Running, Folder::Parked, Folder::Closed].iter().find_map(|f| read_round_file(&mailbox.round(*f, round)).ok());
    let Some(answer) = over.and_then(|document| document.typed.answer) else { return false };
    let same = answer.question_hash.is_some() && answer.question_hash == pending.hash().ok();
    let older = answer.at.is_some_and(|at| time::to_the_millisecond(modified(path).into()) <= at);
    same && older && pending.answer.is_none() && pending.late_answers.is_empty()
}

/// Whether a hand-written question was written after `answered`: then it is the next round, even if it says the same.
fn is_asked_again(path: &Path, question: &Question, answered: Option<Time>) -> bool {
    let written = modified(path);
    question.question_id.is_none()
        && written <= SystemTime::now()
        && answered.is_some_and(|at| time::to_the_millisecond(written.into()) > at)
}

/// Removes the pending copy of a round that was answered, but nothing newer: a stranger may have put the next question there
/// since we looked. It is moved aside first, then read, and put back if it is another round's. The caller holds the lock.
pub fn retire_pending(mailbox: &Mailbox, round: &RoundId, answered: Option<Time>) -> Result<()> {
    let path = mailbox.document(Folder::Pending, &round.workflow);
    let aside = mailbox.folder(Folder::Pending).join(format!("{RETIRED}{round}"));
    finish_retiring(mailbox, round, &aside, answered)?;
    if !disk::set_aside(&path, &aside)? {
        return Ok(());
    }
    finish_retiring(mailbox, round, &aside, answered)
}

fn finish_retiring(mailbox: &Mailbox, round: &RoundId, aside: &Path, answered: Option<Time>) -> Result<()> {
    /// All that tells a question of ours from another.
    #[derive(serde::Deserialize)]
    struct Asked {
        question_id: Option<QuestionId>,
    }
    let bytes = match disk::read(aside, MAX_QUESTION) {
        Err(e) if e.is_missing_file() => return Ok(()),
        other => other,
    };
    let is_own = |bytes: &Vec<u8>| document::json::<Asked>(bytes).is_some_and(|asked| asked.question_id == Some(round.question));
    if bytes.as_ref().is_ok_and(is_own) {
        return disk::untouch(aside);
    }
    let newer = match bytes.and_then(|bytes| QuestionDocument::parse(&bytes)) {
        Ok(document) => {
            let question = &document.typed;
            let own = question.question_id.map_or_else(|| derives(mailbox, question, round), |id| Ok(id == round.question))?;
            !own || is_asked_again(aside, question, answered)
        }
        // Somebody is writing it right now: certainly not the file that was answered.
        Err(_) => true,
    };
    if !newer {
        return disk::remove(aside);
    }
    if disk::rename(aside, &mailbox.document(Folder::Pending, &round.workflow))? == Placed::NameExists {
        let reason = "it was asked while an answer was being given, and another question came after it";
        quarantine(mailbox, aside, &round.workflow.file_name(), reason)?;
    }
    Ok(())
}

/// Whether a question without an id has this round's derived one.
fn derives(mailbox: &Mailbox, question: &Question, round: &RoundId) -> Result<bool> {
    for n in 0..MAX_REPEATS {
        let derived = RoundId { workflow: round.workflow.clone(), question: question.derived_id(n)? };
        if derived == *round || !is_over(mailbox, &derived) {
            return Ok(derived == *round);
        }
    }
    Ok(false)
}

/// Completes what a crash in the middle of [`retire_pending`] left; `name` is a hidden name in `pending/`.
pub fn roll_forward(mailbox: &Mailbox, name: &str) -> Result<()> {
    let round = name.strip_prefix(RETIRED).and_then(|rest| RoundId::from_file_name(&format!("{rest}.json")));
    let Some(round) = round else { return Ok(()) };
    let _lock = mailbox.lock(&round.workflow)?;
    let places = [Folder::Running, Folder::Parked, Folder::Closed].map(|f| mailbox.round(f, &round));
    let answered = [mailbox.document(Folder::Answered, &round.workflow)].into_iter().chain(places).find_map(|path| {
        let document = read_round_file(&path).ok().filter(|d| d.typed.question_id == Some(round.question))?;
        document.typed.answer.and_then(|a| a.at)
    });
    finish_retiring(mailbox, &round, &mailbox.folder(Folder::Pending).join(name), answered)
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
    let settled = settle(mailbox, &lock)?;
    match settled.map_or_else(|| read_pending(mailbox, &workflow), Ok) {
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

/// The audit line of a question that was written by hand: one, however many watchers take it in.
pub fn record_posted(mailbox: &Mailbox, question: &Question, round: &RoundId) -> Result<()> {
    let lock = mailbox.lock(&round.workflow)?;
    let by = question.asked_by.as_deref().unwrap_or("hand");
    audit::record_once(mailbox, &lock, Entry::of("posted", round).by(by).why("a file put into pending/"));
    Ok(())
}

fn judge(mailbox: &Mailbox, path: &Path, error: &Error) -> Result<Taken> {
    if path.symlink_metadata().is_err() {
        return Ok(Taken::Nothing);
    }
    let age = age(path);
    if age < SETTLE {
        return Ok(Taken::Unsettled(SETTLE - age));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    quarantine(mailbox, path, &name, &format!("{error}; {}", error.hint()))?;
    Ok(Taken::Quarantined)
}

/// Moves a file out of the way, never to the bin: `quarantine/NAME` and `quarantine/NAME.reason`.
pub fn quarantine(mailbox: &Mailbox, path: &Path, name: &str, reason: &str) -> Result<PathBuf> {
    let folder = mailbox.folder(Folder::Quarantine);
    let from = path.parent().and_then(Path::file_name).map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let text = format!("{} from {from}/: {reason}\n", time::rfc3339(time::now()));
    for n in 0.. {
        let target = folder.join(if n == 0 { name.to_owned() } else { format!("{name}.{n}") });
        let beside = folder.join(format!("{}.reason", target.file_name().unwrap_or_default().to_string_lossy()));
        if target.symlink_metadata().is_ok() || disk::create(&beside, text.as_bytes())? == Placed::NameExists {
            continue;
        }
        match disk::rename(path, &target) {
            Ok(Placed::Done) => {
                audit::record(mailbox, Entry::about("quarantined").by("askbox").why(format!("{from}/{name}: {reason}")));
                return Ok(target);
            }
            Ok(Placed::NameExists) => {}
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
    // Whether an answer is newer than its question is read off this time: it must be that of what was read.
    let mut time = modified(path);
    for _ in 0..10 {
        if copy.exists() && modified(&copy) >= time {
            return Ok(());
        }
        let document = checkpoint::read_for(path, &question.workflow_id)?;
        if modified(path) == time {
            return disk::replace_dated(&copy, &document.to_bytes(), time);
        }
        time = modified(path);
    }
    Err(Error::failed(format!("{} changes all the time", path.display()), "post the question once the checkpoint is written"))
}

fn is_temporary(path: &Path) -> bool {
    let temp = std::env::temp_dir();
    [Path::new("/tmp"), Path::new("/var/tmp"), Path::new("/dev/shm"), temp.as_path()].iter().any(|t| path.starts_with(t))
}

pub(super) fn modified(path: &Path) -> SystemTime {
    path.symlink_metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Time since the file's last change of any kind, renames included.
pub(super) fn age(path: &Path) -> Duration {
    use std::os::unix::fs::MetadataExt;
    let Ok(meta) = path.symlink_metadata() else { return SETTLE };
    let nanos = u32::try_from(meta.ctime_nsec()).unwrap_or(0);
    let changed = u64::try_from(meta.ctime()).map_or(SystemTime::UNIX_EPOCH, |s| SystemTime::UNIX_EPOCH + Duration::new(s, nanos));
    changed.elapsed().unwrap_or_default()
}
