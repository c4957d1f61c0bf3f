//! Checks an answer before it is accepted, and brings it into its normal form. Errors name the field and say how to correct it.
//!
//! Checks an answer that allows a tool call: the text that the person puts in place of the editable one, and the words beside it. Also
//! checks a refusal that ends the turn of a live session, and an answer to the form of a server there.

use serde_json::{Map, Value};

use crate::documents::answer::MAX_ANSWER;
use crate::documents::checks::match_option::{Meaning, meaning};
use crate::documents::fields::approval::{EDITED, LONGEST_EDITED};
use crate::documents::fields::range::NumberProblem;
use crate::documents::programs::Facts;
use crate::error::Hint;
use crate::text::{self, excerpt, is_blank, shell_quote};
use crate::{Answer, AnswerValue, Choice, Error, Kind, Outcome, Part, Question, Range, Result, spelling};

/// How a value was given. It decides what happens to a value that is empty or close to an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// A person gave it, and the program can ask again. A value that is close to an option, but not equal to it, is refused.
    ByPerson,
    /// A person says that these are their own words, or wrote them into a file: askbox cannot ask the writer of a file again. A
    /// value that is close to an option is accepted, unless the question allows only its options.
    InOwnWords,
    /// The asker gave it as the question's default. It may be empty, too.
    ByAsker,
}

/// Checks a reply against its question, and returns it with its value in the normal form: for an option its key, for a yes or no
/// `yes` or `no`.
///
/// # Errors
/// [`Error::Invalid`] with the field `answer` (or `answer.ID` in a batch) if the value is missing, empty, too long, or does not fit
/// the question, or if `always` stands in a refusal that is not about a tool call.
pub fn check(question: &Question, mut reply: Answer, given: Given) -> Result<Answer> {
    words(question, &reply)?;
    match (reply.outcome, reply.value.take()) {
        (Outcome::Declined, _) if reply.always && question.approval.is_none() => {
            return Err(Error::invalid("answer.always", "refuses a tool call, and no call is asked about", "leave it out"));
        }
        (Outcome::Declined, _) if reply.always && question.live.is_some() => {
            let fix = "decline this one call";
            return Err(Error::invalid("answer.always", "has no meaning for a session's dialog, which is one call", fix));
        }
        (Outcome::Declined, _) if reply.stops => {
            stop(question, &reply)?;
            reply.edited = None;
        }
        (Outcome::Declined, _) => reply.edited = None,
        (Outcome::Answered, Some(AnswerValue::Text(word))) if word == EDITED && question.approval.is_some() => {
            edited(question, reply.edited.as_deref())?;
            reply.value = Some(AnswerValue::Text(word));
        }
        (Outcome::Answered, Some(_)) if reply.edited.is_some() => {
            let fix = "leave it out; it changes a tool call, beside the value `edited`";
            return Err(Error::invalid("answer.edited", "stands beside another value", fix));
        }
        (Outcome::Answered, Some(value)) => reply.value = Some(fits(question, &value, given)?),
        (Outcome::Answered, None) => return Err(Error::invalid("answer.value", "is missing", "write a value, or outcome `declined`")),
    }
    Ok(reply)
}

