//! Reads questions and sends answers, in this machine's mailbox or on another machine. The rest of the inbox uses an address, and need not
//! know which of the two it is.
//!
//! | file | idea |
//! |---|---|
//! | `others` | the connections to other machines, and the offers of answers to them |
//! | `machines` | the state of other machines at one moment |

pub mod machines;
mod others;

pub use others::Others;

use uuid::Uuid;

use askbox_cli::{Context, PersonsDecision, answering, person, program};
use askbox_mailbox::documents::shown::is_same;
use askbox_mailbox::transitions::undo;
use askbox_mailbox::{
    Address, Answer, Caller, Decision, Error, Folder, HostName, Mailbox, On, Question, QuestionId, Result, Round, RoundAt, RoundId,
    WorkflowId, accept, disk, read_question, round, settle,
};
use askbox_run::asking::receipt::End;
use askbox_run::asking::{next_prompt, orphans};
use askbox_run::{HoldUp, Teller, story};

/// The channel recorded with answers from here.
pub(super) const CHANNEL: &str = "inbox";

/// The person who decides, the mailbox and machines that take the decision, and the operator's configuration.
#[derive(Debug, Clone, Copy)]
pub struct Sender<'a> {
    pub mailbox: &'a Mailbox,
    pub context: &'a Context,
    pub others: &'a Others,
    pub person: &'a Caller,
}

/// A question of the list.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// The round, or `None` for a question that was made by hand here.
    pub id: Option<QuestionId>,
    pub question: &'a Question,
}

/// An answer that was sent.
pub struct Sent {
    pub at: RoundAt,
    /// The answer in a few words.
    pub words: String,
    /// The reason why nothing starts its agent for now.
    pub hold_up: Option<HoldUp>,
    pub warning: Option<String>,
    /// The offer, if another machine decides. It does not count as an answer until then.
    pub offer: Option<Offered>,
    /// The end, if it is the answer to a session's dialog on this machine.
    pub end: Option<End>,
}

/// An answer that was offered to another machine.
#[derive(Debug, Clone)]
pub struct Offered {
    pub id: Uuid,
    /// The question in one line.
    pub title: String,
    /// The words that announce the answer once it counts.
    pub acknowledged: String,
    pub note: Option<String>,
}

impl Sender<'_> {
    /// Tells the stories of this machine's rounds, with local times.
    pub fn teller(&self) -> Teller<'_> {
        Teller::new(self.mailbox, self.context.loaded()).in_local_time()
    }

    /// Sends a decision about the question that was shown. If another question has taken its place, fails.
    pub fn send(self, shown: &ShownQuestion, decision: PersonsDecision) -> Result<Sent> {
        let answer = decision.given_by(self.person);
        match &shown.host {
            None => self.send_here(shown, answer),
            Some(host) => self.others.send(self.person, host, shown, answer),
        }
    }

    fn send_here(self, shown: &ShownQuestion, answer: Answer) -> Result<Sent> {
        // The person has already been asked about words that are close to an option.
        let decision = Decision::by(self.person, On::question(&shown.round.id, shown.question())?).in_own_words();
        orphans::end_waiting(self.mailbox, &shown.round.id.workflow)?;
        let accepted = accept::answer(self.mailbox, &shown.round.id.workflow, decision, answer)?;
        let words = answering::acknowledged(&accepted.question, &accepted.answer);
        // The operator may have changed the configuration since the inbox was opened.
        self.context.reload();
        let hold_up = person::hold_up(self.context, self.mailbox, &accepted.question);
        let end = accepted.question.live.is_some().then_some(End::NotKnownYet);
        Ok(Sent { at: RoundAt::here(accepted.round), words, hold_up, warning: accepted.warning, offer: None, end })
    }

    /// Takes an answer back, if no run has claimed it yet.
    pub fn undo(self, at: &RoundAt) -> Result<String> {
        match &at.host {
            None => {
                let undone = undo::undo(self.mailbox, &at.round.workflow, Some(at.round.question), self.person.by())?;
                Ok(undone.answer)
            }
            Some(host) => Err(others::cannot_be_taken_back(host, &at.round.workflow)),
        }
    }

    /// The answer of a round of this machine that no run has claimed.
    pub fn unclaimed(self, at: &RoundAt) -> Option<Answer> {
        at.host.is_none().then(|| unclaimed(self.mailbox, &at.round)).flatten()
    }

    /// The end of an answer to a session's dialog on this machine, as it is known now.
    pub fn end(self, at: &RoundAt) -> End {
        let closed = read_question::document(&self.mailbox.round(Folder::Closed, &at.round));
        closed.map_or(End::NotKnownYet, |document| End::of(&document.typed))
    }

    /// True if the answer of a round of this machine can be taken back. Answers of another machine are taken back on that machine.
    pub fn may_be_taken_back(self, at: &RoundAt) -> bool {
        at.host.is_none() && may_be_taken_back(self.mailbox, &at.round)
    }

    /// The mailbox with the question of this address. `None` for another machine.
    pub fn mailbox_of(&self, address: &Address) -> Option<&Mailbox> {
        address.host.is_none().then_some(self.mailbox)
    }

    /// Passes the waiting question at an address to `look`, or the reason why it cannot be read. Returns the result of `look`, or `None` if
    /// no question waits.
    pub fn look<T>(self, address: &Address, look: impl FnOnce(std::result::Result<Seen<'_>, String>) -> T) -> Option<T> {
        match &address.host {
            None => match settle::waiting(self.mailbox, &address.workflow) {
                Err(e) if e.is_missing_file() => None,
                Ok(document) => Some(look(Ok(Seen { id: document.typed.question_id, question: &document.typed }))),
                Err(e) => Some(look(Err(program::message(&e)))),
            },
            Some(host) => self.others.latest().question(host, &address.workflow).map(|question| others::look_at(question, look)),
        }
    }

    /// The question that now waits at an address.
    pub fn pending(self, address: &Address) -> Result<ShownQuestion> {
        match &address.host {
            None => pending(self.mailbox, &address.workflow).map(|round| ShownQuestion { host: None, round }),
            Some(host) => self.others.pending(host, &address.workflow),
        }
    }

    /// Checks that a question still waits in the form that was shown. `Err` says how it ended.
    pub fn still_waits(self, shown: &ShownQuestion) -> std::result::Result<(), String> {
        match &shown.host {
            None => still_waits(self.mailbox, shown),
            Some(host) => self.others.still_waits(host, shown),
        }
    }

    /// Says how an answer that came too late can still reach its session, if that has ended.
    pub fn offer_as_prompt(self, at: &RoundAt) -> Option<String> {
        if at.host.is_some() { None } else { next_prompt::offer(&round::find(self.mailbox, &at.round)?.document.typed) }
    }

    /// Turns an error of [`Self::pending`] into a sentence that says why no question waits at an address.
    pub fn why_not(self, address: &Address, error: Error) -> String {
        if address.host.is_none() && error.is_missing_file() { fate(self.mailbox, &address.workflow) } else { in_one_line(error) }
    }
}

