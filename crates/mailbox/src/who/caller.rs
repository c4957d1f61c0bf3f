//! The process that acts: its name, its channel, and its origin.
//!
//! A program makes one [`Caller`] when it starts, and hands it down. The transitions ask the caller, under the workflow's lock,
//! what it may decide. No surface has rules of its own. `docs/dev/architecture.md` holds the whole table, and a test tries every cell
//! of it.
//!
//! It also checks whether a process or a question belongs to the run that it names. The run's record decides: see
//! [`crate::documents::fields::asked_in`].
//!
//! # Limitations
//! A process of the same user can hide where it comes from: it may fake a name, a parent and a terminal.

use serde::Deserialize;

use crate::documents::answer::{BY_DEFAULT, BY_EVENT};
use crate::documents::fields::asked_in::{AskedIn, NonceHash};
use crate::layout::MAX_RUN;
use crate::trust::signed_bytes;
use crate::{
    Answer, AnswerValue, Error, Mailbox, Matter, Question, QuestionId, Result, SessionId, Signer, Through, WorkflowId, disk, document,
};

pub use crate::platform::ancestry::Below;

impl Below {
    /// Returns the channel of the decisions that a command of this process makes.
    pub fn through(self) -> Through {
        match self {
            Self::NoAgent => Through::Terminal,
            Self::Agent | Self::Run => Through::Agent,
            Self::Unknown => Through::File,
        }
    }

    /// Checks that this process may open the page. Opening the page is a person's act: anybody who reads the page answers as a person.
    ///
    /// # Errors
    /// [`Error::Conflict`] in an agent's run.
    pub fn may_open_the_page(self) -> Result<()> {
        match self {
            Self::Run => Err(Error::conflict("the page is for people, and this is an agent's run", "leave it to a person: end your turn")),
            Self::NoAgent | Self::Agent | Self::Unknown => Ok(()),
        }
    }

    /// Checks that this process may make a link to the page. Anybody who has the link answers as a person.
    ///
    /// # Errors
    /// [`Error::Conflict`] below an agent or in its run, and if it is unknown what the process runs below.
    pub fn may_make_a_link(self) -> Result<()> {
        let hint = ("make it in a terminal with no agent above it", "askbox web link");
        match self {
            Self::NoAgent => Ok(()),
            Self::Run => self.may_open_the_page(),
            Self::Agent => Err(Error::conflict("a link is for a person, and this is a command of an agent", hint)),
            Self::Unknown => Err(Error::conflict("a link is for a person, and no terminal shows where this process comes from", hint)),
        }
    }
}

/// A process that decides in the name of a person, an agent or the asker.
#[derive(Debug, Clone)]
pub struct Caller {
    by: String,
    channel: String,
    /// The channel; `None` for the asker itself.
    through: Option<Through>,
    below: Below,
    signer: Option<Signer>,
}

impl Caller {
    /// Returns a caller that decides through this channel. `by` is the caller's name, and `channel` the name of the program.
    ///
    /// # Errors
    /// [`Error::Usage`] for a name that means that no person answered: see [`check_name`].
    pub fn new(by: impl Into<String>, channel: impl Into<String>, through: Through, below: Below) -> Result<Self> {
        let by = by.into();
        check_name(&by)?;
        Ok(Self { through: Some(through), ..Self::unnamed(by, channel.into(), below) })
    }

