//! An answer before it is sent.

use std::collections::BTreeSet;

use ratatui_textarea::TextArea;
use serde_json::Map;

use crate::text_window::{self, Typed};
use askbox_cli::AtStake;
use askbox_mailbox::documents::checks::match_option::Meaning;
use askbox_mailbox::documents::fields::range::NumberProblem;
use askbox_mailbox::{AnswerValue, Kind, Part, Question, Range, excerpt, match_option};

/// A line that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choosable {
    /// The option at this place.
    Option(usize),
    Yes,
    No,
    /// The person's own words.
    Words,
}

/// The answer to one part of a question.
#[derive(Debug)]
pub struct PartDraft {
    pub part: Part,
    /// The position of the chosen line in [`PartDraft::lines`]. Initially no option is chosen, so that enter alone decides nothing.
    pub at: Option<usize>,
    /// The letters that were typed at a yes-or-no question.
    letters: String,
    /// The positions of the marked options, if several may be chosen.
    pub marked: BTreeSet<usize>,
    pub words: TextArea<'static>,
    /// The answer to the part, once enter was pressed.
    pub given: Option<AnswerValue>,
}

/// The answer that a word, or its beginning, spells.
fn spelled(word: &str) -> Option<Choosable> {
    match word {
        "" => None,
        _ if "yes".starts_with(word) => Some(Choosable::Yes),
        _ if "no".starts_with(word) => Some(Choosable::No),
        _ => None,
    }
}

/// The reason why a part has no value yet.
#[derive(Debug, PartialEq)]
pub enum Unclear {
    /// A sentence for the person.
    Because(&'static str),
    /// A sentence that says why this is not the number that is wanted.
    Number(String),
    /// The words may mean an option.
    NearMiss(AtStake),
}

impl PartDraft {
    fn new(part: Part) -> Self {
        let is_text = matches!(part.kind(), Kind::Text | Kind::Number);
        Self { part, at: is_text.then_some(0), letters: String::new(), marked: BTreeSet::new(), words: text_window::area(""), given: None }
    }

    /// The lines that can be chosen, in order.
    pub fn lines(&self) -> Vec<Choosable> {
        match self.part.kind() {
            Kind::YesNo => vec![Choosable::Yes, Choosable::No],
            Kind::Number | Kind::Text => vec![Choosable::Words],
            Kind::Choice | Kind::MultiChoice => {
                let own = (self.part.free_text != Some(false)).then_some(Choosable::Words);
                (0..self.part.options.0.len()).map(Choosable::Option).chain(own).collect()
            }
        }
    }

    /// The chosen line.
    pub fn chosen(&self) -> Option<Choosable> {
        self.lines().get(self.at?).copied()
    }

    /// True if the person's own words can be an answer.
    pub fn takes_words(&self) -> bool {
        self.lines().contains(&Choosable::Words)
    }

    /// True if keys are now typed into the person's own words.
    pub fn writes(&self) -> bool {
        self.chosen() == Some(Choosable::Words)
    }

    /// Chooses a line, if it exists.
    pub fn choose(&mut self, line: Choosable) -> bool {
        let place = self.lines().iter().position(|l| *l == line);
        self.at = place.or(self.at);
        self.letters.clear();
        place.is_some()
    }

    /// Chooses the line below or above. If none is chosen, only a step down chooses: a step up and enter repeat a shell's last command.
    pub fn step(&mut self, down: bool) {
        let last = self.lines().len().saturating_sub(1);
        self.letters.clear();
        self.at = Some(match self.at {
            None if !down => return,
            None => 0,
            Some(at) if down => (at + 1).min(last),
            Some(at) => at.saturating_sub(1),
        });
    }

    /// Chooses the first or the last line.
    pub fn choose_end(&mut self, last: bool) {
        self.letters.clear();
        self.at = Some(if last { self.lines().len().saturating_sub(1) } else { 0 });
    }

    /// Adds a letter of `yes` or `no`, at a yes-or-no question. Returns false for any other letter.
    pub fn add_letter(&mut self, letter: char) -> bool {
        let letter = if letter == 'Y' { 'y' } else { letter };
        let word = match self.letters.as_str() {
            // The person changes from one answer to the other, or presses the same key again.
            "y" | "yes" | "n" | "no" if matches!(letter, 'y' | 'n') => letter.to_string(),
            begun => format!("{begun}{letter}"),
        };
        let spelled = spelled(&word);
        if spelled.is_some() {
            (self.letters, self.at) = (word, self.lines().iter().position(|line| Some(*line) == spelled));
        }
        spelled.is_some()
    }

