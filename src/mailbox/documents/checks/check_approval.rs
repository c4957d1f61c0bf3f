//! The rules of a question with the field `approval`: it has exactly two options, and nothing but a person's choice answers it.

use crate::error::{Error, Result};
use crate::mailbox::documents::fields::approval;
use crate::mailbox::documents::question::{Kind, OnExpiry, Question};

/// The longest name of a tool, in bytes.
const LONGEST_NAME: usize = 256;

/// Checks the rules of a question with an approval. Silence, an event and words of one's own approve nothing.
pub(in crate::mailbox::documents) fn check(question: &Question) -> Result<()> {
    let Some(asked) = &question.approval else { return Ok(()) };
    let wrong = |field: &str, problem: &str| Err(Error::invalid(field, problem, "leave the approval to `askbox hook`, which writes it"));
    if asked.tool.is_empty() || asked.tool.len() > LONGEST_NAME || !asked.sha256.is_valid() {
        return wrong("approval", "has a tool or a sha256 that cannot be right");
    }
    // Words of another's could say the contrary of what the option does.
    let is_choice = question.kind == Some(Kind::Choice) && question.free_text == Some(false) && question.options == approval::options();
    if question.is_batch() || !is_choice {
        return wrong("approval", "stands in a question that is not the choice between `once` and `workflow` alone, in askbox's own words");
    }
    if question.default.is_some() || question.until.is_some() || question.on_expiry == Some(OnExpiry::Default) {
        return wrong("approval", "stands beside a default or an event, but only a person approves");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::documents::answer::{Answer, AnswerValue};
    use crate::mailbox::documents::checks::check_answer::{self, Given};
    use crate::mailbox::documents::fields::approval::{Approval, CallHash, options};

    fn asked() -> Question {
        let mut question = Question::new("w".parse().unwrap(), "?");
        question.kind = Some(Kind::Choice);
        question.options = options();
        question.free_text = Some(false);
        question.approval = Some(Approval { tool: "Bash".into(), sha256: CallHash::of_bytes(&[7; 32]) });
        question
    }

    #[test]
    fn a_question_that_silence_or_an_event_could_answer_is_no_approval() {
        assert!(check(&asked()).is_ok());
        let cases: [fn(&mut Question); 7] = [
            |q| q.options.0[0].description = "REFUSE this call".into(),
            |q| q.default = Some(AnswerValue::Text("once".into())),
            |q| q.on_expiry = Some(OnExpiry::Default),
            |q| q.free_text = None,
            |q| q.kind = None,
            |q| q.options.0.truncate(1),
            |q| q.approval.as_mut().unwrap().sha256 = serde_json::from_str::<CallHash>("\"x\"").unwrap(),
        ];
        for change in cases {
            let mut question = asked();
            change(&mut question);
            assert!(check(&question).is_err(), "{question:?}");
        }
    }

    #[test]
    fn only_the_very_words_once_and_workflow_approve() {
        let reply =
            |words: &str, given| check_answer::check(&asked(), Answer::value(AnswerValue::Text(words.into()), "ann", "hand"), given);
        for given in [Given::ByPerson, Given::InOwnWords] {
            assert!(reply("once", given).is_ok() && reply("workflow", given).is_ok());
            for words in ["yes", "Once", " once", "ok, once", "o", "1", "allow exactly this call, one time", "true"] {
                assert!(reply(words, given).is_err(), "{words}");
            }
        }
        let list = Answer::value(AnswerValue::List(vec!["once".into()]), "ann", "hand");
        assert!(check_answer::check(&asked(), list, Given::InOwnWords).is_err());
    }
}