    /// Returns a person who decides at a terminal, with no agent above the program.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn person(by: impl Into<String>, channel: impl Into<String>) -> Result<Self> {
        Self::new(by, channel, Through::Terminal, Below::NoAgent)
    }

    /// Returns the asker of the question as the caller. The asker said beforehand what decides without a person: a default or an event.
    pub fn asker() -> Self {
        Self::unnamed(BY_DEFAULT.into(), "timer".into(), Below::NoAgent)
    }

    /// Returns a caller on another machine. `through` is what its program says. `below` says what the process runs below that brings the
    /// request: if that is an agent, the agent calls.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn from_elsewhere(by: impl Into<String>, channel: impl Into<String>, through: Option<Through>, below: Below) -> Result<Self> {
        match below {
            Below::Agent | Below::Run => Self::new(by, channel, Through::Agent, below),
            // Another machine's command has no terminal here. Its process runs there, so an unknown origin here says nothing about it.
            Below::NoAgent | Below::Unknown => Self::new(by, channel, through.unwrap_or(Through::File), Below::NoAgent),
        }
    }

    fn unnamed(by: String, channel: String, below: Below) -> Self {
        Self { by, channel, through: None, below, signer: None }
    }

    /// Adds a signer, if this caller may sign. Only the decisions of a person at a terminal or on the page are signed; without that
    /// right, `signer` is dropped.
    pub fn signing(self, signer: Option<Signer>) -> Self {
        let may_sign = match (&self.through, self.below) {
            (_, Below::Run) => false,
            (Some(Through::Terminal), below) => below == Below::NoAgent,
            (Some(Through::Web), _) => true,
            _ => false,
        };
        Self { signer: signer.filter(|_| may_sign), ..self }
    }

    /// True if this caller signs its answers.
    pub(crate) fn signs(&self) -> bool {
        self.signer.is_some()
    }

    /// Returns the complete answer to a question that has its id, signed if this caller signs. May take minutes, because a person
    /// may have to touch a token.
    pub(crate) fn signed(&self, question: &Question, answer: Answer) -> Result<Answer> {
        if let Some(signer) = &self.signer {
            let signature = signer.sign(&signed_bytes::of_answer(question, &answer)?)?;
            return Ok(Answer { signature: Some(signature), ..answer });
        }
        Ok(answer)
    }

    /// Returns the complete answer to a question of another machine, signed if this caller signs. `for_its_machine` is the hash of
    /// the parts that the machine keeps to itself, as the machine told it.
    ///
    /// # Errors
    /// The signer's errors: see [`Signer::sign`].
    pub fn signed_for_another_machine(&self, question: &Question, for_its_machine: Option<&str>, answer: Answer) -> Result<Answer> {
        let (Some(signer), Some(for_its_machine)) = (&self.signer, for_its_machine) else { return self.signed(question, answer) };
        let signature = signer.sign(&signed_bytes::with(question, for_its_machine, &answer)?)?;
        Ok(Answer { signature: Some(signature), ..answer })
    }

    /// The name of the caller.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// The channel; `None` for the asker itself.
    pub fn through(&self) -> Option<Through> {
        self.through.clone()
    }

    /// Checks that this caller may decide this question. Anybody may answer what an agent wants to know. A permission and a consent
    /// are a person's to give.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the caller may not; its hint says what to do instead.
    pub fn may_decide(&self, question: &Question) -> Result<()> {
        let matter = Matter::of_question(question);
        if matter == Matter::Question {
            return Ok(());
        }
        let (asks, id) = (matter.asks(&question.workflow_id), &question.workflow_id);
        match (&self.through, self.below) {
            (_, Below::Run) => {
                Err(Error::conflict(format!("{asks}, and an agent's run answers no such question"), "leave it to a person: end your turn"))
            }
            (None, _) => Err(Error::conflict(
                format!("{asks}, and silence decides no such question"),
                ("look at it", format!("ask-answer show {id}")),
            )),
            (Some(Through::Mcp | Through::Hook), _) => Err(Error::conflict(
                format!("{asks}: no agent may answer that"),
                ("ask your user to answer it", format!("ask-answer show {id}")),
            )),
            // It does not show everything that the person would permit.
            (Some(Through::Message), _) if question.approval.is_some() => Err(Error::conflict(
                format!("{asks}: a message cannot give a permission"),
                ("look at the call, and decide in an inbox or at a terminal", format!("ask-answer show {id}")),
            )),
            (Some(Through::Web | Through::Message), _) => Ok(()),
            // The agent of the session could otherwise answer its own dialog.
            (Some(_), Below::Agent) if matter == Matter::Dialog => Err(Error::conflict(
                format!("{asks}: no agent may answer that"),
                ("answer it in a terminal of your own, or on the page", format!("ask-answer show {id}")),
            )),
            (Some(_), Below::Unknown) => Err(Error::conflict(
                format!("{asks}, and nobody knows who calls: no terminal shows where this process comes from"),
                ("answer it in a terminal (by ssh: ssh -t), or on the page", format!("ask-answer show {id}")),
            )),
            (Some(Through::Terminal | Through::Agent | Through::File | Through::Other(_)), Below::NoAgent | Below::Agent) => Ok(()),
        }
    }

    /// Checks that this caller may send a session its next prompt. That is a person's act.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the caller may not; its hint says what to do instead.
    pub fn may_prompt(&self) -> Result<()> {
        match (&self.through, self.below) {
            (_, Below::Run) => Err(Error::conflict("an agent's run sends no prompts", "leave it to a person: end your turn")),
            (Some(Through::Web), _) | (Some(Through::Terminal), Below::NoAgent) => Ok(()),
            _ => Err(Error::conflict("only a person sends a session its next prompt", ("send it from the page", "askbox web"))),
        }
    }

    /// Checks that this caller may take back what a person has decided about a workflow's tool calls for good.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the caller may not; its hint says what to do instead.
    pub fn may_revoke(&self) -> Result<()> {
        match self.below {
            Below::NoAgent | Below::Agent => Ok(()),
            Below::Run => {
                let hint = "leave it to a person: end your turn";
                Err(Error::conflict("an agent's run takes back no decision about a tool call", hint))
            }
            Below::Unknown => {
                let hint = ("do it in a terminal", "relaunch approve --revoke");
                Err(Error::conflict("nobody knows who calls: no terminal shows where this process comes from", hint))
            }
        }
    }

    /// Returns an answer with a value, given now.
    pub fn value(&self, value: AnswerValue) -> Answer {
        Answer { through: self.through.clone(), ..Answer::value(value, &self.by, &self.channel) }
    }

    /// Returns an answer that declines the question, given now.
    pub fn declined(&self, note: Option<String>) -> Answer {
        Answer { through: self.through.clone(), ..Answer::declined(note, &self.by, &self.channel) }
    }

    /// Returns an answer that refuses a tool call whenever the workflow makes it, given now.
    pub fn declined_always(&self, note: Option<String>) -> Answer {
        Answer { always: true, ..self.declined(note) }
    }

    /// Returns an answer that refuses the dialog of a live session and ends its turn, given now.
    pub fn declined_with_a_stop(&self, note: Option<String>) -> Answer {
        Answer { stops: true, ..self.declined(note) }
    }

    /// Returns an answer that asks the agent something before the person decides, given now.
    pub fn asking_back(&self, question: String) -> Answer {
        Answer { through: self.through.clone(), ..Answer::asking_back(question, &self.by, &self.channel) }
    }
}