    /// True if a yes or no was typed as a word, and not chosen by its line.
    pub fn is_spelled(&self) -> bool {
        !self.letters.is_empty()
    }

    /// Adds a letter of another word, such as `nope`. Nothing is chosen until the letter is taken back.
    pub fn add_other_letter(&mut self, letter: char) {
        self.letters.push(letter);
        self.at = None;
    }

    /// Takes the last letter back.
    pub fn take_letter_back(&mut self) {
        if self.letters.pop().is_some() {
            let spelled = spelled(&self.letters);
            self.at = self.lines().iter().position(|line| Some(*line) == spelled);
        }
    }

    /// True if the letters are not another word than yes or no, so that the next letter may be a command.
    pub fn takes_commands(&self) -> bool {
        self.letters.is_empty() || spelled(&self.letters).is_some()
    }

    /// Ends another word, such as `nope`, because the next letter does not belong to it.
    pub fn end_other_word(&mut self) {
        if !self.takes_commands() {
            self.letters.clear();
        }
    }

    /// True if an option has this key or this description.
    pub fn is_option(&self, word: &str) -> bool {
        matches!(match_option::meaning(&self.part.options, word), Meaning::Option(_))
    }

    /// True if the answer holds the person's own words. A number is not counted: it is checked, and a shell command is none.
    fn is_in_own_words(&self) -> bool {
        let sends_words = self.writes() || self.is_multiple();
        self.part.kind() != Kind::Number && sends_words && !self.typed().trim().is_empty()
    }

    pub fn is_multiple(&self) -> bool {
        self.part.kind() == Kind::MultiChoice
    }

    /// The line that a digit chooses. This is the line at that position. If some keys are themselves numbers, it is the option with that
    /// key.
    pub fn by_digit(&self, digit: char) -> Option<Choosable> {
        if self.keys_are_numbers() {
            let n = self.part.options.0.iter().position(|c| c.key.trim() == digit.to_string())?;
            return Some(Choosable::Option(n));
        }
        let n = digit.to_digit(10).filter(|n| *n > 0)?;
        self.lines().get(usize::try_from(n).ok()? - 1).copied()
    }

    /// True if a number beside an option could be mistaken for another option's key.
    pub fn keys_are_numbers(&self) -> bool {
        self.part.options.0.iter().any(|c| c.key.trim().parse::<f64>().is_ok())
    }

    pub fn typed(&self) -> String {
        text_window::text(&self.words)
    }

    /// The keys of the marked options.
    pub fn marked_keys(&self) -> Vec<String> {
        self.marked.iter().filter_map(|n| self.part.options.0.get(*n)).map(|choice| choice.key.clone()).collect()
    }

    /// The current answer to the part.
    pub fn value(&self) -> Result<AnswerValue, Unclear> {
        let typed = self.typed();
        let is_typed = !typed.trim().is_empty();
        let text = |text: &str| Ok(AnswerValue::Text(text.into()));
        match (self.part.kind(), self.chosen()) {
            (Kind::MultiChoice, at) => {
                let mut keys = self.marked_keys();
                if is_typed
                    && at == Some(Choosable::Words)
                    && let near @ (Meaning::Option(_) | Meaning::NearMiss(_)) = match_option::meaning(&self.part.options, &typed)
                {
                    return Err(self.near_miss(&typed, near));
                }
                keys.extend(is_typed.then_some(typed));
                if keys.is_empty() { Err(Unclear::Because("mark with space, then press enter")) } else { Ok(AnswerValue::List(keys)) }
            }
            (_, None) => Err(Unclear::Because("choose first: a number, or the arrow keys")),
            (_, Some(Choosable::Yes)) => text("yes"),
            (_, Some(Choosable::No)) => text("no"),
            (_, Some(Choosable::Option(n))) => match self.part.options.0.get(n) {
                Some(choice) => text(&choice.key),
                None => Err(Unclear::Because("choose an option")),
            },
            (_, Some(Choosable::Words)) if !is_typed => Err(Unclear::Because("type your answer first")),
            (Kind::Number, _) => match NumberProblem::of(&typed, self.part.range.as_ref()) {
                None => text(Range::without_unit(self.part.range.as_ref(), &typed)),
                Some(problem) => Err(Unclear::Number(problem.sentence())),
            },
            (Kind::Text, _) => text(&typed),
            (_, Some(Choosable::Words)) => match match_option::meaning(&self.part.options, &typed) {
                Meaning::Option(choice) => text(&choice.key),
                Meaning::OwnWords => text(&typed),
                near @ Meaning::NearMiss(_) => Err(self.near_miss(&typed, near)),
            },
        }
    }

