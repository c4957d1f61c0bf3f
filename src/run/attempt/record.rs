//! `run.json`: one attempt to deliver one round. The session id in it was chosen, durably, before anything was launched.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::disk::{self, Placed, Staged};
use crate::document::Document;
use crate::error::{Error, IoContext, Result};
use crate::id::{QuestionId, RoundId, SessionId, WorkflowId};
use crate::mailbox::{Folder, Mailbox};
use crate::run::attempt::failure::Failure;
use crate::time::Time;

/// The largest run record, in bytes.
pub const MAX_RUN: u64 = 1 << 20;

/// Who took the round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Claimant {
    /// A supervisor, which launches the agent.
    Supervisor,
    /// `ask-post --wait`: the asker is still there and takes the answer itself.
    Inline,
    /// `relaunch prompt`: a main agent that uses its own subagent tool.
    Prompt,
}

/// Where an attempt stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The round is taken, nothing is launched yet.
    Claimed,
    /// The agent was launched.
    Running,
    /// The session began and a result came.
    Delivered,
    /// It failed; the next attempt may start at `retry_at`.
    Failed,
    /// It failed and nobody tries again by himself.
    Parked,
    /// It was stopped on request; the session is kept.
    Interrupted,
}

/// How the session of a run begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Begin {
    /// A new session, whose prompt tells where the checkpoint is.
    Fresh,
    /// A fork of an earlier session of ours.
    Fork {
        /// The session to fork; it stays as it is.
        from: SessionId,
    },
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// The version of the layout.
    #[serde(default)]
    pub schema_version: u32,
    /// Whose.
    pub workflow_id: WorkflowId,
    /// Which round.
    pub question_id: QuestionId,
    /// From 1.
    pub attempt: u32,
    /// Who took the round.
    pub claimant: Claimant,
    /// The agent's session, the same for every attempt of a round.
    pub session_id: SessionId,
    /// How that session begins.
    pub begin: Begin,
    /// Why it begins so, where that is not what was configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin_why: Option<String>,
    /// The uuid that the message with the answer bears, in every attempt.
    pub message_id: Uuid,
    /// Which runner of the configuration.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub runner: String,
    /// The agent definition that the session runs as, where one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The model, where one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where the agent runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Its `CLAUDE_CONFIG_DIR`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_dir: Option<PathBuf>,
    /// Where it stands.
    pub state: State,
    /// When the attempt was made.
    pub claimed_at: Time,
    /// When the agent was launched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Time>,
    /// When the next attempt may start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Time>,
    /// Why it ended so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What kind of failure ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The agent's final text, its head if long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// US dollars set aside for this attempt, of the day's limit: counted as long as its run is live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_usd: Option<f64>,
    /// US dollars of this attempt, as far as the agent told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl Run {
    /// The round it delivers.
    #[must_use]
    pub fn round(&self) -> RoundId {
        RoundId { workflow: self.workflow_id.clone(), question: self.question_id }
    }

    /// Its place among all runs: the value of `ASKBOX_RUN` in the agent's environment, by which its processes are found.
    #[must_use]
    pub fn token(&self) -> String {
        format!("{}/{}/{}", self.workflow_id, self.question_id, self.attempt)
    }

    /// Whether it only has to wait: then it was no attempt.
    #[must_use]
    pub fn is_throttled(&self) -> bool {
        self.failure.as_ref().is_some_and(|f| f.class.waits())
    }

    /// `runs/WORKFLOW/QUESTION/ATTEMPT`.
    #[must_use]
    pub fn folder(&self, mailbox: &Mailbox) -> PathBuf {
        folder(mailbox, &self.round(), self.attempt)
    }
}

/// `runs/WORKFLOW/QUESTION/ATTEMPT`.
#[must_use]
pub fn folder(mailbox: &Mailbox, round: &RoundId, attempt: u32) -> PathBuf {
    mailbox.runs_of(round).join(attempt.to_string())
}

/// The lock that the owner of a round's live run holds: one a round, and so one a session.
#[must_use]
pub fn lock_path(mailbox: &Mailbox, round: &RoundId) -> PathBuf {
    mailbox.runs_of(round).join("lock")
}

