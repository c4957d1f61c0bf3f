//! `run.json`: the record of one attempt to deliver one round. The session id is chosen before the agent is launched, and is durable
//! before the agent receives any input.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::attempt::auto_choice::AutoChoice;
use crate::attempt::failure::Failure;
use askbox_config::EXEC;
use askbox_mailbox::disk::{self, Staged};
use askbox_mailbox::document::SCHEMA_VERSION;
use askbox_mailbox::documents::fields::asked_in::NonceHash;
use askbox_mailbox::layout::MAX_RUN;
use askbox_mailbox::{
    AttemptId, Document, Error, Folder, Mailbox, Placed, QuestionId, Result, RoundId, SessionId, Stored, Time, WorkflowId, list, text, time,
};

impl Stored for Run {
    const LARGEST: u64 = MAX_RUN;
}

/// The longest reason in a record, in bytes.
const MAX_WHY: usize = 4000;

/// Who claimed the round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Claimant {
    /// A supervisor, which launches the agent.
    #[default]
    Supervisor,
    /// `ask-post --wait`: the asker still runs and takes the answer itself.
    Inline,
    /// `relaunch prompt`: a main agent, which passes the prompt to its own subagent tool.
    Prompt,
}

askbox_mailbox::words!(Claimant);

/// The state of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[schemars(rename = "State")]
pub enum RunState {
    /// The round is claimed; the agent is not launched yet.
    #[default]
    Claimed,
    /// The agent was launched.
    Running,
    /// The session began and its final result came.
    Delivered,
    /// The session began, and its turn waits for a question that the agent asked with a tool of its own: see `asks`.
    Asking,
    /// It failed; the next attempt may start at `retry_at`.
    Failed,
    /// It failed, and there is no further attempt until `relaunch retry`.
    Parked,
    /// It was stopped on request; the session can be continued.
    Interrupted,
}

askbox_mailbox::words!(RunState);

/// How the session of an attempt begins.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Begin {
    /// A new session. Its prompt names the checkpoint.
    #[default]
    Fresh,
    /// A fork of an earlier session that askbox launched.
    Fork {
        /// The session to fork; it is not changed.
        from: SessionId,
        /// The workflow whose session it is, if it is another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<WorkflowId>,
    },
}

/// One attempt. The next attempt takes over what was planned for it, from `session_id` to `config_dir`.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Run {
    /// The version of this format.
    #[serde(default)]
    pub schema_version: u32,
    /// The workflow.
    pub workflow_id: WorkflowId,
    /// The round.
    pub question_id: QuestionId,
    /// The number of the attempt in its round, from 1.
    pub attempt: u32,
    /// Who claimed the round.
    pub claimant: Claimant,
    /// The agent's session: the same in every attempt of a round, unless an attempt's session got its message and did nothing.
    pub session_id: SessionId,
    /// How the session begins.
    pub begin: Begin,
    /// Why the session begins otherwise than configured.
    pub begin_why: Option<String>,
    /// The choice of `relaunch.mode = "auto"` with its reason and the costs of both ways, if that decided.
    pub auto: Option<AutoChoice>,
    /// The hash by which a proof of this attempt is recognized; missing before the launch, and in records of earlier versions.
    pub nonce_hash: Option<NonceHash>,
    /// The uuid of the message with the answer, the same in every attempt.
    pub message_id: Uuid,
    /// The name of the runner that launched it. The launching process takes the runner from its own configuration.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub runner: String,
    /// The agent definition that the session runs as, if one was chosen.
    pub role: Option<String>,
    /// The model, if one was chosen.
    pub model: Option<String>,
    /// The working folder of the agent, if the operator permits it when the attempt is launched. Missing: the home folder.
    pub cwd: Option<PathBuf>,
    /// The agent's `CLAUDE_CONFIG_DIR`, if the operator permits it when the attempt is launched.
    pub config_dir: Option<PathBuf>,
    /// The state of the attempt.
    pub state: RunState,
    /// When the attempt was put on record.
    pub claimed_at: Time,
    /// When the agent was launched.
    pub started_at: Option<Time>,
    /// When the attempt ended.
    pub ended_at: Option<Time>,
    /// When the next attempt may start.
    pub retry_at: Option<Time>,
    /// Why the attempt ended.
    pub why: Option<String>,
    /// The failure, if one ended the attempt.
    pub failure: Option<Failure>,
    /// The question that the agent asked with a tool of its own, and for which its turn waits.
    pub asks: Option<QuestionId>,
    /// The agent's final text: the first 4000 characters.
    pub result: Option<String>,
    /// US dollars of the day's limit that are reserved for this attempt, while its run is live.
    pub reserved_usd: Option<f64>,
    /// US dollars of this attempt, as far as the agent reported them.
    pub cost_usd: Option<f64>,
    /// The version of the agent program, as the program said it.
    pub agent_version: Option<String>,
}

