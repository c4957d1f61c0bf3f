//! Closes the round of an answer that a hook gave to a session's dialog: *delivered* if the session's transcript has the receipt,
//! else *superseded*, because the answer came too late. The person who gave it reads that in the round.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::approval;
use crate::attempt::record::{Run, RunState};
use crate::claim::{Claim, OnRecord, inline};
use crate::dialog::orphans::{BY, CLAUDE};
use askbox_agent::dialog::{Call, Taken, newest_call};
use askbox_agent::{sessions, subagents, transcript};
use askbox_mailbox::disk::{self, Lock};
use askbox_mailbox::documents::answer::Outcome;
use askbox_mailbox::documents::fields::approval::CallHash;
use askbox_mailbox::documents::fields::closing::{Closed, Closing};
use askbox_mailbox::documents::fields::live::EXIT_PLAN_MODE;
use askbox_mailbox::documents::fields::tool_call::ToolCall;
use askbox_mailbox::error::Result;
use askbox_mailbox::id::RoundId;
use askbox_mailbox::time::Time;
use askbox_mailbox::transitions::close;
use askbox_mailbox::{Folder, Mailbox, Question, QuestionDocument, read_question, time};

/// The reason why an answer that was given did not count.
pub const TOO_LATE: &str = "it came too late: the dialog was answered at its terminal, or by another hook";
/// The reason why an answer did not count whose dialog had ended in this way.
#[must_use]
pub fn too_late_because(how: &str) -> String {
    format!("it came too late: {how}")
}
/// The reason why an answer that was claimed was not given to its session.
#[must_use]
pub fn not_given_because(why: &str) -> String {
    format!("it could not be given to the session, whose dialog stays open: {why}")
}

/// The reason if the session has left no sign of the answer.
const NO_RECEIPT: &str = "it came too late: the session has left no sign that it took the answer";

/// The reason if the process that sent an answer to a session of another program has ended before the session took it. It leaves no
/// transcript that is read here.
pub const NOT_CONFIRMED: &str = "it may have come too late: the session has not shown that it took the answer";

/// How long the receipt may take if the session is gone. An idle machine needs a second (measured with Claude Code 2.1.331).
const PATIENCE: Duration = Duration::from_secs(15);
/// How long the receipt may take while the session lives. A machine with five tests on each processor has taken half a minute.
const LONGEST: Duration = Duration::from_secs(180);
/// How long the receipt may come after the call's result.
const BEHIND_RESULT: Duration = Duration::from_secs(1);
/// How long the sender of an answer waits for the receipt.
const FOR_THE_SENDER: Duration = Duration::from_secs(4);
/// How often the transcript is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The transcript of the session, or of the subagent, that made the call of a live question.
#[must_use]
pub fn transcript_of(question: &Question) -> Option<PathBuf> {
    let live = question.asked.live.as_ref()?;
    let session = transcript::find(question.config_dir.as_deref()?, &live.session.to_string())?;
    match &question.asked.tool_call.as_ref()?.subagent {
        Some(agent) => subagents::transcript(&session, &agent.id),
        None => Some(session),
    }
}

