//! Keeps the sessions of Claude Code that an answer will continue. Claude Code removes a transcript that nobody has written to for
//! `cleanupPeriodDays`, and a person may take longer to answer.

use std::time::{Duration, SystemTime};

use crate::claim::plan;
use askbox_agent::transcript;
use askbox_config::Config;
use askbox_mailbox::{Folder, Mailbox, Question, Result, list, read_question};

/// An older transcript is renewed. The shortest `cleanupPeriodDays` is one day.
const OLD: Duration = Duration::from_secs(6 * 3600);

/// Renews the transcripts of all rounds that are not closed.
pub fn keep(mailbox: &Mailbox, config: &Config) {
    let in_document = [Folder::Pending, Folder::Answered].into_iter().flat_map(|folder| {
        let workflows = list::workflows(mailbox, folder).unwrap_or_default();
        workflows.into_iter().map(move |workflow| mailbox.document(folder, &workflow))
    });
    let of_rounds = [Folder::Running, Folder::Parked]
        .into_iter()
        .flat_map(|folder| list::round_names(mailbox, folder).map(move |round| mailbox.round(folder, &round)));
    for path in in_document.chain(of_rounds) {
        if let Ok(document) = read_question::document(&path) {
            // A transcript that cannot be renewed is left to its program.
            let _ = keep_one(mailbox, config, &document.typed);
        }
    }
}

fn keep_one(mailbox: &Mailbox, config: &Config, question: &Question) -> Result<()> {
    let (folder, sessions) = plan::sessions_of(mailbox, config, question)?;
    let before = SystemTime::now() - OLD;
    for session in sessions {
        let _ = folder.as_ref().map(|folder| transcript::renew(folder, &session.to_string(), before));
    }
    Ok(())
}
