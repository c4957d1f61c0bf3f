//! Chooses the round of a workflow that can be claimed now, or says why none can.
//!
//! An agent that a person's script starts itself, right after it has moved a question to `answered/`: `claude -p "Resume workflow from
//! checkpoint at PATH …"`, as in the first design. A second agent beside it would do the work twice.

use std::path::Path;
use std::time::Duration;

use crate::attempt::record::{self, Begin, Run};
use crate::claim::plan;
use crate::claim::stages::{Chosen, Claim, OnRecord, Taken, lock_is_held};
use crate::delivery::Delivery;
use crate::process::programs;
use askbox_config::Config;
use askbox_mailbox::transitions::answered_by_hand::{self, Adopted};
use askbox_mailbox::transitions::undo;
use askbox_mailbox::trust::policy::WhyRefused;
use askbox_mailbox::{
    Folder, Lock, Mailbox, Policy, Question, QuestionId, Result, RoundId, Through, WorkflowId, disk, list, processes, settle,
};

/// The outcome of an attempt to claim a workflow's answer.
pub enum ClaimAttempt<Stage> {
    /// The round is claimed by this process.
    Claimed(Box<Claim<Stage>>),
    /// Nothing can be claimed now, and nothing was changed.
    Refused(Refusal),
}

/// Why nothing can be claimed now.
#[derive(Debug)]
pub enum Refusal {
    /// The workflow has no answered round that is unclaimed.
    NothingAnswered,
    /// The answer's file is young: its writer may not have finished, or may start an agent with it. Look again after this time.
    MayBeUnfinished(Duration),
    /// This earlier round of the workflow is in `running/`; rounds go in order.
    EarlierRound(RoundId),
    /// The session to fork still runs, in this round of the parent workflow. Its transcript is not complete.
    AskerRuns(RoundId),
    /// The asker of this round waits for the answer with `ask-post --wait`.
    AwaitedInline(RoundId),
    /// The answer does not count. It was refused, and its question waits again.
    NotTrusted(WhyRefused),
    /// The session that asked takes the answer of this round itself the next time it runs. Only a person's own command launches an
    /// agent with it.
    AwaitedBySession(RoundId),
    /// The answer is for the dialog of an attended session, whose hook is gone. The sweep closes the round.
    OfDialog(RoundId),
    /// A person has started this process with the answer.
    HandStarted(i32),
}

impl<Stage> ClaimAttempt<Stage> {
    fn and_then<Next>(self, step: impl FnOnce(Claim<Stage>) -> Result<Claim<Next>>) -> Result<ClaimAttempt<Next>> {
        Ok(match self {
            Self::Claimed(claim) => ClaimAttempt::Claimed(Box::new(step(*claim)?)),
            Self::Refused(refusal) => ClaimAttempt::Refused(refusal),
        })
    }
}

