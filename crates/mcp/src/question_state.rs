//! The state of a question that was asked here, and the words for its asker.

use crate::desk::Desk;
use askbox_cli::program;
use askbox_config::RunnerKind;
use askbox_mailbox::disk::Lock;
use askbox_mailbox::{Answer, Folder, Mailbox, Outcome, Question, Result, RoundId, disk, read_question, round, text, time};
use askbox_run::attempt::record::{self, Run, RunState};
use askbox_run::claim::{self, Claim, ClaimAttempt, OnRecord, Refusal, heard, inline};
use askbox_run::delivery::Delivery;
use askbox_run::prompt::answer_text::{self, INLINE_ANSWER};
use askbox_run::words::inserted::as_json;
use askbox_run::words::{self, AskAgain};

/// How often a round is looked for. It may move from folder to folder during a look.
const LOOKS: usize = 4;

/// The state of a question.
pub(super) enum QuestionState {
    /// Nobody has answered.
    Waits(Box<Question>),
    /// It is answered, and no process has taken the answer yet.
    Answered(Box<Question>),
    /// It is answered, and this process has just taken the answer.
    Taken(Box<Claim<OnRecord>>),
    /// Another process has taken the answer and gives it to its asker, who may not have heard it yet.
    OnItsWay(Box<Question>, Box<Run>),
    /// Some process has taken the answer, or there will not be one. The attempt is the newest one of the round.
    Over(Box<Question>, Option<Box<Run>>),
}

/// The state of this question, or `None` if nothing is known about it. `takes` is true if the caller is the asker, which takes an answer if
/// there is one.
pub(super) fn find(desk: &Desk, mailbox: &Mailbox, asked: &RoundId, takes: bool) -> Result<Option<QuestionState>> {
    for _ in 0..LOOKS {
        if let Ok(document) = read_question::pending(mailbox, &asked.workflow)
            && round::of_pending(mailbox, &document.typed)? == *asked
        {
            return Ok(Some(QuestionState::Waits(Box::new(document.typed))));
        }
        if let Ok(document) = read_question::document(&mailbox.document(Folder::Answered, &asked.workflow))
            && round::round_of(mailbox, &document.typed)? == *asked
        {
            if !takes {
                return Ok(Some(QuestionState::Answered(Box::new(document.typed))));
            }
            match claim::for_asker(mailbox, asked, &desk.config_now()?.answers.policy())? {
                ClaimAttempt::Claimed(claim) => return Ok(Some(QuestionState::Taken(claim))),
                // Another process was faster.
                ClaimAttempt::Refused(Refusal::NothingAnswered) => {}
                ClaimAttempt::Refused(_) => return Ok(Some(QuestionState::Answered(Box::new(document.typed)))),
            }
        }
        for folder in [Folder::Running, Folder::Parked, Folder::Closed] {
            if let Ok(document) = read_question::of_round(&mailbox.round(folder, asked), asked) {
                let run = record::latest(mailbox, asked)?.map(Box::new);
                let delivery = run.as_deref().map(|run| Delivery::of_claimed(&document.typed, run));
                let question = Box::new(document.typed);
                return Ok(Some(match (delivery, run) {
                    (Some(Delivery::Waiter | Delivery::Session), Some(run)) if folder == Folder::Running => {
                        // An earlier process of the session died, or its agent did before it had heard the answer.
                        match if takes { inline::left_behind(mailbox, asked)? } else { None } {
                            Some(claim) => QuestionState::Taken(Box::new(claim)),
                            None if disk::exists(mailbox.round(folder, asked)) => QuestionState::OnItsWay(question, run),
                            None => QuestionState::Over(question, Some(run)),
                        }
                    }
                    (_, run) => QuestionState::Over(question, run),
                }));
            }
        }
    }
    Ok(None)
}

/// True if the answer of this round, which its session takes itself, was given or was about to be given, and its model was not shown it.
pub(super) fn is_unheard(mailbox: &Mailbox, asked: &RoundId) -> Result<bool> {
    let Some(run) = record::latest(mailbox, asked)? else { return Ok(false) };
    let is_claimed = run.state == RunState::Claimed && run.claimant == Delivery::Session.claimant();
    Ok(is_claimed
        && match heard::goes_on(mailbox, &run) {
            Some(goes_on) => !goes_on,
            // A process that gives it at this moment holds the lock.
            None => !Lock::is_held(&record::lock_path(mailbox, asked))? && disk::exists(mailbox.round(Folder::Running, asked)),
        })
}

impl QuestionState {
    /// The same for a process that may have the answer, although another one has given it: it counts as told.
    pub(super) fn told_to_asker(self) -> Self {
        match self {
            Self::OnItsWay(question, run) => Self::Over(question, Some(run)),
            other => other,
        }
    }