/// The answer of a round that no run has claimed.
fn unclaimed(mailbox: &Mailbox, round: &RoundId) -> Option<Answer> {
    let question = read_question::answered(mailbox, &round.workflow).ok()?.typed;
    question.answer.filter(|_| question.question_id == Some(round.question))
}

/// True if a person gave the answer of a round, no run has claimed it, and its workflow has not asked its next question.
pub fn may_be_taken_back(mailbox: &Mailbox, round: &RoundId) -> bool {
    let asks_again = || disk::exists(mailbox.document(Folder::Pending, &round.workflow));
    unclaimed(mailbox, round).is_some_and(|answer| answer.is_a_persons()) && !asks_again()
}

/// The waiting question of a workflow.
fn pending(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Round> {
    let document = settle::waiting(mailbox, workflow)?;
    let id = round::of_pending(mailbox, &document.typed)?;
    Ok(Round { folder: Folder::Pending, id, document })
}

/// Checks that a question still waits in the form that was shown. `Err` says how it ended.
fn still_waits(mailbox: &Mailbox, shown: &ShownQuestion) -> std::result::Result<(), String> {
    let RoundId { workflow, .. } = &shown.round.id;
    match pending(mailbox, workflow) {
        Ok(now) if now.id != shown.round.id => Err(format!("{workflow} asks another question by now")),
        Ok(now) if !is_same(&now.document.typed, shown.question()) => Err(format!("{workflow} was changed while you read it")),
        Ok(_) => Ok(()),
        Err(e) if e.is_missing_file() => Err(fate(mailbox, workflow)),
        Err(e) => Err(program::message(&disk::explain_missing(e))),
    }
}

/// Says how a workflow's last question ended.
fn fate(mailbox: &Mailbox, workflow: &WorkflowId) -> String {
    match answering::question(mailbox, workflow) {
        // This question was asked afterwards.
        Ok(found) if found.folder == Folder::Pending => format!("{workflow} asks another question by now"),
        Ok(found) => {
            let who = found.document.typed.answer.as_ref().map_or(String::new(), |answer| format!(" ({})", answer.who_with_what()));
            format!("{workflow}: {}{who}", story::in_words(&found))
        }
        Err(e) => program::message(&e),
    }
}

/// An error as one line.
pub fn in_one_line(error: Error) -> String {
    program::message(&disk::explain_missing(error))
}

/// A question as it was read. The person's answer is for exactly this question, and not for one that took its place.
pub struct ShownQuestion {
    /// The other machine, or `None` for this one.
    pub host: Option<HostName>,
    pub round: Round,
}

impl ShownQuestion {
    pub fn at(&self) -> RoundAt {
        RoundAt { host: self.host.clone(), round: self.round.id.clone() }
    }

    pub fn address(&self) -> Address {
        Address { host: self.host.clone(), workflow: self.round.id.workflow.clone() }
    }

    pub fn question(&self) -> &Question {
        &self.round.document.typed
    }
}
