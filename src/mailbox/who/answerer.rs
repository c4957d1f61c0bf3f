//! Who gives an answer: the fields `by`, `channel` and `through` of every answer that a program takes from a person.

use crate::error::{Error, Result};
use crate::mailbox::documents::answer::{Answer, AnswerValue, BY_DEFAULT, BY_EVENT};
use crate::mailbox::documents::checks::check_answer::Given;
use crate::mailbox::documents::fields::through::Through;
use crate::mailbox::documents::question::Question;
#[cfg(feature = "relaunch")]
use crate::mailbox::trust::{Signer, signed_bytes};

/// Somebody who answers, through one program.
#[derive(Debug, Clone)]
pub struct Answerer {
    by: String,
    channel: String,
    through: Option<Through>,
    given: Given,
    #[cfg(feature = "relaunch")]
    signer: Option<Signer>,
}

impl Answerer {
    /// A person, whose program can ask again.
    ///
    /// # Errors
    /// [`Error::Usage`] for a name that says that nobody answered.
    pub fn person(by: impl Into<String>, channel: impl Into<String>, through: Through) -> Result<Self> {
        let (by, channel) = (by.into(), channel.into());
        check_name(&by)?;
        Ok(Self { through: Some(through), given: Given::ByPerson, ..Self::named(by, channel) })
    }

    /// The asker of the question, who has said beforehand what counts without a person: a default or an event.
    #[must_use]
    pub fn asker() -> Self {
        Self::named(BY_DEFAULT.into(), "timer".into())
    }

    fn named(by: String, channel: String) -> Self {
        Self {
            by,
            channel,
            through: None,
            given: Given::ByAsker,
            #[cfg(feature = "relaunch")]
            signer: None,
        }
    }

    /// With signed answers, if there is a signer.
    #[cfg(feature = "relaunch")]
    #[must_use]
    pub fn signing(self, signer: Option<Signer>) -> Self {
        Self { signer, ..self }
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

    /// The same for a question of another machine, which has told the hash of what it keeps to itself.
    ///
    /// # Errors
    /// If it cannot be signed.
    #[cfg(feature = "relaunch")]
    pub fn signed_for_another_machine(&self, question: &Question, of_its_machine: Option<&str>, answer: Answer) -> Result<Answer> {
        let (Some(signer), Some(of_its_machine)) = (&self.signer, of_its_machine) else { return self.signed(question, answer) };
        let signature = signer.sign(&signed_bytes::with(question, of_its_machine, &answer)?)?;
        Ok(Answer { signature: Some(signature), ..answer })
    }

    /// With values that the person has said are their own words, even if they are close to an option.
    #[must_use]
    pub fn in_own_words(self) -> Self {
        Self { given: Given::InOwnWords, ..self }
    }

    /// How the values are given.
    pub(in crate::mailbox) fn given(&self) -> Given {
        self.given
    }

    /// Who answers.
    #[must_use]
    pub fn by(&self) -> &str {
        &self.by
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
            assert_eq!(Answerer::person(name, "ask-answer", Through::Terminal).unwrap_err().exit_code(), 2, "{name}");
        }
        let ann = Answerer::person("ann", "ask-answer", Through::Terminal).unwrap();
        let answers = [ann.value(AnswerValue::Text("a".into())), ann.declined(None), ann.asking_back("why?".into())];
        assert!(answers.iter().all(|a| a.through == Some(Through::Terminal) && a.by == "ann" && a.is_a_persons()));
    }
}
