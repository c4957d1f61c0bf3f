//! The messages to an agent. A reader of them, written here a second time, finds the decision that was made, and no line of a document
//! stands where a line of askbox stands.

use std::sync::OnceLock;

use askbox::config::{Config, parse};
use askbox::mailbox::documents::answer::BY_EVENT;
use askbox::mailbox::documents::asked::{Kind, Part};
use askbox::mailbox::documents::question::Content;
use askbox::mailbox::{Answer, AnswerValue, Mailbox, Question, QuestionDocument};
use askbox::run::attempt::record::{Begin, Run};
use askbox::run::delivery::Delivery;
use askbox::run::prompt::message::first_message;

/// Templates of an operator. `{answer}` is the last word of its line, and is not.
const OWN: [&str; 3] = ["{question} {answer} Continue from {checkpoint}.", "Q: {question} A: {answer}", "{answer}\nIt was: {question}."];

/// A question with its answer, a task, or the ends of children. Each message about it is read again.
pub fn message(bytes: &[u8]) {
    let Ok(mut document) = QuestionDocument::parse(bytes) else { return };
    let question = &mut document.typed;
    question.question_id = Some("15c96f27-091a-5dc1-bcce-0d2e49721bc0".parse().expect("an id"));
    let round = question.round().expect("a round");
    let mut run = Run::first(&round, Delivery::Launch.claimant());
    let fork = Begin::Fork { from: run.session_id, of: None };
    for (begin, heads) in [(Begin::Fresh, FRESH), (fork, RESUMED)] {
        run.begin = begin;
        let Ok(message) = first_message(mailbox(), &Config::default(), question, &run) else { return };
        match question.content() {
            // To a new session, the task is the whole message.
            Content::Task(_) if matches!(run.begin, Begin::Fresh) => {}
            Content::Task(_) => only_ours(&message, &["This is a task that was put into the mailbox. "]),
            Content::Results(results) => {
                let ends: Vec<String> = results.iter().map(|ended| format!("{} ", ended.workflow_id)).collect();
                only_ours(&message, &WOKEN.iter().copied().chain(ends.iter().map(String::as_str)).collect::<Vec<_>>());
            }
            Content::Question if question.approval.is_some() => only_ours(&message, &[heads, APPROVAL].concat()),
            Content::Question => tells_the_decision(question, &message, heads),
        }
    }
    run.begin = Begin::Fresh;
    for own in OWN {
        let config = parse(format!("[relaunch]\nprompt = {own:?}\n").as_bytes(), std::path::Path::new("x")).expect("a template").config;
        let (Content::Question, Some(_)) = (question.content(), &question.answer) else { return };
        let Ok(message) = first_message(mailbox(), &config, question, &run) else { return };
        let decides = |line: &&str| DECISIONS.iter().any(|words| line.strip_prefix("A: ").unwrap_or(line).starts_with(words));
        let count = message.split(ends_a_line).filter(decides).count();
        assert!(count <= 1 || question.approval.is_some(), "{own}: {message:?}");
    }
}

fn mailbox() -> &'static Mailbox {
    static MAILBOX: OnceLock<Mailbox> = OnceLock::new();
    MAILBOX.get_or_init(|| {
        let path = std::env::temp_dir().join(format!("askbox-fuzz-message-{}", std::process::id()));
        let mailbox = Mailbox::open_or_create(&path).expect("a mailbox");
        // The messages only look whether a checkpoint exists.
        std::fs::remove_dir_all(&path).expect("the folder goes");
        mailbox
    })
}

/// What a line of a message can begin with, if it is not quoted.
const FRESH: &[&str] = &["Resume workflow ", "Question that was asked:", "Continue with next steps.", "What was done before the question "];
const RESUMED: &[&str] = &["The question of workflow ", "Question:", "Continue with next steps."];
const APPROVAL: &[&str] = &[
    "User chose: ",
    "The call was not made. ",
    "The user asks back ",
    "This call is not allowed. ",
    "The user refused this call. ",
    "Do not try to reach the same ",
    "Nobody has ",
    "The user added:",
];
const WOKEN: &[&str] = &[
    "What you started has ended.",
    "Go on with workflow ",
    "It was begun with this prompt:",
    "What it had started has ended:",
    "(not known)",
    "Continue with next steps.",
];
/// The beginnings of the lines that say a decision.
const DECISIONS: [&str; 9] = [
    "User chose:",
    "User answered in their own words",
    "The user declined",
    "The user asks back",
    "Nobody answered in time",
    "What it waited for has ",
    "A person has ended",
    "The user's answer",
    "No person answered or decided",
];

