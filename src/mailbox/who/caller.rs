//! The process that acts, described once: in whose name it decides, through what, and what is above it.
//!
//! A program makes one [`Caller`] when it starts and hands it down. The transitions ask it, under the workflow's lock, what it may decide;
//! no surface has rules of its own. `docs/architecture.md` holds the whole table, which a test tries cell by cell.
//!
//! # Limitations
//! A process of the same user that wants to hide where it comes from can do so: it may fake a name, a parent and a terminal.

use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::documents::answer::{Answer, AnswerValue, BY_DEFAULT, BY_EVENT};
use crate::mailbox::documents::fields::through::Through;
use crate::mailbox::documents::question::Question;
#[cfg(feature = "relaunch")]
use crate::mailbox::trust::{Signer, signed_bytes};

pub use crate::platform::ancestry::Below;

impl Below {
    /// Through what a command of this process decides.
    #[must_use]
    pub fn through(self) -> Through {
        match self {
            Self::NoAgent => Through::Terminal,
            Self::Agent | Self::Run => Through::Agent,
            Self::Unknown => Through::File,
        }
    }

    /// Opening the page is a person's act: who reads a page answers as a person.
    ///
    /// # Errors
    /// [`Error::Conflict`] in an agent's run.
    pub fn may_open_the_page(self) -> Result<()> {
        match self {
            Self::Run => Err(Error::conflict("the page is for people, and this is an agent's run", "leave it to a person: end your turn")),
            Self::NoAgent | Self::Agent | Self::Unknown => Ok(()),
        }
    }

    /// Making a link to the page: whoever has the link answers as a person.
    ///
    /// # Errors
    /// [`Error::Conflict`] below an agent, and where nobody knows what is above.
    pub fn may_make_a_link(self) -> Result<()> {
        let hint = "make it in a terminal with no agent above it: askbox web link";
        match self {
            Self::NoAgent => Ok(()),
            Self::Run => self.may_open_the_page(),
            Self::Agent => Err(Error::conflict("a link is for a person, and this is a command of an agent", hint)),
            Self::Unknown => {
                Err(Error::conflict("a link is for a person, and this process has neither a parent that is known nor a terminal", hint))
            }
        }
    }
}

/// A process that decides, in somebody's name.
#[derive(Debug, Clone)]
pub struct Caller {
    by: String,
    channel: String,
    /// `None` for the asker itself.
    through: Option<Through>,
    below: Below,
    #[cfg(feature = "relaunch")]
    signer: Option<Signer>,
}

/// What a question asks a person to decide, as far as it matters who may decide it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matter {
    /// Something that an agent wants to know.
    Question,
    /// Whether a tool call may be made.
    Approval,
    /// What an MCP server asked of the agent's user.
    Consent,
}

impl Matter {
    /// Every value, for tables.
    pub const ALL: [Self; 3] = [Self::Question, Self::Approval, Self::Consent];

    /// What this question is about.
    #[must_use]
    pub fn of(question: &Question) -> Self {
        match question {
            question if question.asked.approval.is_some() => Self::Approval,
            question if question.asked.elicited_by.is_some() => Self::Consent,
            _ => Self::Question,
        }
    }

    fn asks(self, workflow: &WorkflowId) -> String {
        match self {
            Self::Question => format!("{workflow} asks a question"),
            Self::Approval => format!("{workflow} asks whether a tool call may be made"),
            Self::Consent => format!("{workflow} asks for what an MCP server wants of its user"),
        }
    }
}

impl Caller {
    /// Somebody who decides through this; `by` is their name, `channel` the program.
    ///
    /// # Errors
    /// [`Error::Usage`] for a name that says that nobody answered.
    pub fn new(by: impl Into<String>, channel: impl Into<String>, through: Through, below: Below) -> Result<Self> {
        let by = by.into();
        check_name(&by)?;
        Ok(Self { through: Some(through), ..Self::unnamed(by, channel.into(), below) })
    }

