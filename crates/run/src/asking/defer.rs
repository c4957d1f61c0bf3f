//! The driver for a call that waits in its session while no process runs. Its question is posted and the turn ends. A later process makes
//! the same call again, which finds its question by the call's id.

use serde_json::{Map, Value};

use crate::approval::ask::{self, Shown};
use crate::approval::call::Call;
use crate::approval::permit::{self, Allowed, Permit, Rules};
use crate::approval::standing::{self, StandingDecision};
use crate::asking::questions::Answers;
use crate::attempt::suspended_call;
use crate::claim::{Claim, ClaimAttempt, OnRecord, for_asker, inline};
use crate::{Run, words};
use askbox_mailbox::documents::shown::asks_the_same;
use askbox_mailbox::transitions::post::IfPending;
use askbox_mailbox::{
    Document, Error, Folder, Mailbox, Question, QuestionDocument, Result, RoundId, SessionId, ToolCall, WorkflowId, list, post,
    read_question, round,
};

/// What an agent does with its questions while another question waits.
const QUESTION_LATER: &str = "Ask this once that answer is there; up to four questions fit into one call.";
/// What an agent reads if another call has asked the same.
const ASKED_ALREADY: &str = "Your user has this question already. End your turn: you will be started again with the answer.";
/// Why a claimed answer is not used.
const OF_ANOTHER_CALL: &str = "its question does not show the call that waits";

/// A call of a session that may wait for a person.
pub struct Deferred<'a> {
    /// The mailbox.
    pub mailbox: &'a Mailbox,
    /// The operator's rules.
    pub rules: Rules<'a>,
    /// The workflow that the session's questions belong to.
    pub workflow: &'a WorkflowId,
    /// The call.
    pub call: Call<'a>,
    /// The call's id.
    pub id: &'a str,
    /// The session.
    pub session: Option<SessionId>,
    /// The live run of the call, if it is not this process that takes an answer: a later run then brings it.
    pub run: Option<&'a Run>,
    /// True if no agent is launched with the answer.
    pub to_session: bool,
    /// Fills in what the environment says about the asker.
    pub complete: &'a dyn Fn(&Mailbox, &mut Question) -> Result<()>,
}

/// The decision about a call, with the answer that this process has claimed for it.
pub struct Decided {
    /// The decision.
    pub decision: CallDecision,
    /// The claim, which ends once the reply is durable.
    pub claim: Option<Box<Claim<OnRecord>>>,
    /// True if the answer was for this process or this run.
    pub is_own: bool,
}

/// The decision about a call.
#[derive(Debug)]
pub enum CallDecision {
    /// Its question waits for a person.
    Waits,
    /// The call is made, or has its answers.
    Allow(Box<Allow>),
    /// The call is not made, and the model reads these words.
    Refuse(String),
}

/// A call that is made.
#[derive(Debug)]
pub struct Allow {
    /// Its input.
    pub input: Map<String, Value>,
    /// The model reads this beside its result.
    pub tell: Option<String>,
    /// The answer that allows it once, and where that is recorded.
    by_answer: Option<(Mailbox, Allowed)>,
}

impl Allow {
    /// Writes into the audit trail that an answer has let the call through. This comes after the reply.
    pub fn record(&self) {
        self.by_answer.iter().for_each(|(mailbox, allowed)| allowed.record(mailbox));
    }
}

impl CallDecision {
    /// The call is made with this input.
    pub fn allow(input: Map<String, Value>) -> Self {
        Self::Allow(Box::new(Allow { input, tell: None, by_answer: None }))
    }

    /// A question tool returns these answers.
    pub fn answered(answers: Result<Answers, String>) -> Self {
        answers.map_or_else(Self::Refuse, |answers| Self::allow(answers.filled))
    }

    /// A decision that holds for the workflow.
    pub fn standing(standing: StandingDecision, call: &Call<'_>) -> Self {
        match standing {
            StandingDecision::Allowed => Self::allow(call.input.clone()),
            StandingDecision::Refused(words) => Self::Refuse(words),
        }
    }

    fn of(self, over: Over) -> Decided {
        Decided { decision: self, claim: over.claim, is_own: over.is_own }
    }
}

impl From<CallDecision> for Decided {
    fn from(decision: CallDecision) -> Self {
        Self { decision, claim: None, is_own: false }
    }
}

/// The question of a call.
enum Found {
    Nothing,
    /// It has no answer that can be taken now.
    Waits,
    /// It is answered, or its round is over without an answer.
    Over(Over),
}