    /// The person's own words, if an option is chosen that is sent without them.
    pub fn words_beside(&self) -> Option<AtStake> {
        let Some(Choosable::Option(n)) = self.chosen().filter(|_| !self.is_multiple()) else { return None };
        let (option, words) = (self.part.options.0.get(n)?.key.clone(), self.typed());
        (!words.trim().is_empty()).then_some(AtStake::WordsBeside { option, words })
    }

    fn near_miss(&self, typed: &str, meaning: Meaning<'_>) -> Unclear {
        let near = match meaning {
            Meaning::Option(choice) => vec![choice.clone()],
            Meaning::NearMiss(near) => near.into_iter().cloned().collect(),
            Meaning::OwnWords => Vec::new(),
        };
        Unclear::NearMiss(AtStake::NearMiss { asked: self.part.question.clone(), words: typed.trim().to_owned(), near })
    }
}

/// The answer to a whole question.
#[derive(Debug)]
pub struct Draft {
    pub parts: Vec<PartDraft>,
    /// The part that is on the screen. After the last part comes the review of a batch.
    pub at: usize,
    pub note: String,
    /// The texts of the windows over the question.
    pub typed: Typed,
}

impl Draft {
    pub fn new(question: &Question) -> Self {
        Self { parts: question.parts().into_iter().map(PartDraft::new).collect(), at: 0, note: String::new(), typed: Typed::default() }
    }

    pub fn part(&self) -> Option<&PartDraft> {
        self.parts.get(self.at)
    }

    pub fn part_mut(&mut self) -> Option<&mut PartDraft> {
        self.parts.get_mut(self.at)
    }

    /// True if the answer holds the person's own words.
    pub fn is_in_own_words(&self) -> bool {
        self.parts.iter().any(PartDraft::is_in_own_words)
    }

    /// The number of parts that are not answered yet.
    pub fn unanswered(&self) -> usize {
        self.parts.iter().filter(|part| part.given.is_none()).count()
    }

    /// True if the person reviews the answers, after the last part.
    pub fn is_review(&self) -> bool {
        self.at >= self.parts.len()
    }

    /// The value to send, or `None` while a part is not answered.
    pub fn value(&self, question: &Question) -> Option<AnswerValue> {
        if !question.is_batch() {
            return self.parts.first()?.given.clone();
        }
        let mut map = Map::new();
        for (n, draft) in self.parts.iter().enumerate() {
            map.insert(draft.part.key(n), draft.given.as_ref()?.to_json());
        }
        Some(AnswerValue::Batch(map))
    }

    /// Names the answer and the note that enter sends now. The answer is to the open part, or to all parts. `None` if it is not complete.
    pub fn in_words(&self) -> Option<String> {
        let short = |value: AnswerValue, most| excerpt(&value.to_text(), most);
        let answer = match self.part() {
            Some(part) => format!("your answer is {}", short(part.value().ok()?, 60)),
            None => {
                let all = self.parts.iter().filter_map(|part| part.given.clone()).map(|value| short(value, 30));
                format!("your answers are {}", all.collect::<Vec<_>>().join(", "))
            }
        };
        let note =
            if self.note.trim().is_empty() { String::new() } else { format!(", with the note \"{}\"", excerpt(self.note.trim(), 60)) };
        Some(format!("{answer}{note}"))
    }

