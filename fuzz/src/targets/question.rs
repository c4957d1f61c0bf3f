//! Questions and answers.

use askbox::cli::ask_answer::{answering, ask_user_question, question_text};
use askbox::document::Document;
use askbox::mailbox::documents::checks::check_answer::{self, Given};
use askbox::mailbox::documents::checks::check_question;
use askbox::mailbox::documents::checks::match_option::{self, Meaning};
use askbox::mailbox::due::timers::{self, Timer};
use askbox::mailbox::who::caller::Caller;
use askbox::mailbox::{Answer, AnswerValue, Question, QuestionDocument};
use askbox::{id, text, time};

use super::promises;

/// A question document by an arbitrary writer.
pub fn question(bytes: &[u8]) {
    let Some(mut document) = promises::document::<Question>(bytes, Question::eq) else { return };
    is_usable(&document.typed);
    // A rewrite with an answer keeps every field.
    let written = document.to_bytes();
    document.typed.answer = Some(Answer::value(AnswerValue::Text("x".into()), "fuzz", "fuzz"));
    document.typed.priority = Some(7);
    document.update().expect("a change");
    let changed = document.to_bytes();
    promises::others_survive(&written, &changed, &["answer", "priority"]);
    let read = QuestionDocument::parse(&changed).expect("what was written can be read");
    assert_eq!(read.typed, document.typed);
}

/// Everything that askbox does with a question before it is answered.
fn is_usable(question: &Question) {
    assert!(question.workflow_id.as_str().len() <= id::MAX_WORKFLOW_ID && !question.workflow_id.as_str().contains('/'));
    assert_eq!(question.parts().len(), question.questions.len().max(1));
    assert_eq!(question.hash().expect("a hash"), question.clone().hash().expect("a hash"));
    let round = id::RoundId { workflow: question.workflow_id.clone(), question: question.derived_id(0).expect("an id") };
    assert_eq!(id::RoundId::from_file_name(&round.file_name()), Some(round.clone()));
    let now = time::parse_rfc3339("2026-11-22T10:15:00Z").expect("a time");
    for timer in timers::of_question(question, &round, question.asked_at().unwrap_or(now), now) {
        assert_eq!(Timer::from_file_name(&timer.file_name()), Some(timer));
    }
    let valid = check_question::check(question);
    if let Err(e) = &valid {
        promises::is_a_usable_error(e);
    }
    // Hand-made files are shown even if they are not valid.
    promises::is_one_safe_line(&question_text::headline(None, question));
    for (n, part) in question.parts().iter().enumerate() {
        promises::is_shown_safely(&text::printable(&question_text::part(part, Some(&part.key(n)))));
    }
    let _ = (question_text::age(question), question_text::is_overdue(question, now));
    if valid.is_ok() && question.questions.len() <= ask_user_question::MAX_QUESTIONS {
        promises::is_one_safe_line(&text::one_line(&answering::how_to_answer(question)));
        let input = ask_user_question::to_input(question);
        assert!(input["questions"].as_array().is_some_and(|all| (1..=ask_user_question::MAX_QUESTIONS).contains(&all.len())), "{input}");
    }
}

/// The questions for the answers. The first byte of the input chooses one.
const QUESTIONS: &[&str] = &[
    r#"{"workflow_id":"w","question":"Which?","options":{"a":"A","b":"B"}}"#,
    r#"{"workflow_id":"w","question":"Which?","options":{"a":"A","b":"B"},"free_text":false}"#,
    r#"{"workflow_id":"w","question":"Which?","options":["a","b","c"],"type":"multi_choice","free_text":false}"#,
    r#"{"workflow_id":"w","question":"Which?","options":["a","b"],"type":"multi_choice"}"#,
    r#"{"workflow_id":"w","question":"Well?","type":"yes_no"}"#,
    r#"{"workflow_id":"w","question":"How many?","type":"number"}"#,
    r#"{"workflow_id":"w","question":"What?"}"#,
    r#"{"workflow_id":"w","questions":[{"id":"x","question":"Which?","options":["a","b"],"free_text":false},{"question":"Well?","type":"yes_no"},{"question":"How?","multiSelect":true,"options":["p","q"]}]}"#,
];