/// Makes a new attempt durable.
pub fn create(mailbox: &Mailbox, run: &Run) -> Result<()> {
    create_ahead(mailbox, run)?;
    make_durable(mailbox, run).inspect_err(|_| drop(forget(mailbox, run)))
}

/// [`create`] ahead of the sync of its name, for a supervisor that is about to launch: [`make_durable`] comes before its agent is told
/// anything. A power cut before that takes the attempt away, of which no agent knew.
pub fn create_ahead(mailbox: &Mailbox, run: &Run) -> Result<()> {
    place_ahead(run, stage(mailbox, run)?)
}

/// The first half of [`create_ahead`]: nothing is there yet.
pub fn stage(mailbox: &Mailbox, run: &Run) -> Result<Staged> {
    let folder = run.folder(mailbox);
    disk::touch_folder(&folder)?;
    disk::stage(&folder.join("run.json"), &Document::new(run.clone())?.to_bytes())
}

/// The second half of [`create_ahead`].
pub fn place_ahead(run: &Run, staged: Staged) -> Result<()> {
    match staged.place_ahead()? {
        Placed::Done => Ok(()),
        Placed::NameExists => {
            Err(Error::conflict(format!("attempt {} of {} exists already", run.attempt, run.round()), "look again: relaunch status"))
        }
    }
}

/// Makes the name of an attempt durable.
pub fn make_durable(mailbox: &Mailbox, run: &Run) -> Result<()> {
    disk::sync_names_up_to(&run.folder(mailbox), &mailbox.folder(Folder::Runs))
}

/// Takes back an attempt that was never launched.
pub fn forget(mailbox: &Mailbox, run: &Run) -> Result<()> {
    disk::remove(&run.folder(mailbox).join("run.json"))
}

/// The record of an attempt as it was read; unknown fields of the file survive a change.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    document: Document<Run>,
}

impl Record {
    /// Reads it.
    pub fn read(mailbox: &Mailbox, round: &RoundId, attempt: u32) -> Result<Self> {
        let path = folder(mailbox, round, attempt).join("run.json");
        let document = Document::parse(&disk::read(&path, MAX_RUN)?).map_err(|e| e.in_file(&path))?;
        Ok(Self { path, document })
    }

    /// What it says.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.document.typed
    }

    fn change(&mut self, run: &Run) -> Result<Vec<u8>> {
        self.document.typed = run.clone();
        self.document.update()?;
        Ok(self.document.to_bytes())
    }

    /// What it is to say now, for [`Staged::replace_ahead`]: a power cut may bring the earlier one back, and what that leads to must
    /// be right as well.
    pub fn stage(mut self, run: &Run) -> Result<Staged> {
        let bytes = self.change(run)?;
        disk::stage(&self.path, &bytes)
    }
}

/// Replaces the record of an attempt.
pub fn write(mailbox: &Mailbox, run: &Run) -> Result<()> {
    let mut record = Record::read(mailbox, &run.round(), run.attempt)?;
    let bytes = record.change(run)?;
    disk::replace(&record.path, &bytes)
}

/// Reads one attempt.
pub fn read(mailbox: &Mailbox, round: &RoundId, attempt: u32) -> Result<Run> {
    Record::read(mailbox, round, attempt).map(|record| record.document.typed)
}

/// The newest attempt of a round; `None` where there was none.
pub fn latest(mailbox: &Mailbox, round: &RoundId) -> Result<Option<Run>> {
    // A folder without its record: the crash came between the two; that attempt never was.
    for attempt in attempts(mailbox, round)?.into_iter().rev() {
        match read(mailbox, round, attempt) {
            Err(e) if e.is_missing_file() => {}
            other => return other.map(Some),
        }
    }
    Ok(None)
}

/// The numbers of a round's attempts, in order.
pub fn attempts(mailbox: &Mailbox, round: &RoundId) -> Result<Vec<u32>> {
    let runs = mailbox.runs_of(round);
    let entries = match std::fs::read_dir(&runs) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.io("read", &runs)?,
    };
    let mut attempts: Vec<u32> = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    attempts.sort_unstable();
    Ok(attempts)
}
