//! The rules of a question with the field `approval`: it has exactly two options, and nothing but a person's choice answers it.

use crate::error::{Error, Result};
use crate::mailbox::documents::asked::{Asked, Kind, OnExpiry};
use crate::mailbox::documents::fields::approval;

/// The longest name of a tool, in bytes.
const LONGEST_NAME: usize = 256;

/// Checks the rules of a question with an approval. Silence, an event and words of one's own approve nothing.
pub(in crate::mailbox::documents) fn check(asked: &Asked) -> Result<()> {
    let Some(approval) = &asked.approval else { return Ok(()) };
    let wrong = |field: &str, problem: &str| Err(Error::invalid(field, problem, "leave the approval to `askbox hook`, which writes it"));
    if approval.tool.is_empty() || approval.tool.len() > LONGEST_NAME || !approval.sha256.is_valid() {
        return wrong("approval", "has a tool or a sha256 that cannot be right");
    }
    // Words of another's could say the contrary of what the option does.
    let is_choice = asked.kind == Some(Kind::Choice) && asked.free_text == Some(false) && asked.options == approval::options();
    if !asked.questions.is_empty() || !is_choice {
        return wrong("approval", "stands in a question that is not the choice between `once` and `workflow` alone, in askbox's own words");
    }
    if asked.default.is_some() || asked.until.is_some() || asked.on_expiry == Some(OnExpiry::Default) {
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
    use crate::mailbox::documents::question::Question;

    fn asked() -> Question {
        let mut question = Question::new("w".parse().unwrap(), "?");
        question.asked.kind = Some(Kind::Choice);
        question.asked.options = options();
        question.asked.free_text = Some(false);
        question.asked.approval = Some(Approval { tool: "Bash".into(), sha256: CallHash::of_bytes(&[7; 32]) });
        question
    }

    #[test]
    fn a_question_that_silence_or_an_event_could_answer_is_no_approval() {
        assert!(check(&asked().asked).is_ok());
        let cases: [fn(&mut Question); 7] = [
            |q| q.asked.options.0[0].description = "REFUSE this call".into(),
            |q| q.asked.default = Some(AnswerValue::Text("once".into())),
            |q| q.asked.on_expiry = Some(OnExpiry::Default),
            |q| q.asked.free_text = None,
            |q| q.asked.kind = None,
            |q| q.asked.options.0.truncate(1),
            |q| q.asked.approval.as_mut().unwrap().sha256 = serde_json::from_str::<CallHash>("\"x\"").unwrap(),
        ];
        for change in cases {
            let mut question = asked();
            change(&mut question);
            assert!(check(&question.asked).is_err(), "{question:?}");
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