/// Returns the normal form of a value that fits the question.
pub(in crate::documents) fn fits(question: &Question, value: &AnswerValue, given: Given) -> Result<AnswerValue> {
    if value.to_text().len() > MAX_ANSWER {
        let fix = "put the text into a file and answer with its path";
        return Err(Error::invalid("answer", format!("is longer than {MAX_ANSWER} bytes"), fix));
    }
    if question.approval.is_some() && !matches!(value, AnswerValue::Text(words) if question.options.0.iter().any(|c| c.key == *words)) {
        let words = excerpt(&value.to_text(), 60);
        let words_of = format!("write exactly one of these: {}; or refuse it", question.options.keys());
        let fix = (words_of, format!("ask-answer decline {}", question.workflow_id));
        return Err(Error::invalid("answer", format!("`{words}` is no approval"), fix));
    }
    if !question.is_batch() {
        let part = question.parts().remove(0);
        return match value {
            AnswerValue::Batch(_) => Err(Error::invalid("answer", "is an object, but one question was asked", "answer with one value")),
            value => Asked { question, part: &part, field: "answer", given }.fits(value),
        };
    }
    let AnswerValue::Batch(map) = value else {
        let keys: Vec<_> = question.questions.iter().enumerate().map(|(n, p)| p.key(n)).collect();
        let fix = format!("answer each, as in: {}", keys.iter().map(|k| format!("{}=VALUE", shell_quote(k))).collect::<Vec<_>>().join(" "));
        return Err(Error::invalid("answer", format!("is one value, but {} questions were asked", keys.len()), fix));
    };
    answers_all(question, map)?;
    let (mut out, mut used) = (Map::new(), Vec::new());
    for (n, part) in question.questions.iter().enumerate() {
        let key = part.key(n);
        let Some((name, value)) = entry_of_part(map, &key, part) else { continue };
        used.push(name);
        let field = format!("answer.{key}");
        let value = AnswerValue::from_json(value.clone()).map_err(|e| Error::invalid(&field, e, "answer with text"))?;
        if matches!(value, AnswerValue::Batch(_)) {
            return Err(Error::invalid(field, "is an object", "answer with text or a list"));
        }
        out.insert(key, Asked { question, part, field: &field, given }.fits(&value)?.to_json());
    }
    if let Some(stray) = map.keys().find(|name| !used.contains(name)) {
        let mut asked = question.questions.iter().enumerate();
        let is_twice = asked.any(|(n, part)| spelling::same(&part.key(n), stray) || spelling::same(&part.question, stray));
        return Err(Error::invalid(
            format!("answer.{}", excerpt(stray, 40)),
            if is_twice { "answers a question that has an answer already" } else { "was not asked" },
            ("leave it out, or use one of its ids", format!("ask-answer show {}", question.workflow_id)),
        ));
    }
    Ok(AnswerValue::Batch(out))
}

/// Refuses a batch's answer that leaves questions out. Names all of them.
fn answers_all(question: &Question, map: &Map<String, Value>) -> Result<()> {
    let keyed = question.questions.iter().enumerate().map(|(n, part)| (part.key(n), part));
    let missing: Vec<String> = keyed.filter(|(key, part)| entry_of_part(map, key, part).is_none()).map(|(key, _)| key).collect();
    let pairs: Vec<_> = missing.iter().map(|key| format!("{}=VALUE", shell_quote(key))).collect();
    match missing.as_slice() {
        [] => Ok(()),
        [one] => Err(Error::invalid(format!("answer.{one}"), "is missing", format!("answer it too: {}", pairs.concat()))),
        several => {
            let problem = format!("leaves {} questions out", several.len());
            Err(Error::invalid("answer", problem, format!("answer them too: {}", pairs.join(" "))))
        }
    }
}

/// Returns the answer to one question of a batch. `AskUserQuestion` keys its answers by the question's text.
fn entry_of_part<'a>(map: &'a Map<String, Value>, key: &str, part: &Part) -> Option<(&'a String, &'a Value)> {
    [key, &part.question].into_iter().find_map(|name| entry(map, name))
}

/// Returns each element once, in the order of the first time.
fn without_repetitions(given: Vec<String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::with_capacity(given.len());
    given.into_iter().for_each(|element| {
        if !once.contains(&element) {
            once.push(element);
        }
    });
    once
}

/// Returns the entry with this name, else the one whose name is the same text in another form of Unicode.
fn entry<'a>(map: &'a Map<String, Value>, name: &str) -> Option<(&'a String, &'a Value)> {
    map.get_key_value(name).or_else(|| map.iter().find(|(given, _)| spelling::same(given, name)))
}

/// One question, and how its value was given.
struct Asked<'a> {
    question: &'a Question,
    part: &'a Part,
    /// The name of the value in messages.
    field: &'a str,
    given: Given,
}