fn ends_a_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Every line is quoted, or begins as one of ours does.
fn only_ours(message: &str, ours: &[&str]) {
    for line in message.split(ends_a_line) {
        assert!(line.is_empty() || line.starts_with("> ") || ours.iter().any(|begin| line.starts_with(begin)), "{line:?} in {message:?}");
    }
}

/// The lines of a text, as they are read in a quotation.
fn lines(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let text = text.strip_suffix(ends_a_line).unwrap_or(&text);
    text.split(ends_a_line).map(str::to_owned).collect()
}

/// A message that is being read.
struct Reader<'a> {
    lines: Vec<&'a str>,
    message: &'a str,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> &'a str {
        assert!(!self.lines.is_empty(), "ends too early: {:?}", self.message);
        self.lines.remove(0)
    }

    /// A line of ours with this beginning; what follows it.
    fn ours(&mut self, begin: &str) -> &'a str {
        let line = self.next();
        line.strip_prefix(begin).unwrap_or_else(|| panic!("{line:?} is not {begin:?} in {:?}", self.message))
    }

    /// The text behind a label: the rest of its line, or the quoted lines below.
    fn text(&mut self, rest: &str) -> Vec<String> {
        if let Some(text) = rest.strip_prefix(' ') {
            return vec![text.to_owned()];
        }
        assert_eq!(rest, "", "{:?}", self.message);
        let count = self.lines.iter().take_while(|line| line.starts_with("> ")).count();
        let quoted = self.lines.drain(..count).flat_map(|line| lines(&line["> ".len()..]));
        quoted.collect()
    }

    /// The value of a part behind its label.
    fn value(&mut self, part: &Part, rest: &str, is_own: bool) -> Vec<String> {
        let has_keys = matches!(part.kind(), Kind::Choice | Kind::MultiChoice);
        match rest.strip_prefix(' ') {
            Some(rest) if has_keys && !is_own && part.kind() == Kind::Choice => vec![short(rest, " (").0],
            _ => self.text(rest),
        }
    }
}

/// A text in the middle of a line, and what follows.
fn short<'a>(rest: &'a str, end: &str) -> (String, &'a str) {
    if !rest.starts_with('"') {
        let at = rest.find(end).unwrap_or(rest.len());
        return (rest[..at].to_owned(), &rest[at..]);
    }
    let mut read = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    let text = read.next().expect("a string").expect("a string");
    (text, &rest[read.byte_offset()..])
}

/// Reads the message, and compares everything in it with the answer.
fn tells_the_decision(question: &Question, message: &str, heads: &[&str]) {
    let Some(answer) = &question.answer else { return };
    if question.elicited_by.is_some() {
        return;
    }
    let mut read = Reader { lines: message.split('\n').collect(), message };
    read.ours(heads[0]);
    let rest = read.ours(heads[1]);
    assert_eq!(read.text(rest), lines(&question.title()), "{message:?}");
    decision(question, answer, &mut read);
    let is_told = answer.counter_question().is_some() || is_declined(question, answer);
    if let Some(note) = answer.note.as_ref().filter(|_| !is_told) {
        let rest = read.ours("The user added:");
        assert_eq!(read.text(rest), lines(note), "{message:?}");
    }
    assert_eq!(read.next(), "Continue with next steps.", "{message:?}");
    let rest = read.lines.join("\n");
    assert!(rest.trim().is_empty() || rest.starts_with("\nWhat was done before the question is not on record"), "{message:?}");
}

