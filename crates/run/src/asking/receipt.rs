//! Closes the round of an answer that a hook gave to a session's dialog, once the session's transcript tells its end: *confirmed* if it has
//! the receipt, *too late* if it shows another decision. Until then the round stays in `running/`, and nobody says how it ended.
//!
//! The three ends of an answer that was sent to a session's dialog, in the words of every view. Without proof from the
//! session, its transcript or a person, an answer is *sent, not known yet*, for however long. No end follows from a time.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::approval::{self, permit};
use crate::attempt::record::{Run, RunState};
use crate::claim::{Claim, OnRecord, inline};
use askbox_agent::dialog::{Call, Taken, newest_call};
use askbox_agent::{subagents, transcript};
use askbox_mailbox::documents::fields::approval::CallHash;
use askbox_mailbox::documents::fields::live::EXIT_PLAN_MODE;
use askbox_mailbox::programs::{CLAUDE, Facts};
use askbox_mailbox::{
    Closed, Closing, Folder, Lock, Mailbox, Outcome, Question, QuestionDocument, Result, RoundId, Time, ToolCall, WorkflowId, close, disk,
    read_question,
};

/// How long a process waits for the receipt. Behind that, a watcher looks for it.
const LONGEST: Duration = Duration::from_secs(180);
/// How long the sender of an answer waits for the receipt.
const FOR_THE_SENDER: Duration = Duration::from_secs(4);
/// How often the transcript is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The transcript of the session, or of the subagent, that made the call of a live question.
pub fn transcript_of(question: &Question) -> Option<PathBuf> {
    let live = question.live.as_ref()?;
    let session = transcript::find(question.config_dir.as_deref()?, &live.session.to_string())?;
    match &question.tool_call.as_ref()?.subagent {
        Some(agent) => subagents::transcript(&session, &agent.id),
        None => Some(session),
    }
}