/// Waits for the receipt of an answer whose hook has printed it, and closes the round. Another process may be faster.
///
/// # Errors
/// [`askbox_mailbox::error::Error::Held`] if another process keeps the lock. [`askbox_mailbox::error::Error::Io`] if the system refuses.
pub fn wait(mailbox: &Mailbox, round: &RoundId) -> Result<()> {
    let until = Instant::now() + LONGEST + PATIENCE;
    // The hook holds the round's lock until it has ended.
    while disk::exists(mailbox.round(Folder::Running, round)) && Instant::now() < until {
        if let Some(claim) = inline::left_behind(mailbox, round)? {
            let mut receipt = Receipt::of(&claim.document.typed);
            let end = loop {
                match receipt.look(&claim.run) {
                    Some(end) => break end,
                    None => std::thread::sleep(LOOK_EVERY),
                }
            };
            return close(mailbox, claim, end);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Says why an answer to a live question that was accepted just now came too late. `None` if the session took it, if there is no sign of
/// either after a few seconds, or if this is another question.
#[must_use]
pub fn too_late(mailbox: &Mailbox, question: &Question, round: &RoundId) -> Option<String> {
    question.asked.live.as_ref()?;
    let until = Instant::now() + FOR_THE_SENDER;
    loop {
        if let Ok(document) = read_question::document(&mailbox.round(Folder::Closed, round)) {
            let closed = document.typed.closed.filter(|closed| closed.state == Closed::Superseded);
            return closed.map(|closed| closed.why.unwrap_or_else(|| NO_RECEIPT.into()));
        }
        if Instant::now() >= until {
            return None;
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
        let closing = Closing::now(Closed::Superseded, BY, Some(NO_RECEIPT.into()));
        return close::claimed(mailbox, &workflow, Folder::Running, question, closing).map(|()| true);
    };
    let is_claudes = document.typed.asked.live.as_ref().is_none_or(|live| live.program == CLAUDE);
    let end = match run.progress.state {
        // Only the process that sent the answer could have heard of its end, and its lock is free.
        RunState::Claimed if !is_claudes => Some(End::TooLate(NOT_CONFIRMED)),
        RunState::Claimed => Receipt::of(&document.typed).look(&run),
        // Only the round's move to `closed/` is missing.
        RunState::Delivered => Some(End::Delivered),
        _ => Some(End::TooLate(NO_RECEIPT)),
    };
    end.map_or(Ok(false), |end| close(mailbox, Claim::with_lock(document, run, lock), end).map(|()| true))
}

fn close(mailbox: &Mailbox, claim: Claim<OnRecord>, end: End) -> Result<()> {
    match end {
        End::Delivered => claim.delivered(mailbox, BY),
        End::TooLate(why) => claim.superseded(mailbox, BY, why),
    }
}

/// The end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Delivered,
    TooLate(&'static str),
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
        let tool = question.asked.tool_call.as_ref()?.name.clone();
        // The transcript does not have the input of a plan, and no hash of the questions of AskUserQuestion is on record.
        let approval = question.asked.approval.as_ref().filter(|approval| approval.tool != EXIT_PLAN_MODE);
        let hash = approval.map(|approval| approval.sha256.clone()).zip(question.cwd.clone());
        Some(Self { transcript: transcript_of(question)?, tool, hash, since: question.asked.live.as_ref()?.since })
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
    /// The folder of the session's configuration, and the session.
    session: Option<(PathBuf, String)>,
    wanted: Taken,
    /// True if the answer ends the session's turn.
    stops: bool,
    result_since: Option<Instant>,
}

impl Receipt {
    fn of(question: &Question) -> Self {
        let id = question.asked.tool_call.as_ref().and_then(ToolCall::told_id);
        let call = transcript_of(question).zip(id).map(|(path, id)| Call::with_id(path, id));
        let untold = if id.is_none() { Untold::of(question) } else { None };
        let allows = question.answer.as_ref().is_some_and(|answer| answer.outcome == Outcome::Answered);
        let stops = question.answer.as_ref().is_some_and(|answer| answer.stops);
        let session = question.config_dir.clone().zip(question.asked.live.as_ref().map(|live| live.session.to_string()));
        let wanted = if allows { Taken::Allow } else { Taken::Deny };
        Self { call, untold, session, wanted, stops, result_since: None }
    }

    /// True if the receipt would be there by now.
    fn is_old(&self, run: &Run) -> bool {
        let is_near = |limit| time::is_near(run.progress.claimed_at, limit);
        let lives = || self.session.as_ref().is_some_and(|(folder, session)| sessions::claude::is_alive(folder, session));
        !(is_near(PATIENCE) || is_near(LONGEST) && lives())
    }

    /// The end, if it can be told now.
    fn look(&mut self, run: &Run) -> Option<End> {
        let is_old = self.is_old(run);
        if let Some(untold) = &self.untold {
            self.call = untold.find(run.progress.claimed_at);
        }
        let Some(call) = &mut self.call else { return is_old.then_some(End::TooLate(NO_RECEIPT)) };
        call.look();
        match call.taken() {
            Some(taken) if taken == self.wanted => return Some(End::Delivered),
            Some(_) => return Some(End::TooLate(TOO_LATE)),
            // The turn has ended, whoever was first.
            None if self.stops && call.is_rejected() => return Some(End::Delivered),
            None if call.has_result() => {}
            None => return is_old.then_some(End::TooLate(NO_RECEIPT)),
        }
        let since = *self.result_since.get_or_insert_with(Instant::now);
        (is_old || since.elapsed() > BEHIND_RESULT).then_some(End::TooLate(TOO_LATE))
    }
}