/// True if the person has declined to answer a question, with the reason between two sentences.
fn is_declined(question: &Question, answer: &Answer) -> bool {
    let has_value = answer.value.is_some() && answer.outcome == askbox::mailbox::Outcome::Answered;
    question.until.is_none() && answer.by != BY_EVENT && !has_value
}

fn decision(question: &Question, answer: &Answer, read: &mut Reader<'_>) {
    if let Some(asked) = answer.counter_question() {
        let rest = read.ours("The user asks back before they decide:");
        assert_eq!(read.text(rest), lines(asked));
        read.ours("This is no answer: decide nothing. ");
        return;
    }
    let is_wait = question.until.is_some();
    if is_wait && answer.by == BY_EVENT {
        read.ours("What it waited for has come: ");
        return;
    }
    let Some(value) = answer.value.as_ref().filter(|_| answer.outcome == askbox::mailbox::Outcome::Answered) else {
        match &answer.note {
            _ if is_wait => read.ours("A person has ended this wait "),
            None => read.ours("The user declined to answer. Do not guess an answer: "),
            Some(note) => {
                let rest = read.ours("The user declined to answer. They say:");
                assert_eq!(read.text(rest), lines(note), "{:?}", read.message);
                read.ours("Do not guess an answer: ")
            }
        };
        return;
    };
    let by_default = !answer.is_a_persons();
    let source = match (by_default, is_wait) {
        (true, true) => "What it waited for has not come in time, so the default that was set applies",
        (true, false) => "Nobody answered in time, so the default that was set applies",
        (false, true) => "What it waited for has not come, but the user answered",
        (false, false) => "User chose",
    };
    let own_label = "User answered in their own words, not with one of the options";
    match value {
        AnswerValue::Batch(map) => {
            assert_eq!(read.next(), format!("{source}:"));
            for (n, part) in question.questions.iter().enumerate() {
                let (asked, rest) = short(read.ours("- "), " (");
                assert_eq!(asked, part.question, "{:?}", read.message);
                let (key, rest) = short(rest.strip_prefix(" (").expect("a key"), ")");
                assert_eq!(key, part.key(n), "{:?}", read.message);
                let rest = rest.strip_prefix(')').expect("its end");
                let own = [", in their own words", ", none of the options"].into_iter().find_map(|how| rest.strip_prefix(how));
                let found = read.value(part, own.unwrap_or(rest).strip_prefix(':').expect("a value"), own.is_some());
                let given = map.get(&part.key(n)).cloned().and_then(|given| AnswerValue::from_json(given).ok());
                is_value(part, given.as_ref(), &found, read.message);
            }
        }
        value => {
            let line = read.next();
            let own = line.strip_prefix(own_label).or_else(|| line.strip_prefix(source)?.strip_prefix(", none of the options"));
            let rest = own.or_else(|| line.strip_prefix(source)).unwrap_or_else(|| panic!("{line:?} in {:?}", read.message));
            let part = &question.parts()[0];
            let found = read.value(part, rest.strip_prefix(':').expect("a value"), own.is_some());
            is_value(part, Some(value), &found, read.message);
        }
    }
    if by_default && is_wait {
        read.ours("No person answered or decided anything. ");
    }
}

fn is_value(part: &Part, given: Option<&AnswerValue>, found: &[String], message: &str) {
    match given {
        Some(AnswerValue::List(keys)) => {
            let mut read = Vec::new();
            let mut rest = found.first().map(String::as_str).unwrap_or_default();
            while !rest.is_empty() {
                let (key, after) = short(rest, ", ");
                read.push(key);
                rest = after.strip_prefix(", ").unwrap_or(after);
            }
            assert_eq!(&read, keys, "{message:?}");
        }
        Some(AnswerValue::Text(key)) if part.kind() == Kind::Choice && part.options.get(key).is_some() => {
            assert_eq!(found, std::slice::from_ref(key), "{message:?}");
        }
        // An option of a multi-choice question may have its description behind it.
        Some(AnswerValue::Text(key)) if part.options.get(key).is_some() => assert!(found.len() == 1, "{message:?}"),
        Some(other) => assert_eq!(found, lines(&other.to_text()), "{message:?}"),
        None => assert_eq!(found, [""], "{message:?}"),
    }
}