impl Asked<'_> {
    fn fits(&self, value: &AnswerValue) -> Result<AnswerValue> {
        if value.is_blank() && self.given != Given::ByAsker {
            let decline = ("write an answer; to answer nothing, decline it", format!("ask-answer decline {}", self.question.workflow_id));
            return Err(self.error("is empty", decline));
        }
        match self.part.kind() {
            Kind::Choice => self.element(&self.text(value)?).map(AnswerValue::Text),
            Kind::MultiChoice => self.elements(value).map(|given| AnswerValue::List(without_repetitions(given))),
            Kind::YesNo => match self.text(value)?.trim().to_lowercase().as_str() {
                "yes" | "y" | "true" => Ok(AnswerValue::Text("yes".into())),
                "no" | "n" | "false" => Ok(AnswerValue::Text("no".into())),
                other => Err(self.error(format!("`{}` is neither yes nor no", excerpt(other, 60)), yes_or_no(other))),
            },
            Kind::Number => {
                let text = self.text(value)?;
                let text = Range::without_unit(self.part.range.as_ref(), &text).to_owned();
                match NumberProblem::of(&text, self.part.range.as_ref()) {
                    None => Ok(AnswerValue::Text(text)),
                    Some(NumberProblem { problem, wanted }) => Err(self.error(problem, format!("answer with {wanted}"))),
                }
            }
            Kind::Text => Ok(AnswerValue::Text(self.text(value)?)),
        }
    }

    /// Returns the one text of a value. A `\r` at its end is what remains of a line of Windows.
    fn text(&self, value: &AnswerValue) -> Result<String> {
        match value {
            AnswerValue::Text(text) => Ok(without_returns(text).to_owned()),
            AnswerValue::List(items) if items.len() == 1 => Ok(without_returns(&items[0]).to_owned()),
            _ => Err(self.error("is a list, but one value was asked for", "answer with one value")),
        }
    }

    fn elements(&self, value: &AnswerValue) -> Result<Vec<String>> {
        let text = match value {
            AnswerValue::List(items) => return items.iter().map(|item| self.element(item)).collect(),
            AnswerValue::Text(text) => text,
            AnswerValue::Batch(_) => return Err(self.error("is an object", "answer with a list of option keys")),
        };
        let means = |piece: &str| meaning(&self.part.options, piece);
        if let Meaning::Option(choice) = means(text) {
            return Ok(vec![choice.key.clone()]);
        }
        // The text may be `a, b`, where every piece is an option, or perhaps meant as one. Otherwise the whole text is one element.
        let pieces: Vec<&str> = text.split(',').filter(|piece| !piece.trim().is_empty()).collect();
        if pieces.len() > 1 {
            if self.given == Given::ByPerson && !pieces.iter().any(|piece| means(piece) == Meaning::OwnWords) {
                return pieces.iter().map(|piece| self.element(piece)).collect();
            }
            let keys = pieces.iter().map(|piece| match means(piece) {
                Meaning::Option(choice) => Some(choice.key.clone()),
                Meaning::NearMiss(_) | Meaning::OwnWords => None,
            });
            if let Some(keys) = keys.collect() {
                return Ok(keys);
            }
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.len() > 1 && self.given == Given::ByPerson && words.iter().all(|word| matches!(means(word), Meaning::Option(_))) {
            return Err(
                self.error(format!("`{}` has no commas", excerpt(text, 60)), format!("did you mean `{}`?", excerpt(&words.join(","), 60)))
            );
        }
        Ok(vec![self.element(text)?])
    }

    /// Returns the key of one option, or the person's own words.
    fn element(&self, words: &str) -> Result<String> {
        let options = &self.part.options;
        if is_blank(words) {
            return Err(self.error("is empty", format!("choose one of: {}", options.keys())));
        }
        let own_words = self.part.free_text != Some(false);
        match meaning(options, words) {
            Meaning::Option(choice) => Ok(choice.key.clone()),
            Meaning::NearMiss(near) if self.given == Given::ByPerson || !own_words => Err(self.near_miss(words, &near, own_words)),
            Meaning::OwnWords if !own_words => {
                Err(self.error(format!("`{}` is none of the options", excerpt(words, 60)), format!("choose one of: {}", options.keys())))
            }
            Meaning::NearMiss(_) | Meaning::OwnWords => Ok(without_returns(words).to_owned()),
        }
    }

    fn near_miss(&self, words: &str, near: &[&Choice], own_words: bool) -> Error {
        let keys: Vec<_> = near.iter().take(3).map(|c| format!("`{}`", excerpt(&c.key, 40))).collect();
        let fix = if keys.is_empty() {
            format!("choose one of: {}", self.part.options.keys())
        } else {
            format!("did you mean {}?", keys.join(" or "))
        };
        let or = if own_words { " (add --text if these are the person's own words)" } else { "" };
        self.error(format!("`{}` is none of the options", excerpt(words, 60)), fix + or)
    }

    fn error(&self, problem: impl Into<String>, fix: impl Into<Hint>) -> Error {
        Error::invalid(self.field, problem, fix)
    }
}

