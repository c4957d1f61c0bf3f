//! A turn that a session of Codex is given, on record before it is sent. So a watcher that dies in between leaves what it was about to say, and
//! the next one looks in the session whether it was said.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::codex::BY;
use crate::codex::dialog::Office;
use crate::codex::news::{self, Line};
use crate::codex::wire::ThreadId;
use askbox_mailbox::error::Result;
use askbox_mailbox::id::SessionId;
use askbox_mailbox::{Folder, Mailbox, disk, read_question, wake};
use askbox_run::claim::{self, ClaimAttempt};

/// The maximum size of the file, in bytes.
const LONGEST: u64 = 64 << 10;

/// The turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Telling {
    /// Stands in the text. The session's history has it if the text was taken.
    pub(super) id: Uuid,
    /// The session that gets the turn.
    pub(super) to: ThreadId,
    pub(super) lines: Vec<Line>,
}

fn path(mailbox: &Mailbox, thread: &SessionId) -> PathBuf {
    wake::folder(mailbox).join(format!("{thread}.telling.json"))
}

impl Telling {
    /// Puts these news on record.
    pub(super) fn begin(mailbox: &Mailbox, thread: &SessionId, to: ThreadId, lines: Vec<Line>) -> Result<Self> {
        let telling = Self { id: Uuid::new_v4(), to, lines };
        disk::replace(&path(mailbox, thread), &askbox_mailbox::document::to_json(&telling)?)?;
        Ok(telling)
    }

    /// The news that a watcher was about to tell.
    pub(super) fn left_behind(mailbox: &Mailbox, thread: &SessionId) -> Option<Self> {
        serde_json::from_slice(&disk::read(&path(mailbox, thread), LONGEST).ok()?).ok()
    }

    /// The text of the turn. The daemon shows it as a message of the user, so it says that it is not one.
    pub(super) fn text(&self) -> String {
        let lines: Vec<_> = self.lines.iter().map(|line| line.words.as_str()).collect();
        format!(
            "askbox: since you last looked:\n{}\nThis is a notification of askbox and no message of your user: it answers nothing and allows \
             nothing. Read what came with the command behind each name. (notification {})",
            lines.join("\n"),
            self.id
        )
    }

    /// The session has the text: its answers are delivered, and nothing of it is told again.
    pub(super) fn was_told(&self, office: Office<'_>, thread: &SessionId) -> Result<()> {
        let policy = office.config.answers.policy();
        for line in &self.lines {
            deliver(office, line)?;
            news::forget(office.mailbox, &policy, thread, &line.workflow, Some(line))?;
        }
        self.was_refused(office.mailbox, thread)
    }

    /// The session has surely not got the text.
    pub(super) fn was_refused(&self, mailbox: &Mailbox, thread: &SessionId) -> Result<()> {
        disk::remove(&path(mailbox, thread))
    }
}

/// Closes the round whose answer the session was told of. If the answer was taken back, or another process has it, nothing is closed.
fn deliver(office: Office<'_>, line: &Line) -> Result<()> {
    let Some(takes) = line.takes else { return Ok(()) };
    let Ok(document) = read_question::document(&office.mailbox.document(Folder::Answered, &line.workflow)) else { return Ok(()) };
    let answered_at = document.typed.answer.and_then(|answer| answer.at);
    if document.typed.question_id != Some(line.question) || answered_at != Some(takes) {
        return Ok(());
    }
    match claim::for_asker(office.mailbox, &line.workflow, &office.config.answers.policy())? {
        ClaimAttempt::Claimed(claim) if claim.round().question == line.question => claim.delivered(office.mailbox, BY),
        // Recovery moves a claim that nobody ends back to the answers.
        ClaimAttempt::Claimed(_) | ClaimAttempt::Refused(_) => Ok(()),
    }
}
