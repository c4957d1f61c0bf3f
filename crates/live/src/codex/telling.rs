//! A turn that a session of Codex is given, on record before it is sent. So a watcher that dies in between leaves what it was about to say, and
//! the next one looks in the session whether it was said. Its answers are claimed before it is sent, so that no person starts an agent with one
//! of them in the same moment.
//!
//! The reason why a session of Codex is not told of its answer, for people who look. Looking changes no session and starts no daemon.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::codex::client::Client;
use crate::codex::news::{self, Line};
use crate::codex::sessions;
use crate::codex::wire::{self, Status, ThreadId};
use askbox_mailbox::programs::CODEX;
use askbox_mailbox::{Folder, Mailbox, Result, RoundId, SessionId, disk, wake};
use askbox_run::attempt::record::Claimant;
use askbox_run::claim::{self, Claim, ClaimAttempt, OnRecord, inline};
use askbox_run::{Desk, record};
use askbox_sessions::codex;

/// The maximum size of the file, in bytes.
const LONGEST: u64 = 64 << 10;
/// The end of the file's name, behind the id of the session.
const SUFFIX: &str = ".telling.json";

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
    wake::folder(mailbox).join(format!("{thread}{SUFFIX}"))
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

    /// Notes the workflows of all records that watchers have left: one that was killed may have removed the notes, and not the record.
    pub(super) fn note_all_left(mailbox: &Mailbox) {
        for entry in disk::entries(&wake::folder(mailbox)).into_iter().flatten().flatten() {
            let thread = entry.name.to_str().and_then(|name| name.strip_suffix(SUFFIX)?.parse::<SessionId>().ok());
            for line in thread.iter().filter_map(|thread| Self::left_behind(mailbox, thread)).flat_map(|left| left.lines) {
                thread.iter().for_each(|thread| wake::has_news(mailbox, thread, &line.workflow));
            }
        }
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
    pub(super) fn was_told(&self, desk: Desk<'_>, thread: &SessionId, claims: Claims) -> Result<()> {
        claims.delivered(desk.mailbox)?;
        let policy = desk.config.answers.policy();
        for line in &self.lines {
            news::forget(desk.mailbox, &policy, thread, &line.workflow, Some(line))?;
        }
        self.is_over(desk.mailbox, thread)
    }

    /// Removes the record: the session has the text and its answers are delivered, or it has surely not got the text.
    pub(super) fn is_over(&self, mailbox: &Mailbox, thread: &SessionId) -> Result<()> {
        disk::remove(&path(mailbox, thread))
    }
}

/// The answers in the news of a turn. As long as they are claimed, nobody else can start an agent with them.
#[derive(Default)]
pub(super) struct Claims(Vec<Claim<OnRecord>>);

impl Claims {
    /// Claims the answers of these news. Returns the news without those whose answer somebody else has by now.
    pub(super) fn take(desk: Desk<'_>, lines: Vec<Line>) -> Result<(Self, Vec<Line>)> {
        let (mut claims, mut told) = (Self::default(), Vec::new());
        for line in lines {
            match claims.add(desk, &line) {
                Ok(false) => {}
                Ok(true) => told.push(line),
                Err(e) => {
                    claims.given_back(desk.mailbox)?;
                    return Err(e);
                }
            }
        }
        Ok((claims, told))
    }

    /// Claims the answer of this line, if it has one. Returns false if somebody else has the answer, or if it was taken back.
    fn add(&mut self, desk: Desk<'_>, line: &Line) -> Result<bool> {
        let Some(takes) = line.takes else { return Ok(true) };
        let round = RoundId { workflow: line.workflow.clone(), question: line.question };
        match claim::for_asker(desk.mailbox, &round, &desk.config.answers.policy())? {
            ClaimAttempt::Claimed(claim) => {
                let answered_at = claim.document.typed.answer.as_ref().and_then(|answer| answer.at);
                if answered_at != Some(takes) {
                    claim.given_back(desk.mailbox)?;
                    return Ok(false);
                }
                self.0.push(*claim);
                Ok(true)
            }
            ClaimAttempt::Refused(_) => Ok(false),
        }
    }

    /// The session has got the answers.
    fn delivered(self, mailbox: &Mailbox) -> Result<()> {
        self.0.into_iter().try_for_each(|claim| claim.delivered(mailbox, CODEX.by))
    }

    /// The session has surely not got the answers: they wait again.
    pub(super) fn given_back(self, mailbox: &Mailbox) -> Result<()> {
        self.0.into_iter().try_for_each(|claim| claim.given_back(mailbox))
    }

    /// Returns the answers to their folder that were claimed for these news by a watcher that was killed, or whose connection broke. Returns false
    /// if another process is about to do so.
    pub(super) fn of_the_dead(mailbox: &Mailbox, lines: &[Line]) -> Result<bool> {
        let mut all = true;
        for line in lines.iter().filter(|line| line.takes.is_some()) {
            let round = RoundId { workflow: line.workflow.clone(), question: line.question };
            if !disk::exists(mailbox.round(Folder::Running, &round)) {
                continue;
            }
            match inline::left_behind(mailbox, &round)? {
                Some(claim) => claim.given_back(mailbox)?,
                None => all &= record::latest(mailbox, &round)?.is_some_and(|run| run.claimant != Claimant::Inline),
            }
        }
        Ok(all)
    }
}

/// How long the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Says why the daemon tells this session nothing. `None` if it does once the session rests.
///
/// # Errors
/// If the daemon does not answer within a second, or not as expected.
pub(super) fn because(session: &str) -> Result<Option<&'static str>> {
    let Some(folder) = codex::folder() else { return Ok(None) };
    let session = session.to_owned();
    let found = sessions::in_time(&folder, PATIENCE, move |mut client: Client, until| {
        client.call(1, "thread/read", &json!({ "threadId": session }), until)
    })?;
    Ok(match found {
        None => Some("codex's daemon is not running"),
        Some(Err(_)) => Some("codex's daemon does not have the session"),
        Some(Ok(read)) => {
            let is_away = wire::thread(&read).is_some_and(|thread| thread.status == Status::NotLoaded);
            is_away.then_some("codex's daemon has put the session away")
        }
    })
}