struct Over {
    round: RoundId,
    question: Box<Question>,
    /// True if the answer is for this process or this run. Another run's permission allows nothing here.
    is_own: bool,
    /// The claim, if the answer was claimed now.
    claim: Option<Box<Claim<OnRecord>>>,
}

impl Over {
    fn claimed(claim: Box<Claim<OnRecord>>) -> Found {
        Found::Over(Self { round: claim.round(), question: Box::new(claim.document.typed.clone()), is_own: true, claim: Some(claim) })
    }
}

impl Deferred<'_> {
    /// Asks the questions of the call, or takes what a person answered. `reply` makes the call's reply of an answer that counts.
    ///
    /// # Errors
    /// If the call asks no question, or the question can be neither posted nor looked for.
    pub fn answers(&self, document: QuestionDocument, reply: impl FnOnce(&Question) -> Result<CallDecision>) -> Result<Decided> {
        match self.find()? {
            Found::Waits => return Ok(CallDecision::Waits.into()),
            Found::Over(over) if over.question.answer.is_none() => {
                return Ok(CallDecision::Refuse(words::nobody_answers(&over.question)).of(over));
            }
            Found::Over(over) if asks_the_same(&over.question, &document.typed) => {
                let decision = match self.rules.policy.judge(&over.question) {
                    Ok(()) => reply(&over.question)?,
                    Err(why) => CallDecision::Refuse(words::does_not_count(&why.0)),
                };
                self.note_handed_over(&over)?;
                return Ok(decision.of(over));
            }
            Found::Over(over) => self.leave(over)?,
            Found::Nothing => {}
        }
        Ok(self.post(document, QUESTION_LATER)?.into())
    }

    /// Asks a person whether the call may be made, or takes what they said. `None` if no answer is about the call, and the operator asks
    /// nobody about it (`is_named` is false).
    ///
    /// # Errors
    /// If the call cannot be shown, or the question can be neither posted nor looked for.
    pub fn permission(&self, is_named: bool) -> Result<Option<Decided>> {
        // This comes before each call of a run, most of which nobody is asked about.
        let found = if is_named { self.find()? } else { self.find_in_run()?.unwrap_or(Found::Nothing) };
        let shown = match found {
            Found::Waits => return Ok(Some(CallDecision::Waits.into())),
            Found::Over(over) if over.is_own => {
                let decision = match permit::permit(self.mailbox, &self.rules, &over.round, &over.question, &self.call)? {
                    Permit::Allowed(allowed) => CallDecision::Allow(Box::new(Allow {
                        input: allowed.input.clone(),
                        tell: allowed.remark(false),
                        by_answer: Some((self.mailbox.clone(), *allowed)),
                    })),
                    Permit::Refused(words) => CallDecision::Refuse(words),
                    Permit::Ask(shown) => {
                        self.leave(over)?;
                        return self.ask(shown).map(Some);
                    }
                };
                self.note_handed_over(&over)?;
                return Ok(Some(decision.of(over)));
            }
            Found::Over(Over { question, round, .. }) if is_named && ask::is_about(&question, &self.call) => {
                if question.answer.is_none() {
                    return Ok(Some(CallDecision::Refuse(words::nobody_allows(&words::end_of(&question))).into()));
                }
                if let Some(words) = permit::refusal(&question) {
                    return Ok(Some(CallDecision::Refuse(words).into()));
                }
                // The permission of a closed round counted for its own run only.
                if permit::is_used(self.mailbox, &round) { Shown::perhaps_made(&question) } else { Shown::First }
            }
            _ if !is_named => return Ok(None),
            _ => match standing::about(self.mailbox, &self.rules.policy, self.workflow, &self.call)? {
                Some(standing) => return Ok(Some(CallDecision::standing(standing, &self.call).into())),
                None => Shown::First,
            },
        };
        self.ask(shown).map(Some)
    }

    /// Asks a person whether the call may be made.
    fn ask(&self, shown: Shown) -> Result<Decided> {
        let question = Document::draft(ask::question(self.workflow, &self.call, shown)?);
        Ok(self.post(question, words::CALL_LATER)?.into())
    }

    /// The question of this call in the round of its run.
    fn find_in_run(&self) -> Result<Option<Found>> {
        let Some(run) = self.run else { return Ok(None) };
        let question = read_question::of_round(&self.mailbox.round(Folder::Running, &run.round()), &run.round())?.typed;
        let is_it = self.is_its(&question) || self.is_of_subagent(&question);
        let found = |question| Found::Over(Over { round: run.round(), question: Box::new(question), is_own: true, claim: None });
        Ok(is_it.then(|| found(question)))
    }

    /// Looks for the question of this call, and takes the answer if this process is its asker.
    fn find(&self) -> Result<Found> {
        if let Some(found) = self.find_in_run()? {
            return Ok(found);
        }
        if read_question::pending(self.mailbox, self.workflow).is_ok_and(|pending| self.is_its(&pending.typed)) {
            return Ok(Found::Waits);
        }
        let answered = read_question::document(&self.mailbox.document(Folder::Answered, self.workflow)).map(|document| document.typed);
        if let Some(answered) = answered.ok().filter(|answered| self.is_its(answered)) {
            if self.run.is_some() {
                return Ok(Found::Waits);
            }
            return Ok(match for_asker(self.mailbox, &round::round_of(self.mailbox, &answered)?, &self.rules.policy)? {
                ClaimAttempt::Claimed(claim) => Over::claimed(claim),
                // The answer does not count, or another process is faster: the next look will tell.
                ClaimAttempt::Refused(_) => Found::Waits,
            });
        }
        for round in list::newest_rounds_of(self.mailbox, self.workflow).into_iter().take(list::SEARCHED) {
            for folder in [Folder::Running, Folder::Parked, Folder::Closed] {
                let Ok(document) = read_question::of_round(&self.mailbox.round(folder, &round), &round) else { continue };
                let Some(question) = Some(document.typed).filter(|question| self.is_its(question)) else { continue };
                // An earlier process of this session may have died with the answer in its hands.
                if self.run.is_none() && folder == Folder::Running && question.to_session {
                    let left = inline::left_behind(self.mailbox, &round)?;
                    return Ok(left.map_or(Found::Waits, |claim| Over::claimed(Box::new(claim))));
                }
                let is_own = self.run.is_none() && folder == Folder::Running;
                return Ok(Found::Over(Over { round, question: Box::new(question), is_own, claim: None }));
            }
        }
        Ok(Found::Nothing)
    }

    /// True if this call asked the question.
    fn is_its(&self, question: &Question) -> bool {
        question.tool_call.as_ref().is_some_and(|call| call.id == self.id)
    }

    /// True if a subagent of the session wanted to make this call. It was cut off and cannot make its call again, so the session makes it.
    fn is_of_subagent(&self, question: &Question) -> bool {
        question.tool_call.as_ref().is_some_and(|call| call.subagent.is_some()) && ask::is_about(question, &self.call)
    }

    fn note_handed_over(&self, over: &Over) -> Result<()> {
        self.run.filter(|_| over.is_own).map_or(Ok(()), |run| suspended_call::note_handed_over(self.mailbox, run))
    }

    /// Ends a claim whose answer is not about this call.
    fn leave(&self, over: Over) -> Result<()> {
        over.claim.map_or(Ok(()), |claim| claim.superseded(self.mailbox, "the session that asked", OF_ANOTHER_CALL))
    }

    /// Posts the question of the call. `later` tells the agent what to do if another question is still waiting.
    fn post(&self, mut document: QuestionDocument, later: &str) -> Result<CallDecision> {
        let question = &mut document.typed;
        question.tool_call = Some(ToolCall { name: self.call.tool.to_owned(), id: self.id.to_owned(), subagent: None });
        question.to_session = self.to_session;
        question.session_id = self.session;
        question.cwd = Some(self.call.cwd.to_path_buf()).filter(|cwd| cwd.is_absolute());
        (self.complete)(self.mailbox, question)?;
        if question.approval.is_some() {
            // The agent chooses this name, and beside a call only askbox speaks.
            question.asked_by = None;
        }
        match post::post_document(self.mailbox, document, IfPending::Conflict) {
            Ok(receipt) if self.is_asked_already(&receipt.round) => Ok(CallDecision::Refuse(ASKED_ALREADY.into())),
            Ok(_) => Ok(CallDecision::Waits),
            Err(Error::Conflict { .. }) => {
                let pending = read_question::pending(self.mailbox, self.workflow).ok();
                Ok(CallDecision::Refuse(words::waits_behind(pending.as_ref().map(|document| &document.typed), later)))
            }
            Err(e) => Err(e),
        }
    }

    /// True if another call has asked the same question, and it is pending.
    fn is_asked_already(&self, round: &RoundId) -> bool {
        read_question::pending(self.mailbox, self.workflow)
            .is_ok_and(|pending| pending.typed.question_id == Some(round.question) && !self.is_its(&pending.typed))
    }
}
