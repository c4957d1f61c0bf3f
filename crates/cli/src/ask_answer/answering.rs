//! Turns words or JSON into an answer that fits the question.
//!
//! A command behind the id, as in `ask-answer docs-42 decline`. It would become the answer, in the person's own words.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use serde_json::{Map, Value};

use crate::args::ask_answer_args::{AskAnswer, Command};
use crate::ask_answer::other_machines::PART;
use crate::ask_answer::{ask_user_question, question_text};
use crate::program;
use askbox_mailbox::documents::answer::MAX_ANSWER;
use askbox_mailbox::documents::checks::match_option::{Meaning, meaning};
use askbox_mailbox::listing::list;
use askbox_mailbox::{
    Address, Answer, AnswerValue, Caller, Document, Error, Folder, Kind, Mailbox, Outcome, Question, Result, Round, WorkflowId, excerpt,
    match_option, quarantined_round, round, settle, shell_quote, spelling, text,
};
use askbox_run::view::archived::Archived;

/// The maximum size of an answer as JSON, in bytes. Every character may be escaped.
pub const MAX_JSON: u64 = 6 * MAX_ANSWER as u64 + 1024;

/// The question to answer: the pending one, or else the workflow's last round, so that a late answer is reported as late.
pub fn question(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Round> {
    match settle::waiting(mailbox, workflow) {
        Ok(document) => {
            let round = round::of_pending(mailbox, &document.typed)?;
            Ok(Round { folder: Folder::Pending, id: round, document })
        }
        Err(e) if e.is_missing_file() => match round::unusable_answer(mailbox, workflow) {
            Some(unusable) => Err(unusable),
            None => round::latest(mailbox, workflow).ok_or_else(|| {
                let meant = list::did_you_mean(mailbox, workflow);
                let hint = format!("{meant}see the pending questions: ask-answer list");
                Error::not_found(format!("the workflow {workflow} has no question"), hint)
            }),
        },
        Err(e) => Err(e),
    }
}

/// The question to show: the one to answer, or else the workflow's last round in the archive.
pub fn question_to_show(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Round> {
    match question(mailbox, workflow) {
        Err(e @ Error::NotFound { .. }) => match (Archived::latest(mailbox, workflow)?, quarantined_round::of_workflow(mailbox, workflow)?)
        {
            (Some(found), _) => Ok(Round { folder: Folder::Closed, id: found.id, document: found.document? }),
            (None, Some(held)) => Err(Error::not_found(held.why(), held.todo())),
            (None, None) => Err(e),
        },
        other => other,
    }
}

/// Reads the answer: from a file, or from the words behind the id.
pub fn given(question: &Question, args: &AskAnswer, person: &Caller) -> Result<Answer> {
    let answer = match &args.reply.file {
        Some(file) => from_json(question, &program::read_input(file, MAX_JSON)?, person).map_err(|e| program::in_input(file, e))?,
        None => person.value(from_arguments(question, args)?),
    };
    Ok(Answer { note: args.reply.note.clone().or(answer.note.clone()), ..answer })
}

/// Reads the value from the arguments: the words behind the id, unless they are a command.
fn from_arguments(question: &Question, args: &AskAnswer) -> Result<AnswerValue> {
    refuse(question, args)?;
    if !args.reply.text {
        refuse_unquoted(question, args.reply.words.get(1..).unwrap_or_default())?;
    }
    from_words(question, args.reply.words.get(1..).unwrap_or_default())
}

/// Reads the value from the words behind the id.
pub fn from_words(question: &Question, words: &[String]) -> Result<AnswerValue> {
    if words.is_empty() {
        return Err(Error::usage("no answer is given", how_to_answer(question)));
    }
    if question.is_batch() {
        return from_pairs(question, words);
    }
    let multiple = question.parts().first().is_some_and(|p| p.kind() == Kind::MultiChoice);
    match words {
        [word] => value_of(word).map(AnswerValue::Text),
        words if multiple => Ok(AnswerValue::List(words.to_vec())),
        words => Err(too_many(question, words)),
    }
}

/// Refuses a single word that is none of the options, among several words behind the id of a question with several options: in
/// `ask-answer tidy unit tests`, the person may mean one option, or a sentence. A quoted text is accepted.
fn refuse_unquoted(question: &Question, words: &[String]) -> Result<()> {
    let mut parts = question.parts();
    if question.is_batch() || words.len() < 2 || parts.first().is_none_or(|part| part.kind() != Kind::MultiChoice) {
        return Ok(());
    }
    let (id, part) = (&question.workflow_id, parts.remove(0));
    let (options, own): (Vec<_>, Vec<_>) = words.iter().partition(|word| !matches!(meaning(&part.options, word), Meaning::OwnWords));
    let Some(other) = own.iter().find(|word| !word.contains(char::is_whitespace) && word.as_str() != "-") else { return Ok(()) };
    let quoted = |words: &[&String]| words.iter().map(|word| text::shell_quote(word)).collect::<Vec<_>>().join(" ");
    let all = text::shell_quote(&words.join(" "));
    let ways = match options.as_slice() {
        _ if part.free_text == Some(false) => how_to_answer(question),
        [] => format!("for your own words, quote them: ask-answer {id} {all}"),
        options => format!(
            "for the options: ask-answer {id} {}; for your own words, quote them: ask-answer {id} {all} --text; if you mean each word: \
             ask-answer {id} {} --text",
            quoted(options),
            quoted(&words.iter().collect::<Vec<_>>())
        ),
    };
    let keys = text::excerpt(&part.options.keys(), 200);
    let hint = text::excerpt(&ways, 400);
    Err(Error::usage(format!("`{}` is none of the options of {id} ({keys}); nothing was answered", text::excerpt(other, 40)), hint))
}

/// The error for several words behind the id of a question that takes one value.
fn too_many(question: &Question, words: &[String]) -> Error {
    let (id, part) = (&question.workflow_id, question.parts().remove(0));
    let options: Vec<_> = words.iter().filter(|word| matches!(meaning(&part.options, word), Meaning::Option(_))).collect();
    let each = options.iter().map(|word| format!("ask-answer {id} {}", text::shell_quote(word))).collect::<Vec<_>>().join(", or: ");
    let quoted = format!("ask-answer {id} {}", text::shell_quote(&text::excerpt(&words.join(" "), 60)));
    let hint = match part.kind() {
        Kind::Choice | Kind::YesNo | Kind::Number | Kind::MultiChoice if options.len() == words.len() => format!("choose one: {each}"),
        Kind::Choice | Kind::MultiChoice if !options.is_empty() && part.free_text != Some(false) => {
            format!("for the option: {each}; for your own words, quote them: {quoted} --text")
        }
        Kind::Text | Kind::Choice | Kind::MultiChoice if part.free_text != Some(false) => format!("quote them: {quoted}"),
        _ => how_to_answer(question),
    };
    Error::usage(format!("{} values are given, but {id} takes one ({})", words.len(), question_text::kind(&part)), hint)
}

fn value_of(word: &str) -> Result<String> {
    if word == "-" { program::read_stdin_text(MAX_ANSWER as u64) } else { Ok(word.to_owned()) }
}

/// Reads `id=value` for each question of a batch. A repeated id adds to its list.
fn from_pairs(question: &Question, words: &[String]) -> Result<AnswerValue> {
    let keys: Vec<(String, Kind)> = question.questions.iter().enumerate().map(|(n, p)| (p.key(n), p.kind())).collect();
    let mut map = Map::new();
    for word in words {
        // An id may contain `=`, so the longest id that fits is taken.
        let fits = |key: &str| word.match_indices('=').find(|(at, _)| spelling::same(&word[..*at], key)).map(|(at, _)| &word[at + 1..]);
        let found = keys.iter().filter(|(key, _)| fits(key).is_some()).max_by_key(|(key, _)| key.len());
        let Some((key, kind)) = found else {
            let shown = text::excerpt(word, 40);
            return Err(Error::usage(format!("`{shown}` does not answer any of the questions"), how_to_answer(question)));
        };
        let value = Value::String(value_of(fits(key).unwrap_or_default())?);
        match map.get_mut(key) {
            None => drop(map.insert(key.clone(), value)),
            Some(Value::Array(items)) => items.push(value),
            Some(earlier) if *kind == Kind::MultiChoice => *earlier = Value::Array(vec![earlier.take(), value]),
            Some(_) => {
                let shown = text::excerpt(key, 40);
                return Err(Error::usage(format!("`{shown}` is given twice"), "give one value for it"));
            }
        }
    }
    Ok(AnswerValue::Batch(map))
}

/// The command that answers this question, for a hint.
pub fn how_to_answer(question: &Question) -> String {
    let id = &question.workflow_id;
    if question.is_batch() {
        let pairs: Vec<_> = question.questions.iter().enumerate().map(|(n, p)| format!("{}=VALUE", text::shell_quote(&p.key(n)))).collect();
        return text::excerpt(&format!("ask-answer {id} {}", pairs.join(" ")), 300);
    }
    let part = question.parts().remove(0);
    match part.kind() {
        Kind::Choice | Kind::MultiChoice => {
            format!("ask-answer {id} KEY, where KEY is one of: {}", text::excerpt(&part.options.keys(), 200))
        }
        Kind::YesNo => format!("ask-answer {id} yes, or: ask-answer {id} no"),
        Kind::Number => format!("ask-answer {id} 42"),
        Kind::Text => format!("ask-answer {id} 'your words', or: ask-answer edit {id}"),
    }
}

/// Reads an answer from JSON: a plain value, or a result of AskUserQuestion.
pub fn from_json(question: &Question, bytes: &[u8], person: &Caller) -> Result<Answer> {
    let bad =
        |problem: String| Error::invalid("answer", problem, "send text, a list, an object by question id, or AskUserQuestion's result");
    let json = std::str::from_utf8(bytes).map_err(|e| bad(format!("is not valid UTF-8 (byte {})", e.valid_up_to())))?;
    if !json.trim_start().starts_with('{') {
        let value: Value = serde_json::from_str(json).map_err(|e| bad(format!("is not valid JSON: {e}")))?;
        let value = AnswerValue::from_json(value).map_err(|e| bad(e.into()))?;
        return Ok(person.value(value));
    }
    // `Document` refuses duplicate fields and deep nesting.
    let document = Document::<HashMap<String, Value>>::parse(bytes)?;
    if let Some(answers) = document.field("answers").filter(|a| a.trim_start().starts_with('{')) {
        return ask_user_question::from_result(question, &document, answers, person);
    }
    let map: Map<String, Value> = serde_json::from_str(json).map_err(|e| bad(e.to_string()))?;
    Ok(person.value(AnswerValue::Batch(map)))
}

/// Describes an accepted answer to this question in a few words.
pub fn acknowledged(question: &Question, answer: &Answer) -> String {
    if answer.value.is_none() {
        return answer.word().to_owned();
    }
    let words = in_words(answer);
    if question.approval.is_some() {
        let call = question.title();
        return match &answer.edited {
            Some(edited) => format!("answered: {words}, which allows this in place of \"{call}\": {}", text::excerpt(edited, 200)),
            None => format!("answered: {words}, which allows {call}"),
        };
    }
    match match_option::told(question, answer) {
        Value::Bool(true) => format!("answered in your own words: {words}"),
        Value::Array(ids) if !ids.is_empty() => {
            let ids: Vec<_> = ids.iter().filter_map(Value::as_str).map(|id| text::excerpt(id, 40)).collect();
            format!("answered: {words} (in your own words: {})", ids.join(", "))
        }
        _ => format!("answered: {words}"),
    }
}

/// The answer with the question that it is for, for a sentence that says what happens to it: `the refusal of docs-42`.
pub fn named(address: &Address, reply: &Answer) -> String {
    match reply.outcome {
        Outcome::Declined if reply.asks_back => format!("the question back to {address}"),
        Outcome::Declined if reply.always => format!("the refusal for good of {address}"),
        Outcome::Declined => format!("the refusal of {address}"),
        Outcome::Answered => format!("the answer to {address} ({})", in_words(reply)),
    }
}

/// The answer in a few words.
pub fn in_words(reply: &Answer) -> String {
    match (&reply.outcome, &reply.value) {
        (Outcome::Declined, _) => reply.word().into(),
        (_, value) => text::excerpt(&value.as_ref().map(AnswerValue::to_text).unwrap_or_default(), 100),
    }
}

/// Refuses a command that stands behind the id, unless the question has such an option or the person says that it is an answer, with
/// `--text` or `--`.
///
/// # Errors
/// [`Error::Usage`] with the words in their right order.
pub(super) fn refuse(question: &Question, args: &AskAnswer) -> Result<()> {
    let [id, command, more @ ..] = args.reply.words.as_slice() else { return Ok(()) };
    let is_an_option = || question.parts().iter().any(|part| matches!(meaning(&part.options, command), Meaning::Option(_)));
    if !Command::NAMES.contains(&command.as_str()) || is_an_option() || args.reply.text || follows_dashes(std::env::args_os()) {
        return Ok(());
    }
    let (quoted, more) = (shell_quote(id), more.join(" "));
    let flag = match command.as_str() {
        _ if more.is_empty() => "",
        "decline" => " --note",
        "cancel" => " --why",
        _ => "",
    };
    let more = if more.is_empty() { more } else { format!(" {}", shell_quote(&excerpt(&more, 60))) };
    Err(Error::usage(
        format!("the command `{command}` stands behind the id"),
        format!("write it in front: ask-answer {command} {quoted}{flag}{more}; to answer with the word: ask-answer {quoted} -- {command}"),
    ))
}

/// True if the words follow `--`. clap does not tell.
fn follows_dashes(args: impl Iterator<Item = OsString>) -> bool {
    let args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    // `askbox` gets the arguments of `ask-answer` behind a `--` of its own.
    let of_askbox = |program: &String| Path::new(program).file_name().is_some_and(|name| name == "askbox");
    let own = match args.as_slice() {
        [program, part, dashes, rest @ ..] if of_askbox(program) && part == PART && dashes == "--" => rest,
        [_, rest @ ..] => rest,
        [] => &[],
    };
    own.iter().any(|word| word == "--")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn refused(question: &str, line: &str) -> Option<String> {
        let question: Question = serde_json::from_str(question).unwrap();
        let args = AskAnswer::parse_from(std::iter::once("ask-answer").chain(line.split(' ')));
        refuse(&question, &args).err().map(|e| e.hint())
    }

    #[test]
    fn a_command_behind_the_id_is_told_its_place() {
        let open = r#"{"question":"?","workflow_id":"w"}"#;
        for command in Command::NAMES {
            let hint = refused(open, &format!("w {command}")).unwrap();
            assert!(hint.starts_with(&format!("write it in front: ask-answer {command} w; ")), "{hint}");
            assert!(hint.ends_with(&format!("to answer with the word: ask-answer w -- {command}")), "{hint}");
        }
        assert!(refused(open, "w decline not mine").unwrap().contains("ask-answer decline w --note 'not mine'; "));
        assert!(refused(open, "w ask-back which?").unwrap().contains("ask-answer ask-back w 'which?'; "));
        assert!(refused(open, "build:w undo").unwrap().contains("ask-answer undo build:w; "));
        for own in ["w declined", "w decline --text", "w Decline", "list"] {
            assert_eq!(refused(open, own), None, "{own}");
        }
        assert_eq!(refused(r#"{"question":"?","workflow_id":"w","options":["cancel","keep"]}"#, "w cancel"), None);
    }

    #[test]
    fn dashes_count_only_among_the_arguments_of_ask_answer() {
        let follows = |line: &str| follows_dashes(line.split(' ').map(OsString::from));
        assert!(follows("ask-answer w -- list") && follows("/bin/askbox ask-answer -- b:w -- list"));
        assert!(!follows("ask-answer w list") && !follows("/bin/askbox ask-answer -- b:w list"));
        assert!(follows("ask-answer ask-answer -- list"));
    }
}