    /// Everything that was typed. It is kept if the question vanishes.
    pub fn typed(&self) -> Option<String> {
        let beside = [self.note.as_str()].into_iter().chain(self.typed.texts().filter(|text| *text != self.note)).map(str::to_owned);
        let words = self.parts.iter().map(PartDraft::typed).chain(beside).filter(|words| !words.trim().is_empty());
        Some(words.collect::<Vec<_>>().join("\n\n")).filter(|typed| !typed.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(json: &str) -> PartDraft {
        PartDraft::new(serde_json::from_str(json).unwrap())
    }

    fn typed(mut draft: PartDraft, words: &str) -> Result<AnswerValue, Unclear> {
        assert!(draft.choose(Choosable::Words));
        draft.words = text_window::area(words);
        draft.value()
    }

    #[test]
    fn typed_words_are_an_option_only_by_its_key() {
        let ship = || draft(r#"{"question":"Ship?","options":{"nowait":"Ship at once","no":"Do not ship"}}"#);
        assert_eq!(typed(ship(), "no"), Ok(AnswerValue::Text("no".into())));
        assert_eq!(typed(ship(), "none of it"), Ok(AnswerValue::Text("none of it".into())));
        for words in ["nowa", "nwoait", "nowiat"] {
            let is_near = matches!(typed(ship(), words), Err(Unclear::NearMiss(AtStake::NearMiss { near, .. })) if near[0].key == "nowait");
            assert!(is_near, "{words}");
        }
        assert!(matches!(typed(ship(), " "), Err(Unclear::Because(_))));
    }

    #[test]
    fn enter_alone_decides_nothing() {
        for question in [r#"{"question":"?","options":{"a":"","b":""}}"#, r#"{"question":"?","type":"yes_no"}"#, r#"{"question":"?"}"#] {
            assert!(matches!(draft(question).value(), Err(Unclear::Because(_))), "{question}");
        }
    }

    #[test]
    fn a_digit_is_a_place_unless_keys_are_numbers() {
        let plain = draft(r#"{"question":"?","options":{"a":"","b":""}}"#);
        assert_eq!(plain.by_digit('2'), Some(Choosable::Option(1)));
        assert_eq!(plain.by_digit('3'), Some(Choosable::Words));
        assert_eq!(plain.by_digit('0'), None);
        let numbers = draft(r#"{"question":"?","options":{"3":"three","1":"one"},"free_text":false}"#);
        assert_eq!(numbers.by_digit('1'), Some(Choosable::Option(1)));
        assert_eq!(numbers.by_digit('2'), None);
    }

    #[test]
    fn a_yes_or_no_that_is_typed_again_is_the_last_one() {
        for (typed, chosen) in [
            ("y", Some(Choosable::Yes)),
            ("yy", Some(Choosable::Yes)),
            ("yesyes", Some(Choosable::Yes)),
            ("yesn", Some(Choosable::No)),
            ("nn", Some(Choosable::No)),
            ("noy", Some(Choosable::Yes)),
            ("none", None),
            ("nope", None),
        ] {
            let mut part = draft(r#"{"question":"?","type":"yes_no"}"#);
            typed.chars().for_each(|letter| {
                if !part.add_letter(letter) {
                    part.add_other_letter(letter);
                }
            });
            assert_eq!((part.chosen(), part.is_spelled()), (chosen, true), "{typed}");
        }
    }

    #[test]
    fn several_options_are_sent_only_if_they_are_marked() {
        let mut many = draft(r#"{"question":"?","type":"multi_choice","options":{"a":"","b":"","c":""}}"#);
        assert!(many.value().is_err(), "the line that is chosen is not marked by that");
        many.marked = [2, 0].into();
        assert_eq!(many.value(), Ok(AnswerValue::List(vec!["a".into(), "c".into()])));
        assert_eq!(typed(many, "and fuzz"), Ok(AnswerValue::List(vec!["a".into(), "c".into(), "and fuzz".into()])));
    }

    #[test]
    fn a_number_is_checked_before_it_is_sent() {
        let number = || draft(r#"{"question":"?","type":"number"}"#);
        assert!(typed(number(), "abc").is_err());
        assert_eq!(typed(number(), " 42 "), Ok(AnswerValue::Text("42".into())));
        let bounded = || draft(r#"{"question":"?","type":"number","range":{"min":1,"max":9}}"#);
        for (wrong, said) in [("abc", "`abc` is not a number; write a number from 1 to 9"), ("42", "`42` is not a number from 1 to 9")] {
            assert_eq!(typed(bounded(), wrong), Err(Unclear::Number(said.into())), "no example that is refused");
        }
        assert_eq!(typed(bounded(), "9"), Ok(AnswerValue::Text("9".into())));
    }
}
