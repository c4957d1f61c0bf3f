//! What an answer must say before it is accepted, and its normal form. Errors name the field and say how to correct it.

use serde_json::Map;

use crate::error::{Error, Result};
use crate::mailbox::documents::answer::{Answer, AnswerValue, MAX_ANSWER, Outcome};
use crate::mailbox::documents::question::{Kind, Part, Question};

/// Checks a reply against its question and brings the value into its normal form.
pub fn check(question: &Question, mut reply: Answer) -> Result<Answer> {
    match (reply.outcome, reply.value.take()) {
        (Outcome::Declined, _) => {}
        (Outcome::Answered, Some(value)) => reply.value = Some(fits(question, &value)?),
        (Outcome::Answered, None) => return Err(Error::invalid("answer.value", "is missing", "write a value, or outcome `declined`")),
    }
    Ok(reply)
}

/// The normal form of a value that fits the question.
pub(super) fn fits(question: &Question, value: &AnswerValue) -> Result<AnswerValue> {
    if value.to_text().len() > MAX_ANSWER {
        return Err(Error::invalid(
            "answer",
            format!("is longer than {MAX_ANSWER} bytes"),
            "put the text into a file and answer with its path",
        ));
    }
    if !question.is_batch() {
        let part = question.parts().remove(0);
        return match value {
            AnswerValue::Batch(_) => Err(Error::invalid("answer", "is an object, but one question was asked", "answer with one value")),
            value => one(&part, value, "answer"),
        };
    }
    let AnswerValue::Batch(map) = value else {
        let keys: Vec<_> = question.questions.iter().enumerate().map(|(n, p)| p.key(n)).collect();
        return Err(Error::invalid(
            "answer",
            format!("is one value, but {} questions were asked", keys.len()),
            format!(
                "answer each, as in: {}",
                keys.iter().map(|k| format!("{}=VALUE", crate::text::shell_quote(k))).collect::<Vec<_>>().join(" ")
            ),
        ));
    };
    let mut out = Map::new();
    for (n, part) in question.questions.iter().enumerate() {
        let key = part.key(n);
        // AskUserQuestion keys its answers by the question's text.
        let Some(given) = map.get(&key).or_else(|| map.get(&part.question)) else {
            return Err(Error::invalid(
                format!("answer.{key}"),
                "is missing",
                format!("answer it too: {}=VALUE", crate::text::shell_quote(&key)),
            ));
        };
        let field = format!("answer.{key}");
        let given = AnswerValue::from_json(given.clone()).map_err(|e| Error::invalid(&field, e, "answer with text"))?;
        if matches!(given, AnswerValue::Batch(_)) {
            return Err(Error::invalid(field, "is an object", "answer with text or a list"));
        }
        out.insert(key, one(part, &given, &field)?.to_json());
    }
    let known = |k: &String| question.questions.iter().enumerate().any(|(n, p)| p.key(n) == *k || p.question == *k);
    if let Some(stray) = map.keys().find(|k| !known(k)) {
        return Err(Error::invalid(
            format!("answer.{}", crate::text::excerpt(stray, 40)),
            "was not asked",
            "leave it out, or use one of the ids that `ask-answer show` lists",
        ));
    }
    Ok(AnswerValue::Batch(out))
}