    /// The words for the asker.
    pub(super) fn words(&self, desk: &Desk, mailbox: &Mailbox, asked: &RoundId) -> Result<String> {
        match self {
            Self::Waits(question) => Ok(waits(question)),
            Self::Answered(question) => answered(desk, mailbox, asked, question),
            Self::Taken(claim) => told(desk, mailbox, &claim.document.typed, &claim.run),
            Self::OnItsWay(question, run) => Ok(format!(
                "Its asker is given this answer and goes on with it: do not do the work a second time. For your information:\n{}",
                over(desk, mailbox, asked, question, Some(run))?
            )),
            Self::Over(question, run) => over(desk, mailbox, asked, question, run.as_deref()),
        }
    }
}

fn waits(question: &Question) -> String {
    let age = question.asked_at().map(|at| format!(", asked {} ago", time::human(time::since(at)))).unwrap_or_default();
    format!("Nobody has answered yet: {}{age}. Do not guess an answer.", as_json(&text::excerpt(&question.title(), 200)))
}

/// The words for a process that has not taken the answer, or may not take it. If it goes on with this line of work, it asks again with the
/// same words, and then takes the answer.
fn answered(desk: &Desk, mailbox: &Mailbox, asked: &RoundId, question: &Question) -> Result<String> {
    let who = question.answer.as_ref().map_or_else(|| "answered".into(), Answer::who);
    let next = match Delivery::asked_for(question) {
        Delivery::Session => "The session that asked takes the answer itself",
        Delivery::Dialog => return Ok(format!("It was {who}. The session whose dialog it was takes the answer itself.")),
        Delivery::Launch | Delivery::Waiter | Delivery::MainAgent => {
            "No process has taken the answer yet; an agent is started with it as soon as a watcher runs: run_status tells"
        }
    };
    // A decision about a call is for the run that waits with that call. An answer that is too long for a message is for its taker.
    let is_long = question.answer.as_ref().and_then(|answer| answer.value.as_ref()).is_some_and(|v| v.to_text().len() > INLINE_ANSWER);
    if is_long || question.approval.is_some() || question.elicited_by.is_some() {
        return Ok(format!("It was {who}. {next}."));
    }
    let words = told(desk, mailbox, question, &untaken(asked))?;
    Ok(format!(
        "It was {who}. {next}. So do nothing with it in their place. If this line of work is yours, take the answer: call ask_user with \
         workflow_id \"{}\" and the same words. For your information:\n{words}",
        asked.workflow
    ))
}

/// The record of an answer that no process has taken.
fn untaken(asked: &RoundId) -> Run {
    Run::first(asked, Delivery::Waiter.claimant())
}

fn over(desk: &Desk, mailbox: &Mailbox, asked: &RoundId, question: &Question, run: Option<&Run>) -> Result<String> {
    if question.answer.is_none() {
        return Ok(words::nobody_answers(question));
    }
    let answer = told(desk, mailbox, question, run.unwrap_or(&untaken(asked)))?;
    // The agent of this run is the one that was started with the answer, so it gets the answer alone.
    let is_this_run = program::this_run().is_some_and(|asked_in| asked_in.run.round.workflow == asked.workflow);
    match run.map(|run| Delivery::of_claimed(question, run)).filter(|_| !is_this_run) {
        Some(Delivery::Launch) => Ok(format!(
            "An agent was started with this answer and does the work: do not do it a second time (run_status tells how it goes). For your information:\n{answer}"
        )),
        Some(Delivery::MainAgent) => Ok(format!(
            "A main agent took this answer and goes on with it: do not do the work a second time. For your information:\n{answer}"
        )),
        Some(Delivery::Waiter | Delivery::Session | Delivery::Dialog) | None => Ok(answer),
    }
}

/// The answer in words, with its author, channel and time.
fn told(desk: &Desk, mailbox: &Mailbox, question: &Question, run: &Run) -> Result<String> {
    let Some(answer) = &question.answer else { return Ok(waits(question)) };
    // The claim has checked the same, but anybody who can write to the mailbox can create a claimed or closed round.
    if let Err(why) = desk.config_now()?.answers.policy().judge(question) {
        return Ok(words::does_not_count(&why.0));
    }
    let when = answer.at.map(|at| format!(", {}", time::rfc3339(at))).unwrap_or_default();
    let words = match answer.counter_question() {
        Some(asked) => words::asks_back(asked, AskAgain::WithAskUser(&question.workflow_id)),
        None => answer_text::in_words(mailbox, question, answer, run, RunnerKind::Claude)?,
    };
    let title = as_json(&text::excerpt(&question.title(), 200));
    let answers = if answer.outcome == Outcome::Answered { "answers the question and " } else { "" };
    Ok(format!("Your question {title}: {words}\n({}{when}. This {answers}permits no tool call.)", answer.said_by()))
}