impl Run {
    /// The first attempt of a round, claimed now. It says nothing about a launch: the folder and the environment of a claimant that takes
    /// the answer itself are not the operator's.
    pub fn first(round: &RoundId, claimant: Claimant) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            workflow_id: round.workflow.clone(),
            question_id: round.question,
            attempt: 1,
            claimant,
            session_id: SessionId::generate(),
            message_id: Uuid::new_v5(round.question.uuid(), b"answer"),
            claimed_at: time::now(),
            ..Self::default()
        }
    }

    /// The attempt after this one: the same plan for a session, and no progress.
    pub fn next(self, session_id: SessionId) -> Self {
        let none = Self::first(&self.round(), self.claimant);
        let Self { workflow_id, begin, begin_why, auto, message_id, runner, role, model, cwd, config_dir, .. } = self;
        let attempt = self.attempt + 1;
        Self { workflow_id, attempt, session_id, begin, begin_why, auto, message_id, runner, role, model, cwd, config_dir, ..none }
    }

    /// The round that the attempt delivers.
    pub fn round(&self) -> RoundId {
        RoundId { workflow: self.workflow_id.clone(), question: self.question_id }
    }

    /// `WORKFLOW/QUESTION/ATTEMPT`: the value of `ASKBOX_RUN` in the agent's environment. The agent's processes are found by it.
    pub fn token(&self) -> String {
        self.id().to_string()
    }

    /// The attempt's name.
    pub fn id(&self) -> AttemptId {
        AttemptId { round: self.round(), attempt: self.attempt }
    }

    /// The uuid of the message that tells the agent to continue, in this attempt.
    pub fn continue_id(&self) -> Uuid {
        Uuid::new_v5(&self.message_id, &self.attempt.to_be_bytes())
    }

    /// True if askbox launches an agent for the attempt. Other claimants take the answer and launch nothing.
    pub fn is_launch(&self) -> bool {
        self.claimant == Claimant::Supervisor
    }

    /// True if a person runs this attempt with `relaunch exec`. Nothing else goes on with it by itself.
    pub fn is_exec(&self) -> bool {
        self.runner == EXEC
    }

    /// True if the agent has the answer, or whatever else the round was to bring it.
    pub fn is_delivered(&self) -> bool {
        matches!(self.state, RunState::Delivered | RunState::Asking)
    }

    /// True if waiting mends the failure. Such an attempt does not count against `relaunch.attempts`.
    pub fn is_throttled(&self) -> bool {
        self.failure.as_ref().is_some_and(|f| f.class.waits())
    }

    /// The earliest time of the next attempt; `None` if it may start now. `longest` is the longest pause of the configuration.
    pub fn waits_until(&self, longest: Duration, now: Time) -> Option<Time> {
        let at = self.retry_at?;
        // The pause as it was chosen. If the attempt ended later than now, the clock was set back since.
        let chosen = self.ended_at.and_then(|ended| (at - ended).to_std().ok()).unwrap_or(longest);
        time::is_ahead(at, chosen.min(longest), now).then_some(at)
    }

    /// The attempt with its reasons cut to a limited length, because they may contain paths from a question.
    fn shortened(&self) -> Self {
        let short = |why: &Option<String>| why.as_ref().map(|w| if w.len() > MAX_WHY { text::excerpt(w, MAX_WHY / 4) } else { w.clone() });
        let mut run = self.clone();
        run.begin_why = short(&self.begin_why);
        run.why = short(&self.why);
        run
    }

    /// `runs/WORKFLOW/QUESTION/ATTEMPT`.
    pub fn folder(&self, mailbox: &Mailbox) -> PathBuf {
        folder(mailbox, &self.round(), self.attempt)
    }
}

/// `runs/WORKFLOW/QUESTION/ATTEMPT`.
pub fn folder(mailbox: &Mailbox, round: &RoundId, attempt: u32) -> PathBuf {
    mailbox.runs_of(round).join(attempt.to_string())
}

/// The lock that is held while a run of the round is live. All attempts of a round share it, because they share a session.
pub fn lock_path(mailbox: &Mailbox, round: &RoundId) -> PathBuf {
    mailbox.runs_of(round).join("lock")
}

/// Creates the record of a new attempt, durably.
pub fn create(mailbox: &Mailbox, run: &Run) -> Result<()> {
    place_ahead(run, stage(mailbox, run)?)?;
    make_durable(mailbox, run).inspect_err(|_| drop(forget(mailbox, run)))
}