fn one(part: &Part, value: &AnswerValue, field: &str) -> Result<AnswerValue> {
    let text = |v: &AnswerValue| match v {
        AnswerValue::Text(s) => Ok(s.clone()),
        AnswerValue::List(items) if items.len() == 1 => Ok(items[0].clone()),
        _ => Err(Error::invalid(field, "is a list, but one value was asked for", "answer with one value")),
    };
    let shown = |s: &str| crate::text::excerpt(s, 60);
    match part.kind() {
        Kind::Choice => {
            let given = text(value)?;
            if part.options.get(&given).is_some() {
                return Ok(AnswerValue::Text(given));
            }
            free(part, &given, field)?;
            Ok(AnswerValue::Text(given))
        }
        Kind::MultiChoice => {
            let items = match value {
                AnswerValue::List(items) => items.clone(),
                AnswerValue::Text(s) if part.options.get(s).is_some() => vec![s.clone()],
                // `a, b` where every piece is an option; else it is free text.
                AnswerValue::Text(s) => {
                    let pieces: Vec<String> = s.split(',').map(|p| p.trim().to_owned()).collect();
                    if pieces.iter().all(|p| part.options.get(p).is_some()) { pieces } else { vec![s.clone()] }
                }
                AnswerValue::Batch(_) => return Err(Error::invalid(field, "is an object", "answer with a list of option keys")),
            };
            items.iter().filter(|item| part.options.get(item).is_none()).try_for_each(|item| free(part, item, field))?;
            Ok(AnswerValue::List(items))
        }
        Kind::YesNo => match text(value)?.trim().to_lowercase().as_str() {
            "yes" | "y" | "true" => Ok(AnswerValue::Text("yes".into())),
            "no" | "n" | "false" => Ok(AnswerValue::Text("no".into())),
            other => Err(Error::invalid(field, format!("`{}` is neither yes nor no", shown(other)), "answer yes or no")),
        },
        Kind::Number => {
            let given = text(value)?.trim().to_owned();
            match given.parse::<f64>() {
                Ok(n) if n.is_finite() => Ok(AnswerValue::Text(given)),
                _ => Err(Error::invalid(field, format!("`{}` is not a number", shown(&given)), "answer with a number such as 42 or 0.5")),
            }
        }
        Kind::Text => Ok(AnswerValue::Text(text(value)?)),
    }
}

fn free(part: &Part, given: &str, field: &str) -> Result<()> {
    if given.trim().is_empty() {
        return Err(Error::invalid(field, "is empty", format!("choose one of: {}", part.options.keys())));
    }
    if part.free_text == Some(false) {
        return Err(Error::invalid(
            field,
            format!("`{}` is none of the options", crate::text::excerpt(given, 60)),
            format!("choose one of: {}", part.options.keys()),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::documents::check_question;

    fn asked(json: &str) -> Question {
        serde_json::from_str(json).unwrap()
    }

    fn given(question: &Question, json: &str) -> Result<String> {
        fits(question, &serde_json::from_str(json).unwrap()).map(|v| v.to_json().to_string())
    }

    #[test]
    fn a_choice_takes_an_option_or_free_text_unless_the_asker_says_not() {
        let open = asked(r#"{"question":"?","workflow_id":"w","options":{"a":"A","b":"B"}}"#);
        assert_eq!(given(&open, r#""a""#).unwrap(), r#""a""#);
        assert_eq!(given(&open, r#""something else""#).unwrap(), r#""something else""#);
        let strict = asked(r#"{"question":"?","workflow_id":"w","options":{"a":"A"},"free_text":false}"#);
        assert!(given(&strict, r#""x""#).unwrap_err().hint().contains("choose one of: a"));
    }

    #[test]
    fn yes_no_and_numbers_are_what_they_say() {
        let yes_no = asked(r#"{"question":"?","workflow_id":"w","type":"yes_no"}"#);
        assert_eq!(given(&yes_no, "true").unwrap(), r#""yes""#);
        assert!(given(&yes_no, r#""maybe""#).is_err());
        let number = asked(r#"{"question":"?","workflow_id":"w","type":"number"}"#);
        assert_eq!(given(&number, "42").unwrap(), r#""42""#);
        assert!(given(&number, r#""NaN""#).is_err());
    }

    #[test]
    fn a_batch_needs_every_answer_and_nothing_else() {
        let batch = asked(
            r#"{"workflow_id":"w","questions":[{"question":"Which DB?","options":["pg","sqlite"]},{"id":"n","question":"How many?","type":"number"}]}"#,
        );
        check_question::check(&batch).unwrap();
        assert_eq!(given(&batch, r#"{"Which DB?":"pg","n":3}"#).unwrap(), r#"{"q1":"pg","n":"3"}"#);
        assert!(given(&batch, r#"{"q1":"pg"}"#).unwrap_err().to_string().contains("answer.n: is missing"));
        assert!(given(&batch, r#"{"q1":"pg","n":3,"z":1}"#).unwrap_err().to_string().contains("was not asked"));
        assert!(given(&batch, r#""pg""#).is_err());
    }

    #[test]
    fn a_multi_choice_splits_a_list_of_options_but_not_free_text() {
        let multi = asked(r#"{"workflow_id":"w","question":"?","type":"multi_choice","options":["a","b"]}"#);
        assert_eq!(given(&multi, r#""a, b""#).unwrap(), r#"["a","b"]"#);
        assert_eq!(given(&multi, r#""well, neither""#).unwrap(), r#"["well, neither"]"#);
    }
}