fn without_returns(text: &str) -> &str {
    text.trim_end_matches('\r')
}

fn yes_or_no(given: &str) -> String {
    match ["yes", "no"].iter().find(|word| spelling::is_close(given, word)) {
        Some(word) => format!("did you mean `{word}`? answer yes or no"),
        None => "answer yes or no".into(),
    }
}

/// Checks the text that a person puts in place of the call's editable one.
fn edited(question: &Question, edited: Option<&str>) -> Result<()> {
    let wrong = |problem: &str, fix: Hint| Err(Error::invalid("answer.edited", problem, fix));
    let editable = question.approval.as_ref().and_then(|approval| approval.editable.as_ref());
    let Some(editable) = editable else {
        return wrong(
            "is given, but the call has no text that a person may change",
            "allow the call, or decline and say what to change".into(),
        );
    };
    match edited {
        None => wrong(
            "is missing",
            (format!("change the call's {}", editable.field), format!("ask-answer edit {}", question.workflow_id)).into(),
        ),
        Some(text) if text::is_blank(text) => wrong("is empty", "to refuse the call, decline it".into()),
        Some(text) if text.len() > LONGEST_EDITED => wrong(
            &format!("is {} bytes long, the limit is {LONGEST_EDITED}", text.len()),
            "shorten it, or decline and say what to change".into(),
        ),
        Some(text) if text == editable.text => {
            wrong("is the text of the call itself", "nothing is changed: allow the call with `once`".into())
        }
        Some(_) => Ok(()),
    }
}

/// Refuses words beside a decision in a live session whose program has no place for them.
fn words(question: &Question, reply: &Answer) -> Result<()> {
    if question.live.is_none() || reply.note.is_none() {
        return Ok(());
    }
    if question.elicited_by.is_some() {
        let fix = "fill in the form or decline it without words, or go to the session's terminal";
        return Err(Error::invalid("answer.note", "would not reach the server, which takes no words beside its form", fix));
    }
    if question.approval.is_none() {
        return Ok(());
    }
    // The remark is told behind the call, which is known by its id.
    let call = question.tool_call.as_ref().filter(|call| call.told_id().is_some());
    if reply.outcome != Outcome::Answered || call.is_some_and(|call| Facts::of(question).reads_remarks.contains(&&*call.name)) {
        return Ok(());
    }
    let fix = ("allow it without words, or refuse it with them", format!("ask-answer decline {} --note WORDS", question.workflow_id));
    Err(Error::invalid("answer.note", "would not reach the session, which takes no words beside an allowance", fix))
}

/// Checks a refusal that ends the session's turn. Its model is not told then, so it takes no words.
fn stop(question: &Question, reply: &Answer) -> Result<()> {
    if question.live.is_none() {
        return Err(Error::invalid("answer.stops", "ends the turn of a live session, and none asks here", "decline without it"));
    }
    if question.elicited_by.is_some() {
        return Err(Error::invalid("answer.stops", "would not end the turn of a session whose server asks", "decline without it"));
    }
    if reply.note.is_some() {
        let fix = ("stop it without words, or refuse it with them", format!("ask-answer decline {} --note WORDS", question.workflow_id));
        return Err(Error::invalid("answer.note", "would not reach the session, which only ends its turn", fix));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