/// Refuses a name that an answer has if no person gave it.
///
/// # Errors
/// [`Error::Usage`] for `default` and `event`, in upper or lower case.
pub fn check_name(by: &str) -> Result<()> {
    let reserved = [BY_DEFAULT, BY_EVENT].into_iter().find(|name| by.trim().eq_ignore_ascii_case(name));
    reserved.map_or(Ok(()), |name| {
        let hint = "give another name: --by NAME";
        Err(Error::usage(format!("`{name}` is no person's name: answers by `{name}` are those that nobody gave"), hint))
    })
}

/// The fields of a run's record that prove the session and the nonce.
#[derive(Deserialize)]
struct Record {
    workflow_id: WorkflowId,
    question_id: QuestionId,
    attempt: u32,
    session_id: SessionId,
    nonce_hash: Option<NonceHash>,
}

/// Returns the session of a run. `None` if the run does not exist, or if the proof is not one of that run.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) or [`Error::Invalid`](crate::error::Error::Invalid) if the record exists and cannot be
/// read now.
pub fn session(mailbox: &Mailbox, AskedIn { run, proof }: &AskedIn) -> Result<Option<SessionId>> {
    let Some(bytes) = disk::if_there(disk::read(&mailbox.attempt(run).join("run.json"), MAX_RUN))? else { return Ok(None) };
    let is_it = |r: &Record| {
        (&r.workflow_id, r.question_id, r.attempt) == (&run.round.workflow, run.round.question, run.attempt)
            && r.nonce_hash == Some(proof.hash())
    };
    Ok(document::json::<Record>(&bytes).filter(is_it).map(|r| r.session_id))
}

/// True if a question was asked in a run of the workflow that it names as its parent, and by the session that it names.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) or [`Error::Invalid`](crate::error::Error::Invalid) if the record of that run exists and
/// cannot be read now.
pub fn is_proven(mailbox: &Mailbox, question: &Question) -> Result<bool> {
    let asked_in = question.asked_in.as_ref().filter(|asked| question.parent.as_ref() == Some(&asked.run.round.workflow));
    let session = asked_in.map(|asked| session(mailbox, asked)).transpose()?.flatten();
    Ok(session.is_some() && session == question.session_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_answers_under_a_name_that_means_nobody() {
        for name in ["default", "event", " Default ", "EVENT"] {
            assert_eq!(Caller::person(name, "ask-answer").unwrap_err().exit_code(), 2, "{name}");
        }
        let ann = Caller::person("ann", "ask-answer").unwrap();
        let answers = [ann.value(AnswerValue::Text("a".into())), ann.declined(None), ann.asking_back("why?".into())];
        assert!(answers.iter().all(|a| a.through == Some(Through::Terminal) && a.by == "ann" && a.is_a_persons()));
    }

    #[test]
    fn only_a_person_sends_a_prompt() {
        let may =
            |through: Through| Below::ALL.map(|below| Caller::new("ann", "web", through.clone(), below).unwrap().may_prompt().is_ok());
        assert_eq!(Below::ALL[2], Below::Run);
        assert_eq!(may(Through::Web), [true, true, false, true]);
        assert_eq!(may(Through::Terminal), [true, false, false, false]);
        assert_eq!(may(Through::Mcp), [false; 4]);
        assert!(Caller::asker().may_prompt().is_err());
    }

    #[test]
    fn only_a_person_makes_a_link_to_the_page() {
        assert_eq!(Below::ALL.map(|below| below.may_make_a_link().is_ok()), [true, false, false, false]);
        assert_eq!(Below::ALL.map(|below| below.may_open_the_page().is_ok()), [true, true, false, true]);
    }
}