    /// A person who decides in a program of their own, with no agent above it.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn person(by: impl Into<String>, channel: impl Into<String>) -> Result<Self> {
        Self::new(by, channel, Through::Terminal, Below::NoAgent)
    }

    /// The asker of the question, who has said beforehand what counts without a person: a default or an event.
    #[must_use]
    pub fn asker() -> Self {
        Self::unnamed(BY_DEFAULT.into(), "timer".into(), Below::NoAgent)
    }

    fn unnamed(by: String, channel: String, below: Below) -> Self {
        Self {
            by,
            channel,
            through: None,
            below,
            #[cfg(feature = "relaunch")]
            signer: None,
        }
    }

    /// With signed answers, if there is a signer and this caller may sign: what a person does at a terminal or on the page, and nothing else.
    #[cfg(feature = "relaunch")]
    #[must_use]
    pub fn signing(self, signer: Option<Signer>) -> Self {
        let may_sign = match (&self.through, self.below) {
            (_, Below::Run) => false,
            (Some(Through::Terminal), below) => below == Below::NoAgent,
            (Some(Through::Web), _) => true,
            _ => false,
        };
        Self { signer: signer.filter(|_| may_sign), ..self }
    }

    /// Whether the answers are signed.
    pub(in crate::mailbox) fn signs(&self) -> bool {
        #[cfg(feature = "relaunch")]
        return self.signer.is_some();
        #[cfg(not(feature = "relaunch"))]
        false
    }

    /// The complete answer to a question that has its id, signed if the answers are. May take minutes: somebody may have to touch a token.
    pub(in crate::mailbox) fn signed(&self, question: &Question, answer: Answer) -> Result<Answer> {
        #[cfg(feature = "relaunch")]
        if let Some(signer) = &self.signer {
            let signature = signer.sign(&signed_bytes::of(question, &answer)?)?;
            return Ok(Answer { signature: Some(signature), ..answer });
        }
        let _ = question;
        Ok(answer)
    }

    /// The complete answer to a question of another machine, which has told the hash of what it keeps to itself; signed if the answers are.
    ///
    /// # Errors
    /// If it cannot be signed.
    #[cfg(feature = "relaunch")]
    pub fn signed_for_another_machine(&self, question: &Question, for_its_machine: Option<&str>, answer: Answer) -> Result<Answer> {
        let (Some(signer), Some(for_its_machine)) = (&self.signer, for_its_machine) else { return self.signed(question, answer) };
        let signature = signer.sign(&signed_bytes::with(question, for_its_machine, &answer)?)?;
        Ok(Answer { signature: Some(signature), ..answer })
    }

    /// Who decides.
    #[must_use]
    pub fn by(&self) -> &str {
        &self.by
    }

    /// Whether this caller may decide about this question. Anybody may answer what an agent wants to know; a permission and a consent are a
    /// person's.
    ///
    /// # Errors
    /// [`Error::Conflict`] with what to do instead.
    pub fn may_decide(&self, question: &Question) -> Result<()> {
        let matter = Matter::of(question);
        if matter == Matter::Question {
            return Ok(());
        }
        let (asks, id) = (matter.asks(&question.workflow_id), &question.workflow_id);
        match (&self.through, self.below) {
            (_, Below::Run) => {
                Err(Error::conflict(format!("{asks}, and an agent's run answers no such question"), "leave it to a person: end your turn"))
            }
            (None, _) => {
                Err(Error::conflict(format!("{asks}, and silence decides no such question"), format!("see: ask-answer show {id}")))
            }
            (Some(Through::Mcp | Through::Hook), _) => Err(Error::conflict(
                format!("{asks}: no agent may answer that"),
                format!("ask your user to answer it: ask-answer show {id}"),
            )),
            (Some(Through::Web | Through::Message), _) => Ok(()),
            (Some(_), Below::Unknown) => Err(Error::conflict(
                format!("{asks}, and nobody knows who calls: this process has neither a parent that is known nor a terminal"),
                format!("answer it in a terminal, or on the page: ask-answer show {id}"),
            )),
            (Some(Through::Terminal | Through::Agent | Through::File | Through::Other(_)), Below::NoAgent | Below::Agent) => Ok(()),
        }
    }

    /// An answer with a value, given now.
    #[must_use]
    pub fn value(&self, value: AnswerValue) -> Answer {
        Answer { through: self.through.clone(), ..Answer::value(value, &self.by, &self.channel) }
    }

    /// A reply that declines, given now.
    #[must_use]
    pub fn declined(&self, note: Option<String>) -> Answer {
        Answer { through: self.through.clone(), ..Answer::declined(note, &self.by, &self.channel) }
    }

    /// A reply that asks the agent something before the person decides, given now.
    #[must_use]
    pub fn asking_back(&self, question: String) -> Answer {
        Answer { through: self.through.clone(), ..Answer::asking_back(question, &self.by, &self.channel) }
    }
}

/// Refuses a name by which an answer says that no person gave it.
///
/// # Errors
/// [`Error::Usage`] for `default` and `event`, in any case.
pub fn check_name(by: &str) -> Result<()> {
    let reserved = [BY_DEFAULT, BY_EVENT].into_iter().find(|name| by.trim().eq_ignore_ascii_case(name));
    reserved.map_or(Ok(()), |name| {
        Err(Error::usage(
            format!("`{name}` is no person's name: answers by `{name}` are those that nobody gave"),
            "give another name: --by NAME",
        ))
    })
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
    fn only_a_person_makes_a_link_to_the_page() {
        assert_eq!(Below::ALL.map(|below| below.may_make_a_link().is_ok()), [true, false, false, false]);
        assert_eq!(Below::ALL.map(|below| below.may_open_the_page().is_ok()), [true, true, false, true]);
    }
}
