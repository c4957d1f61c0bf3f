//! Small texts: ids, file names, durations, dates, chain signals, words of a command line, and the filters for terminals and shells.

use askbox::agent::chain_signals::{Signal, quoted};
use askbox::cli::args::value_parsers;
use askbox::cli::terminal::columns;
use askbox::id::{QuestionId, RoundId, SessionId, WorkflowId};
use askbox::mailbox::due::timers::Timer;
use askbox::{text, time};

use super::promises::{self, is_dangerous};

/// The filters keep only harmless text, and put a space in the place of a hidden end of a line. A quoted word is one word.
pub fn text(bytes: &[u8]) {
    let Ok(given) = std::str::from_utf8(bytes) else { return };
    let shown = text::printable(given);
    promises::is_shown_safely(&shown);
    assert_eq!(text::printable(&shown), shown);
    if !given.contains('\r') {
        let kept = given.chars().map(|c| if ends_a_line(c) { ' ' } else { c }).filter(|c| !is_dangerous(*c));
        assert!(kept.eq(shown.chars()), "{given:?} became {shown:?}");
    }
    promises::is_one_safe_line(&text::one_line(given));
    for max in [0, 1, 40] {
        let cut = text::excerpt(given, max);
        promises::is_one_safe_line(&cut);
        assert!(cut.chars().count() <= max + 1);
    }
    for width in [1, 2, 80] {
        assert!(columns::width(&columns::cut(&text::one_line(given), width)) <= width);
    }
    let json = serde_json::to_string(given).expect("text is JSON");
    let escaped = text::escape_json(&json);
    promises::is_one_safe_line(&escaped);
    assert_eq!(serde_json::from_str::<String>(&escaped).expect("JSON"), given);
    if !given.contains('\0') {
        assert_eq!(shell_word(&text::shell_quote(given)), (given.to_owned(), ""));
    }
    signals(given);
}

/// Characters that end a line for some readers. Each becomes a space.
fn ends_a_line(c: char) -> bool {
    matches!(c, '\u{B}' | '\u{C}' | '\u{1C}'..='\u{1E}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// A signal is a whole line. A quoted text holds no signal and still says the same.
fn signals(given: &str) {
    for line in given.split('\n') {
        let plain = line.trim_end_matches('\r');
        let is_signal = plain == "SGN_RESUME"
            || plain == "SGN_PEND_ONGOING"
            || plain.strip_prefix("SGN_PEND_STARTED (").and_then(|rest| rest.strip_suffix(')')).is_some_and(is_workflow_id);
        assert_eq!(Signal::of_line(line).is_some(), is_signal, "{line:?}");
        if let Some(signal) = Signal::of_line(line) {
            assert_eq!(signal.to_string(), plain);
        }
    }
    let harmless = quoted(given);
    assert!(harmless.split('\n').all(|line| Signal::of_line(line).is_none()), "{harmless:?}");
    assert!(harmless.lines().all(|line| Signal::of_line(line).is_none()), "{harmless:?}");
    let unquoted = |line| str::strip_prefix(line, "> ").filter(|line| Signal::of_line(line).is_some()).unwrap_or(line);
    assert!(harmless.split('\n').map(unquoted).eq(given.split('\n').map(unquoted)), "{given:?} became {harmless:?}");
}

/// The documented form: `[A-Za-z0-9][A-Za-z0-9._-]{0,127}` without `..`.
fn is_workflow_id(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphanumeric())
        && bytes.all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        && text.len() <= 128
        && !text.contains("..")
}

/// Ids, file names, durations and dates: an accepted text is written as it was read.
pub fn names(bytes: &[u8]) {
    let Ok(given) = std::str::from_utf8(bytes) else { return };
    match given.parse::<WorkflowId>() {
        Ok(id) => {
            assert!(is_workflow_id(given), "{given:?} was accepted");
            assert_eq!(WorkflowId::from_file_name(&id.file_name()), Some(id));
        }
        Err(e) => {
            assert!(!is_workflow_id(given), "{given:?} was refused");
            promises::is_a_usable_error(&e);
        }
    }
    if let Ok(id) = given.parse::<QuestionId>() {
        assert_eq!(id.to_string().parse::<QuestionId>().ok(), Some(id));
    }
    if let Ok(id) = given.parse::<SessionId>() {
        assert_eq!(id.to_string().parse::<SessionId>().ok(), Some(id));
    }
    if let Some(round) = RoundId::from_file_name(given) {
        assert_eq!(RoundId::from_file_name(&round.file_name()), Some(round));
    }
    if let Some(timer) = Timer::from_file_name(given) {
        assert_eq!(Timer::from_file_name(&timer.file_name()), Some(timer.clone()), "{given:?} is written as {}", timer.file_name());
    }
    if let Some(at) = time::parse_rfc3339(given) {
        let at = time::to_the_millisecond(at);
        assert_eq!(time::parse_rfc3339(&time::rfc3339(at)), Some(at), "{given:?} is written as {}", time::rfc3339(at));
        let _ = time::since(at);
    }
    match time::parse_duration(given, "field") {
        Ok(duration) => {
            let written = serde_json::to_string(&time::Span(duration)).expect("a duration is JSON");
            let again: time::Span = serde_json::from_str(&written).unwrap_or_else(|e| panic!("{e}: {written}"));
            assert_eq!(again.0, duration);
            promises::is_one_safe_line(&time::human(duration));
        }
        Err(e) => promises::is_a_usable_error(&e),
    }
    words(given);
}

/// Values of flags.
fn words(given: &str) {
    if let Ok(choice) = value_parsers::option(given) {
        assert!(given.starts_with(choice.key.as_str()) || given.trim_start().starts_with(choice.key.as_str()), "{given:?}: {choice:?}");
    }
    if let Ok((name, value)) = value_parsers::pair(given) {
        assert_eq!(format!("{name}={value}"), given);
    }
    if let Ok(prefix) = value_parsers::variable_prefix(given) {
        assert!(prefix.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{prefix:?}");
    }
    let _ = value_parsers::duration(given);
    let _ = value_parsers::round::<QuestionId>(given);
}

/// The first word of a shell script, read by the rules of POSIX, and the text behind it. Knows plain characters, single quotes and `\'`.
#[track_caller]
pub fn shell_word(script: &str) -> (String, &str) {
    let (mut word, mut rest) = (String::new(), script);
    while let Some(c) = rest.chars().next() {
        match c {
            '\'' => {
                let (inside, behind) = rest[1..].split_once('\'').unwrap_or_else(|| panic!("an open quote in {script:?}"));
                word.push_str(inside);
                rest = behind;
            }
            '\\' => {
                word.push_str(rest.get(1..2).unwrap_or_default());
                rest = rest.get(2..).unwrap_or_default();
            }
            c if c.is_ascii_alphanumeric() || "_-./:@%+,".contains(c) => {
                word.push(c);
                rest = &rest[1..];
            }
            _ => break,
        }
    }
    (word, rest)
}