/// Writes the record of a new attempt under a temporary name.
pub fn stage(mailbox: &Mailbox, run: &Run) -> Result<Staged> {
    let folder = run.folder(mailbox);
    disk::touch_folder(&folder)?;
    disk::stage(&folder.join("run.json"), &Document::new(run.shortened())?.to_file()?)
}

/// Gives a staged record its name. Until [`make_durable`], a power cut can take the record away.
///
/// # Errors
/// [`Error::Conflict`] if the attempt exists.
pub fn place_ahead(run: &Run, staged: Staged) -> Result<()> {
    match staged.place_ahead()? {
        Placed::Done => Ok(()),
        Placed::NameExists => {
            Err(Error::conflict(format!("attempt {} of {} exists already", run.attempt, run.round()), "see: relaunch status"))
        }
    }
}

/// Syncs the names of a record and its folders.
pub fn make_durable(mailbox: &Mailbox, run: &Run) -> Result<()> {
    disk::sync_names_up_to(&run.folder(mailbox), &mailbox.folder(Folder::Runs))
}

/// Removes the record of an attempt that was never launched.
pub fn forget(mailbox: &Mailbox, run: &Run) -> Result<()> {
    disk::remove(&run.folder(mailbox).join("run.json"))
}

/// The record of an attempt, as read from its file. Unknown fields survive a change.
pub struct Record {
    path: PathBuf,
    document: Document<Run>,
}

impl Record {
    /// Reads the record of an attempt.
    pub fn read(mailbox: &Mailbox, round: &RoundId, attempt: u32) -> Result<Self> {
        let path = folder(mailbox, round, attempt).join("run.json");
        let document = Document::parse(&disk::read(&path, Run::LARGEST)?).map_err(|e| e.in_file(&path))?;
        Ok(Self { path, document })
    }

    /// The content of the record.
    pub fn run(&self) -> &Run {
        &self.document.typed
    }

    fn change(&mut self, run: &Run) -> Result<Vec<u8>> {
        self.document.typed = run.shortened();
        self.document.update()?;
        self.document.to_file()
    }

    /// Writes the changed record under a temporary name, for [`Staged::replace_ahead`]. A power cut may bring the earlier record back,
    /// so recovery from that one must be right too.
    pub fn stage(mut self, run: &Run) -> Result<Staged> {
        let bytes = self.change(run)?;
        disk::stage(&self.path, &bytes)
    }
}

/// Replaces the record of an attempt, durably.
pub fn write(mailbox: &Mailbox, run: &Run) -> Result<()> {
    let mut record = Record::read(mailbox, &run.round(), run.attempt)?;
    let bytes = record.change(run)?;
    disk::replace(&record.path, &bytes)
}

/// Reads the record of an attempt.
pub fn read(mailbox: &Mailbox, round: &RoundId, attempt: u32) -> Result<Run> {
    Record::read(mailbox, round, attempt).map(|record| record.document.typed)
}

/// The records of these attempts of a round. A crash can leave a folder without a record: that attempt does not count.
pub fn read_those(mailbox: &Mailbox, round: &RoundId, attempts: impl IntoIterator<Item = u32>) -> impl Iterator<Item = Result<Run>> {
    attempts.into_iter().filter_map(move |attempt| disk::if_there(read(mailbox, round, attempt)).transpose())
}

/// The newest attempt of a round; `None` if there is none.
pub fn latest(mailbox: &Mailbox, round: &RoundId) -> Result<Option<Run>> {
    // A crash can leave a folder without a record: that attempt does not count.
    read_those(mailbox, round, attempts(mailbox, round)?.into_iter().rev()).next().transpose()
}

/// The newest attempt of the workflow's round in `parked/`; `None` if no round is parked.
pub fn of_parked(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<Run>> {
    let parked = list::round_names(mailbox, Folder::Parked).find(|r| r.workflow == *workflow);
    parked.map_or(Ok(None), |round| latest(mailbox, &round))
}

/// The numbers of a round's attempts, ascending. A crash can leave an attempt without a record.
pub fn attempts(mailbox: &Mailbox, round: &RoundId) -> Result<Vec<u32>> {
    let runs = mailbox.runs_of(round);
    let Some(entries) = disk::entries_if_there(&runs)? else { return Ok(Vec::new()) };
    let mut attempts: Vec<u32> = entries.flatten().filter_map(|e| e.name.to_str()?.parse().ok()).collect();
    attempts.sort_unstable();
    Ok(attempts)
}

#[cfg(test)]
mod tests;