/// An answer in all of its spellings. The first byte chooses the question, if it is one of the digits 0 to 7. Any other byte begins a
/// question of the input's own, which ends with the line.
pub fn answer(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let (question, given) = match first.checked_sub(b'0').and_then(|n| QUESTIONS.get(usize::from(n))) {
        Some(json) => (json.as_bytes(), rest),
        None => {
            let end = bytes.iter().position(|b| *b == b'\n').unwrap_or(bytes.len());
            (&bytes[..end], bytes.get(end + 1..).unwrap_or_default())
        }
    };
    let Ok(question) = Document::<Question>::parse(question).map(|document| document.typed) else { return };
    if check_question::check(&question).is_err() {
        return;
    }
    // In a document, made by hand.
    if let Ok(answer) = serde_json::from_slice::<Answer>(given) {
        let json = serde_json::to_vec(&answer).expect("an answer is JSON");
        let again: Answer = serde_json::from_slice(&json).expect("what was written can be read");
        assert_eq!(answer, again);
        is_as_meant(&question, answer);
    }
    // As `ask-answer --file` takes it, and as words of a command line.
    let person = Caller::person("ann", "fuzz").expect("a name");
    match answering::from_json(&question, given, &person) {
        Ok(answer) => is_as_meant(&question, answer),
        Err(e) => promises::is_a_usable_error(&e),
    }
    let words: Vec<String> = String::from_utf8_lossy(given).split(' ').map(str::to_owned).collect();
    match answering::from_words(&question, &words) {
        Ok(value) => is_as_meant(&question, Answer::value(value, "fuzz", "fuzz")),
        Err(e) => promises::is_a_usable_error(&e),
    }
}

/// An accepted answer is in its normal form, and not a near miss of an option.
fn is_as_meant(question: &Question, answer: Answer) {
    promises::is_one_safe_line(&text::one_line(&answering::in_words(&answer)));
    promises::is_one_safe_line(&answer.who());
    let accepted = match check_answer::check(question, answer, Given::ByPerson) {
        Ok(accepted) => accepted,
        Err(e) => return promises::is_a_usable_error(&e),
    };
    assert_eq!(
        check_answer::check(question, accepted.clone(), Given::ByPerson).ok().as_ref(),
        Some(&accepted),
        "the normal form of the normal form"
    );
    let Some(value) = &accepted.value else { return };
    let parts = question.parts();
    let values: Vec<AnswerValue> = match value {
        AnswerValue::Batch(map) => {
            assert_eq!(map.len(), parts.len());
            let of = |n: usize, part: &askbox::mailbox::documents::asked::Part| map[&part.key(n)].clone();
            parts.iter().enumerate().map(|(n, part)| AnswerValue::from_json(of(n, part)).expect("a plain value")).collect()
        }
        one => vec![one.clone()],
    };
    for (part, value) in parts.iter().zip(values) {
        use askbox::mailbox::documents::asked::Kind;
        let items = match &value {
            AnswerValue::Text(text) => vec![text.clone()],
            AnswerValue::List(items) => items.clone(),
            AnswerValue::Batch(_) => panic!("an object in {value:?}"),
        };
        match part.kind() {
            Kind::Choice | Kind::MultiChoice if part.free_text == Some(false) => {
                assert!(items.iter().all(|item| part.options.get(item).is_some()), "{items:?} is none of the options");
            }
            Kind::Choice | Kind::MultiChoice => {
                let is_near = |item: &String| matches!(match_option::meaning(&part.options, item), Meaning::NearMiss(_));
                assert!(!items.iter().any(is_near), "{items:?} is a near miss");
            }
            Kind::YesNo => assert!(matches!(items[..], [ref one] if one == "yes" || one == "no"), "{items:?}"),
            Kind::Number => assert!(items[0].parse::<f64>().is_ok_and(f64::is_finite), "{items:?}"),
            _ => {}
        }
        assert_eq!(matches!(value, AnswerValue::List(_)), part.kind() == Kind::MultiChoice, "{value:?}");
    }
}