/// The claimant of a round, with the rules for it.
#[derive(Debug, Clone, Copy)]
enum By<'a> {
    /// A person's command, which launches an agent as this configuration says.
    Person(&'a Config),
    /// A watcher, which launches an agent as this configuration says. Nobody has asked for this launch.
    Watcher(&'a Config),
    /// The asker of this question, which takes the answer if it counts by this policy.
    Asker(QuestionId, &'a Policy),
    /// A main agent, which takes the answer if it counts by this policy.
    MainAgent(&'a Policy),
}

impl By<'_> {
    /// Checks that the answer of this document counts for this claimant.
    fn judge(self, question: &Question) -> Result<(), WhyRefused> {
        match self {
            Self::Person(config) | Self::Watcher(config) => config.answers.policy().judge(question),
            Self::Asker(_, policy) | Self::MainAgent(policy) => policy.judge(question),
        }
    }

    /// The round's first attempt.
    fn first_attempt(self, mailbox: &Mailbox, question: &Question, round: &RoundId) -> Result<Run> {
        let taken = |delivery: Delivery| Ok(Run::first(round, delivery.claimant()));
        match self {
            Self::Person(config) | Self::Watcher(config) => plan::first(mailbox, config, question, round),
            Self::Asker(..) => taken(Delivery::Waiter),
            Self::MainAgent(_) => taken(Delivery::MainAgent),
        }
    }
}

/// Claims this answered round for its asker, if the answer counts by `policy`. The asker is a waiting process or the session that asked, and
/// takes the answer itself. It never takes the answer to another question of its workflow.
pub fn for_asker(mailbox: &Mailbox, round: &RoundId, policy: &Policy) -> Result<ClaimAttempt<OnRecord>> {
    claim(mailbox, &round.workflow, By::Asker(round.question, policy))
}

/// Claims the answered round of `workflow` for a main agent, if the answer counts by `policy`.
pub fn for_main_agent(mailbox: &Mailbox, workflow: &WorkflowId, policy: &Policy) -> Result<ClaimAttempt<OnRecord>> {
    claim(mailbox, workflow, By::MainAgent(policy))
}

/// Claims the answered round of `workflow`, with its first attempt on record.
fn claim(mailbox: &Mailbox, workflow: &WorkflowId, by: By<'_>) -> Result<ClaimAttempt<OnRecord>> {
    choose(mailbox, workflow, by)?.and_then(|chosen| chosen.take(mailbox))?.and_then(|taken| taken.put_on_record(mailbox))
}

/// Claims as a watcher, up to the stage [`Taken`]. The watcher may start the supervisor right away: the supervisor waits for the
/// round's lock and then reads the record.
pub fn take(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<ClaimAttempt<Taken>> {
    choose(mailbox, workflow, By::Watcher(config))?.and_then(|chosen| chosen.take(mailbox))
}

/// Does the steps before a claim for a watcher, without a claim: completes an answer that was made by hand, and refuses an answer that does not
/// count. `None` if an agent can be launched with the answer.
pub fn look(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<Option<Refusal>> {
    Ok(match choose(mailbox, workflow, By::Watcher(config))? {
        ClaimAttempt::Claimed(_) => None,
        ClaimAttempt::Refused(refusal) => Some(refusal),
    })
}

/// [`take`] for a supervisor in this process, at the command of a person. If the program cannot be started, the answer stays where it is:
/// a watcher finds it there. The supervisor launches its agent first and writes the attempt's record while the agent starts:
/// see [`crate::supervise::ownership::Attempt`].
pub fn take_to_launch(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<ClaimAttempt<Taken>> {
    choose(mailbox, workflow, By::Person(config))?.and_then(|chosen| chosen.take_to_launch(mailbox))
}

fn choose(mailbox: &Mailbox, workflow: &WorkflowId, by: By<'_>) -> Result<ClaimAttempt<Chosen>> {
    let refused = |refusal| Ok(ClaimAttempt::Refused(refusal));
    let lock = mailbox.lock(workflow)?;
    settle::settle(mailbox, &lock)?;
    let (document, round) = match answered_by_hand::adopt(mailbox, &lock)? {
        Adopted::Ready(document, round) => (*document, round),
        Adopted::InGrace(wait) => return refused(Refusal::MayBeUnfinished(wait)),
        Adopted::Nothing | Adopted::Undone | Adopted::Quarantined => return refused(Refusal::NothingAnswered),
    };
    if matches!(by, By::Asker(question, _) if question != round.question) {
        return refused(Refusal::NothingAnswered);
    }
    // If the pending copy of this round stayed behind, it would look like the next round.
    settle::settle(mailbox, &lock)?;
    if let Err(why) = by.judge(&document.typed) {
        undo::refuse(mailbox, &lock, document, &round, &why)?;
        return refused(Refusal::NotTrusted(why));
    }
    if let Some(refusal) = left_to_another(mailbox, by, &document.typed, &round)? {
        return refused(refusal);
    }
    match by {
        By::Person(config) => programs::check(config, workflow)?,
        By::Watcher(config) => {
            let program = config.runner_of(workflow)?.1.program;
            match HandStarted::find(mailbox, &document.typed, Path::new(&program)) {
                Some(HandStarted::Perhaps(left)) => return refused(Refusal::MayBeUnfinished(left)),
                Some(HandStarted::Process(pid)) => return refused(Refusal::HandStarted(pid)),
                None => {}
            }
        }
        By::Asker(..) | By::MainAgent(_) => {}
    }
    let run = by.first_attempt(mailbox, &document.typed, &round)?;
    if let Some(live) = live_run_of_asker(mailbox, &run)? {
        return refused(Refusal::AskerRuns(live));
    }
    if Lock::is_held(&record::lock_path(mailbox, &round))? {
        return Err(lock_is_held(&round));
    }
    Ok(ClaimAttempt::Claimed(Box::new(Claim::new(document, run, lock))))
}

/// Why this claimant leaves the answer alone: another claimant takes it, or an earlier round has to end first.
fn left_to_another(mailbox: &Mailbox, by: By<'_>, question: &Question, round: &RoundId) -> Result<Option<Refusal>> {
    match by {
        // An asker launches nothing, and may itself be the run of the earlier round.
        By::Asker(..) => return Ok(None),
        By::Person(_) | By::Watcher(_) | By::MainAgent(_) => {}
    }
    match (Delivery::of_unclaimed(mailbox, question)?, by) {
        (Delivery::Waiter, _) => return Ok(Some(Refusal::AwaitedInline(round.clone()))),
        (Delivery::Dialog, _) => return Ok(Some(Refusal::OfDialog(round.clone()))),
        (Delivery::Session, By::Watcher(_)) => return Ok(Some(Refusal::AwaitedBySession(round.clone()))),
        (Delivery::Session | Delivery::Launch | Delivery::MainAgent, _) => {}
    }
    let earlier = list::round_names(mailbox, Folder::Running).find(|r| r.workflow == round.workflow);
    Ok(earlier.map(Refusal::EarlierRound))
}

/// The live run whose session is to be forked: it asked on behalf of another workflow and then went on.
fn live_run_of_asker(mailbox: &Mailbox, run: &Run) -> Result<Option<RoundId>> {
    let Begin::Fork { from, of: Some(parent) } = &run.begin else { return Ok(None) };
    for round in list::round_names(mailbox, Folder::Running).filter(|r| r.workflow == *parent) {
        let has_session = record::latest(mailbox, &round)?.is_some_and(|r| r.session_id == *from);
        if has_session && Lock::is_held(&record::lock_path(mailbox, &round))? {
            return Ok(Some(round));
        }
    }
    Ok(None)
}

/// How long such a script may take from the move to the start.
const STARTS_WITHIN: Duration = Duration::from_secs(1);

/// The agent that has the answer to a question that was answered by hand.
pub enum HandStarted {
    /// It may still be started within this time.
    Perhaps(Duration),
    /// This process is it.
    Process(i32),
}

impl HandStarted {
    /// Looks for the agent. `None` if there is none. `program` is the runner's.
    pub fn find(mailbox: &Mailbox, question: &Question, program: &Path) -> Option<Self> {
        let checkpoint = question.checkpoint.as_ref()?.to_str()?;
        if question.answer.as_ref()?.through != Some(Through::File) {
            return None;
        }
        let names = |word: &String| program.file_name() == Path::new(word).file_name();
        // The path as a word of its own: another agent's checkpoint may only end, or begin, in the same way. A path with a space is not found.
        let has_path = |word: &String| {
            word.split(|c: char| c.is_whitespace() || "\"'`(),;:".contains(c)).any(|part| part.trim_end_matches('.') == checkpoint)
        };
        let is_it = |arguments: &[String]| {
            arguments.iter().take(2).any(names)
                && arguments.iter().any(|word| word == "-p" || word == "--print")
                && arguments.iter().any(has_path)
        };
        let of_this_user = processes::all().filter(processes::Seen::is_of_this_user);
        if let Some(agent) = of_this_user.into_iter().find(|process| is_it(&process.arguments())) {
            return Some(Self::Process(agent.pid()));
        }
        let completed = disk::metadata(mailbox.document(Folder::Answered, &question.workflow_id)).and_then(|meta| meta.modified()).ok()?;
        let left = STARTS_WITHIN.checked_sub(completed.elapsed().unwrap_or(STARTS_WITHIN)).filter(|left| !left.is_zero());
        left.map(Self::Perhaps)
    }
}