/// Waits for the receipt of an answer whose hook has printed it, and closes the round. Another process may be faster.
///
/// # Errors
/// [`askbox_mailbox::error::Error::Held`] if another process keeps the lock. [`askbox_mailbox::error::Error::Io`] if the system refuses.
pub fn wait(mailbox: &Mailbox, round: &RoundId) -> Result<()> {
    let until = Instant::now() + LONGEST;
    // The hook holds the round's lock until it has ended.
    while disk::exists(mailbox.round(Folder::Running, round)) && Instant::now() < until {
        if let Some(claim) = inline::left_behind(mailbox, round)? {
            let mut receipt = Receipt::of(&claim.document.typed);
            let mut end = receipt.look(&claim.run);
            while end == End::NotKnownYet && Instant::now() < until {
                std::thread::sleep(LOOK_EVERY);
                end = receipt.look(&claim.run);
            }
            return end.close(claim, mailbox, CLAUDE.by);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// The end of an answer that was accepted just now, as far as a few seconds tell it. `None` if this is not the question of a dialog.
pub fn told(mailbox: &Mailbox, question: &Question, round: &RoundId) -> Option<End> {
    question.live.as_ref()?;
    let until = Instant::now() + FOR_THE_SENDER;
    loop {
        if let Ok(document) = read_question::document(&mailbox.round(Folder::Closed, round)) {
            return Some(End::of(&document.typed));
        }
        if Instant::now() >= until {
            return Some(End::NotKnownYet);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Closes the claimed round of a dialog by its receipt. Returns `false` if the receipt may still come. `lock` is the round's lock.
///
/// # Errors
/// [`askbox_mailbox::error::Error::Held`] if another process keeps the lock. [`askbox_mailbox::error::Error::Io`] if the system refuses.
pub fn by_receipt(mailbox: &Mailbox, document: QuestionDocument, last: Option<Run>, lock: Lock) -> Result<bool> {
    let Some(run) = last else {
        // The hook was killed before its claim was on record, so it has printed nothing.
        let Some(question) = document.typed.question_id else { return Ok(false) };
        let workflow = mailbox.lock(&document.typed.workflow_id)?;
        let closing = Closing::now(Closed::Superseded, CLAUDE.by, Some(NOT_SENT.into()));
        return close::claimed(mailbox, &workflow, Folder::Running, question, closing).map(|()| true);
    };
    let leaves_receipt = !Facts::of(&document.typed).asks_again;
    let end = match run.state {
        // Another program leaves no transcript that is read here. Only the process that sent the answer could have heard of its end.
        RunState::Claimed if !leaves_receipt => End::NotKnownYet,
        RunState::Claimed => Receipt::of(&document.typed).look(&run),
        // Only the round's move to `closed/` is missing.
        RunState::Delivered => End::Confirmed,
        _ => End::TooLate { why: run.why.clone().unwrap_or_else(|| NOT_SENT.into()) },
    };
    let is_known = end != End::NotKnownYet;
    end.close(Claim::with_lock(document, run, lock), mailbox, CLAUDE.by).map(|()| is_known)
}

/// A call that was in no transcript while its dialog was open, so the question does not name its id.
struct Untold {
    transcript: PathBuf,
    tool: String,
    /// The hash of the call that was asked about, and its working folder. Missing if the tool alone tells: then only one dialog is open.
    hash: Option<(CallHash, PathBuf)>,
    /// The begin of the dialog.
    since: Time,
}

impl Untold {
    fn of(question: &Question) -> Option<Self> {
        let tool = question.tool_call.as_ref()?.name.clone();
        // The transcript does not have the input of a plan, and no hash of the questions of AskUserQuestion is on record.
        let approval = question.approval.as_ref().filter(|approval| approval.tool != EXIT_PLAN_MODE);
        let hash = approval.map(|approval| approval.sha256.clone()).zip(question.cwd.clone());
        Some(Self { transcript: transcript_of(question)?, tool, hash, since: question.live.as_ref()?.since })
    }

    /// Finds the call that was asked about. The newest one that is in the transcript by now may still be another.
    fn find(&self, by: Time) -> Option<Call> {
        let is_right = |input: &Map<String, Value>| {
            self.hash.as_ref().is_none_or(|(hash, cwd)| approval::call::Call { tool: &self.tool, input, cwd }.hash() == *hash)
        };
        let id = newest_call(&self.transcript, &self.tool, [self.since, by], is_right)?;
        Some(Call::with_id(self.transcript.clone(), &id))
    }
}

/// Looks for the receipt of an answer.
struct Receipt {
    call: Option<Call>,
    /// The call, if its id was not told to the hook.
    untold: Option<Untold>,
    wanted: Taken,
    /// True if the answer ends the session's turn.
    stops: bool,
}

impl Receipt {
    fn of(question: &Question) -> Self {
        let id = question.tool_call.as_ref().and_then(ToolCall::told_id);
        let call = transcript_of(question).zip(id).map(|(path, id)| Call::with_id(path, id));
        let untold = if id.is_none() { Untold::of(question) } else { None };
        let allows = question.answer.as_ref().is_some_and(|answer| answer.outcome == Outcome::Answered);
        let stops = question.answer.as_ref().is_some_and(|answer| answer.stops);
        let wanted = if allows { Taken::Allow } else { Taken::Deny };
        Self { call, untold, wanted, stops }
    }

    /// The end, as far as the transcript tells it.
    fn look(&mut self, run: &Run) -> End {
        if let Some(untold) = &self.untold {
            self.call = untold.find(run.claimed_at);
        }
        let Some(call) = &mut self.call else { return End::NotKnownYet };
        call.look();
        match call.taken {
            Some(taken) if taken == self.wanted => End::Confirmed,
            Some(Taken::Allow) => End::too_late("another hook allowed the call"),
            Some(Taken::Deny) => End::too_late("another hook refused the call"),
            // The turn has ended, whoever was first.
            None if self.stops && call.is_rejected() => End::Confirmed,
            None if call.was_not_run() => End::too_late("the call was refused at its terminal"),
            // The receipt stands before the next turn of the model.
            None if call.has_gone_on() => End::too_late("the call was decided at its terminal, and has its result"),
            None => End::NotKnownYet,
        }
    }
}

/// The end, as it is known now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum End {
    /// The session has taken the answer.
    Confirmed,
    /// The answer did not reach its session.
    TooLate {
        /// Who was first, with what; or why the answer could not be given. A sentence about "it", the answer.
        why: String,
    },
    /// The answer was sent, and nobody has told what became of it.
    #[serde(rename = "sent")]
    NotKnownYet,
}

/// The words for [`End::NotKnownYet`].
pub const NOT_KNOWN_YET: &str = "sent, not known yet: the session has not shown if it took the answer";
/// The reason if the session asks the same again, so that it has not taken the answer.
pub const ASKS_AGAIN: &str = "it did not reach the session, which asks the same again";
/// The reason if the process that took the answer ended before it sent it.
pub const NOT_SENT: &str = "it was not sent: the process beside the dialog ended before that";

/// The commands for a person who knows how a sent answer ended.
pub fn if_you_know(workflow: &WorkflowId) -> String {
    format!("if you know that the session took it: relaunch done {workflow}; if it did not: relaunch drop {workflow}")
}

impl End {
    /// The answer came too late: the dialog had ended in this way.
    pub fn too_late(how: &str) -> Self {
        Self::TooLate { why: format!("it came too late: {how}") }
    }

    /// The answer was claimed, and was not given to its session.
    pub fn not_given(why: &str) -> Self {
        Self::TooLate { why: format!("it could not be given to the session, whose dialog stays open: {why}") }
    }

    /// The end of the answer to a dialog's question.
    pub fn of(question: &Question) -> Self {
        match &question.closed {
            None => Self::NotKnownYet,
            Some(Closing { state: Closed::Delivered, .. }) => Self::Confirmed,
            Some(Closing { why, state, .. }) => Self::TooLate { why: why.clone().unwrap_or_else(|| state.in_a_sentence().to_owned()) },
        }
    }

    /// The end in words, for whoever sent the answer.
    pub fn words(&self) -> String {
        match self {
            Self::Confirmed => "confirmed: the session has taken the answer".to_owned(),
            Self::TooLate { why } => why.clone(),
            Self::NotKnownYet => NOT_KNOWN_YET.to_owned(),
        }
    }

    /// Closes the claimed round with this end. As long as the end is not known, the round stays open: whoever learns the end closes it.
    ///
    /// # Errors
    /// If the round cannot be closed now.
    pub fn close(&self, claim: Claim<OnRecord>, mailbox: &Mailbox, by: &str) -> Result<()> {
        match self {
            Self::Confirmed => {
                let round = claim.round();
                if let Some(answer) = claim.document.typed.answer.as_ref().filter(|_| permit::is_used(mailbox, &round)) {
                    permit::record(mailbox, &round, answer);
                }
                claim.delivered(mailbox, by)
            }
            Self::TooLate { why } => claim.superseded(mailbox, by, why),
            Self::NotKnownYet => Ok(()),
        }
    }
}
