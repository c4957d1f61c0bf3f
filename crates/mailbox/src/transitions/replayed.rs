//! Finds copies of a signed answer that was taken back. Somebody put such a copy into `running/`, `parked/` or `closed/`, as if it had been
//! claimed. The question's own file knows that the answer was taken back (see [`withdrawn`]). The copy does not: it would be launched, or let calls
//! through for good.

use crate::audit::{self, Entry};
use crate::quarantine::quarantine;
use crate::trust::withdrawn;
use crate::{Folder, Mailbox, Question, QuestionDocument, Result, RoundId, read_question};

/// Puts such copies of this round into quarantine. `noted` is the question's own file. The caller holds the workflow's lock.
///
/// # Errors
/// [`Error::Failed`](crate::error::Error::Failed) if the quarantine has no name left. [`Error::Io`](crate::error::Error::Io) if the
/// system refuses.
pub fn set_aside(mailbox: &Mailbox, round: &RoundId, noted: &Question) -> Result<()> {
    if noted.taken_back.as_ref().is_none_or(|back| back.withdrawn.is_empty()) {
        return Ok(());
    }
    for folder in [Folder::Running, Folder::Parked, Folder::Closed] {
        let path = mailbox.round(folder, round);
        let Ok(copy) = read_question::document(&path) else { continue };
        if copy.typed.answer.as_ref().is_some_and(|answer| withdrawn::holds(noted, &copy.typed, answer)) {
            refuse(mailbox, folder, round, &copy, withdrawn::WHY)?;
        }
    }
    Ok(())
}

/// True if the answer of this claimed or closed document was taken back. The question's own file names the answers that were taken back.
pub fn is_taken_back(mailbox: &Mailbox, round: &RoundId, claimed: &Question) -> bool {
    let Some(answer) = &claimed.answer else { return false };
    let own = [Folder::Pending, Folder::Answered].map(|folder| mailbox.document(folder, &round.workflow));
    let noted = own.iter().filter_map(|file| read_question::document(file).ok()).filter(|own| own.typed.round().as_ref() == Some(round));
    noted.into_iter().any(|noted| withdrawn::holds(&noted.typed, claimed, answer))
}

/// Puts a claimed document into quarantine if another file of its round says that it cannot have been claimed: its answer was taken
/// back, or the round has ended otherwise. Returns whether it did. The caller holds the round's lock.
///
/// # Errors
/// Those of [`set_aside`].
pub fn is_set_aside(mailbox: &Mailbox, round: &RoundId, claimed: &QuestionDocument) -> Result<bool> {
    let Some(answer) = &claimed.typed.answer else { return Ok(false) };
    let own = [Folder::Pending, Folder::Answered].map(|folder| mailbox.document(folder, &round.workflow));
    let files = own.into_iter().chain([mailbox.round(Folder::Closed, round)]);
    let others = files.filter_map(|file| read_question::document(&file).ok()).filter(|other| other.typed.round().as_ref() == Some(round));
    for other in others {
        let why = match &other.typed.closed {
            _ if withdrawn::holds(&other.typed, &claimed.typed, answer) => withdrawn::WHY,
            Some(_) => "its round is closed already, without this answer",
            None => continue,
        };
        return refuse(mailbox, Folder::Running, round, claimed, why).map(|()| true);
    }
    Ok(false)
}

fn refuse(mailbox: &Mailbox, folder: Folder, round: &RoundId, copy: &QuestionDocument, why: &str) -> Result<()> {
    let Some(answer) = &copy.typed.answer else { return Ok(()) };
    let entry = Entry::about_round("refused", round).answer(copy.typed.hash().ok(), answer).by(&answer.by);
    quarantine(mailbox, &mailbox.round(folder, round), round.file_name(), why)?;
    audit::record(mailbox, entry.why(why));
    Ok(())
}
