//! Reads one question document, in whichever folder it lies.

use std::path::Path;
use std::time::SystemTime;

use crate::documents::checks::check_question;
use crate::documents::question::{MAX_PENDING, MAX_QUESTION};
use crate::{Document, Error, Folder, Mailbox, Question, QuestionDocument, Result, RoundId, Stored, Time, WorkflowId, disk, document};

/// Reads `pending/WORKFLOW.json` and checks that the question is valid.
///
/// # Errors
/// [`Error::Invalid`] if the document is not a valid question of this workflow, or is too long. [`Error::Newer`] if a newer askbox
/// wrote it. [`Error::Io`] if the file does not exist or the system refuses.
pub fn pending(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<QuestionDocument> {
    let path = mailbox.document(Folder::Pending, workflow);
    // The document may be longer than a new question may be, because an answer that was taken back and the end of a round are added to it.
    let length = disk::metadata(&path).map_or(0, |m| m.len());
    let limit = if (MAX_QUESTION..=MAX_PENDING).contains(&length) { MAX_PENDING } else { MAX_QUESTION };
    let bytes = disk::read(&path, limit)?;
    let document = parse(&bytes, &path)?;
    let largest = document.typed.largest_pending();
    if bytes.len() as u64 > largest {
        return Err(disk::too_long(&path, bytes.len() as u64, largest));
    }
    check_name(&path, &document.typed, workflow)?;
    check_question::check(&document.typed).map_err(|e| e.in_file(&path))?;
    Ok(document)
}

/// Reads `answered/WORKFLOW.json`, and checks that the document belongs to that workflow.
///
/// # Errors
/// [`Error::Invalid`] if the file is not a question document of this workflow. [`Error::Newer`] if a newer askbox wrote it.
/// [`Error::Io`] if the file does not exist or the system refuses.
pub fn answered(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<QuestionDocument> {
    let path = mailbox.document(Folder::Answered, workflow);
    let document = document(&path)?;
    check_name(&path, &document.typed, workflow)?;
    Ok(document)
}

/// Reads a question document in any state, without checking the question.
///
/// # Errors
/// [`Error::Invalid`] if the file is not a question document. [`Error::Newer`] if a newer askbox wrote it. [`Error::Io`] if the
/// file does not exist or the system refuses.
pub fn document(path: &Path) -> Result<QuestionDocument> {
    parse(&disk::read(path, Question::LARGEST)?, path)
}

/// Reads a document. The fields of a newer document may have another meaning or another type, so its version comes before any error.
fn parse(bytes: &[u8], path: &Path) -> Result<QuestionDocument> {
    let document = Document::parse(bytes);
    let newer = match &document {
        Ok(document) => document.newer_version(),
        Err(_) => document::newer_version(bytes),
    };
    match newer {
        Some(version) => Err(Error::Newer { file: path.display().to_string(), version }),
        None => document.map_err(|e| e.in_file(path)),
    }
}

/// Reads `FOLDER/WORKFLOW.QUESTION.json`, and checks that the document belongs to that round. On a filesystem without a journal, a
/// power cut can leave the name on another file, which must not be delivered.
///
/// # Errors
/// [`Error::Invalid`] if the file is not the question document of this round. [`Error::Newer`] if a newer askbox wrote it.
/// [`Error::Io`] if the file does not exist or the system refuses.
pub fn of_round(path: &Path, round: &RoundId) -> Result<QuestionDocument> {
    of_its_round(document(path)?, path, round)
}

/// [`of_round`] for the bytes of such a file. `path` is the place that an error names.
///
/// # Errors
/// [`Error::Invalid`] if the bytes are not the question document of this round. [`Error::Newer`] if a newer askbox wrote them.
pub fn of_bytes(bytes: &[u8], path: &Path, round: &RoundId) -> Result<QuestionDocument> {
    of_its_round(parse(bytes, path)?, path, round)
}

fn of_its_round(document: QuestionDocument, path: &Path, round: &RoundId) -> Result<QuestionDocument> {
    check_name(path, &document.typed, &round.workflow)?;
    match document.typed.question_id {
        Some(other) if other != round.question => {
            let problem = format!("says `{other}`, but the file is named for `{}`", round.question);
            Err(Error::invalid("question_id", problem, "name the file WORKFLOW_ID.QUESTION_ID.json").in_file(path))
        }
        _ => Ok(document),
    }
}

/// Checks that the file's name has the workflow that the document names.
pub(super) fn check_name(path: &Path, question: &Question, workflow: &WorkflowId) -> Result<()> {
    if question.workflow_id == *workflow {
        return Ok(());
    }
    let problem = format!("says `{}`, but the file is named for `{workflow}`", question.workflow_id);
    Err(Error::invalid("workflow_id", problem, "name the file WORKFLOW_ID.json").in_file(path))
}

/// Returns the `answer.at` of a document, if it has one. Reads no other field.
///
/// # Errors
/// [`Error::Invalid`] if the file is refused or too long. [`Error::Io`] if the file does not exist or the system refuses.
pub fn answered_at(path: &Path) -> Result<Option<Time>> {
    #[derive(serde::Deserialize)]
    struct Answered {
        answer: At,
    }
    #[derive(serde::Deserialize)]
    struct At {
        at: Option<Time>,
    }
    Ok(document::json::<Answered>(&disk::read(path, Question::LARGEST)?).and_then(|answered| answered.answer.at))
}

/// True if the question in `pending/WORKFLOW.json` was asked by the dialog of a live session. Reads no other field.
///
/// # Errors
/// [`Error::Invalid`] if the file is refused or too long. [`Error::Io`] if the file does not exist or the system refuses.
pub fn is_live(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<bool> {
    #[derive(serde::Deserialize)]
    struct Asked {
        live: Option<serde::de::IgnoredAny>,
    }
    let bytes = disk::read(&mailbox.document(Folder::Pending, workflow), MAX_PENDING)?;
    Ok(document::json::<Asked>(&bytes).is_some_and(|question| question.live.is_some()))
}

/// Returns a file's modification time, or the beginning of 1970 if the file cannot be examined.
pub(super) fn modified(path: &Path) -> SystemTime {
    disk::metadata(path).and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}
