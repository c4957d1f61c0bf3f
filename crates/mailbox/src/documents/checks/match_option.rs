//! Finds the option that a person's words mean: one, perhaps one, or none.

use serde_json::Value;

use crate::spelling::{composed, is_close, is_typo, letters};
use crate::{Answer, AnswerValue, Choice, Kind, Options, Part, Question};

/// The meaning of words, compared with the options of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning<'a> {
    /// The words mean this option. Spaces around them and upper or lower case do not matter. The description stands for the key.
    Option(&'a Choice),
    /// The words perhaps mean one of these options: they are a misspelt key or description, or fit several options. The list is
    /// empty if they are a bare number or a single letter that is close to no option.
    NearMiss(Vec<&'a Choice>),
    /// The words mean no option: they are the person's own.
    OwnWords,
}

/// Returns what words mean, compared with these options.
pub fn meaning<'a>(options: &'a Options, words: &str) -> Meaning<'a> {
    if let Some(choice) = options.get(words) {
        return Meaning::Option(choice);
    }
    // The option keeps the asker's spelling. Only the comparison takes all texts in NFC.
    let words = &*composed(words.trim());
    let (key, description) = (|c: &Choice| composed(c.key.trim()).into_owned(), |c: &Choice| composed(c.description.trim()).to_lowercase());
    let folded = words.to_lowercase();
    let found = |fits: &dyn Fn(&Choice) -> bool| options.0.iter().filter(|c| fits(c)).collect::<Vec<_>>();
    for same in [
        found(&|c| key(c) == words),
        found(&|c| key(c).to_lowercase() == folded),
        found(&|c| !folded.is_empty() && description(c) == folded),
    ] {
        match same.as_slice() {
            [] => {}
            [choice] => return Meaning::Option(choice),
            _ => return Meaning::NearMiss(same),
        }
    }
    let given = letters(words);
    let is_written_out = |c: &Choice| {
        let described = letters(&c.description);
        !described.is_empty() && (given == described || given.strip_prefix(&letters(&c.key)) == Some(&described))
    };
    let near = found(&|c| is_close(words, &c.key) || is_written_out(c) || is_typo(words, &c.description));
    if near.is_empty() && !is_bare(words) { Meaning::OwnWords } else { Meaning::NearMiss(near) }
}

/// True if words are only a number or a letter, as in `2`, `#2`, `(b)` or `1.5`. They perhaps mean the place of an option in a list.
fn is_bare(words: &str) -> bool {
    let inner = words.trim_matches(['#', '(', ')', '.', ':']);
    inner.parse::<f64>().is_ok_and(f64::is_finite) || matches!(inner.as_bytes(), [b] if b.is_ascii_alphabetic())
}

/// Returns the parts of a question, by their places from zero, that have options but are answered with something else.
pub fn in_own_words(question: &Question, value: &AnswerValue) -> Vec<usize> {
    let is_own = |part: &Part, value: &AnswerValue| {
        let is_option = |key: &String| part.options.get(key).is_some();
        matches!(part.kind(), Kind::Choice | Kind::MultiChoice)
            && match value {
                AnswerValue::Text(key) => !is_option(key),
                AnswerValue::List(keys) => !keys.iter().all(is_option),
                AnswerValue::Batch(_) => false,
            }
    };
    let value_of = |n: usize, part: &Part| match value {
        AnswerValue::Batch(map) => map.get(&part.key(n)).and_then(|v| AnswerValue::from_json(v.clone()).ok()),
        value => Some(value.clone()),
    };
    let parts = question.parts();
    parts.iter().enumerate().filter(|(n, part)| value_of(*n, part).is_some_and(|v| is_own(part, &v))).map(|(n, _)| n).collect()
}

/// Returns the field `own_words` that programs print beside an answer: true if the answer is none of the options. For a batch, the
/// ids of those questions.
pub fn told(question: &Question, reply: &Answer) -> Value {
    let parts = reply.value.as_ref().map(|value| in_own_words(question, value)).unwrap_or_default();
    if question.is_batch() { parts.iter().map(|n| question.questions[*n].key(*n)).collect() } else { Value::Bool(!parts.is_empty()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(json: &str) -> Options {
        serde_json::from_str(json).unwrap()
    }

    /// Returns the key of the option that words mean, `near:…` with the options of a near miss, or an empty text for own words.
    fn meant(options: &Options, words: &str) -> Option<String> {
        match meaning(options, words) {
            Meaning::Option(choice) => Some(choice.key.clone()),
            Meaning::NearMiss(near) => Some(format!("near:{}", near.iter().map(|c| c.key.as_str()).collect::<Vec<_>>().join(","))),
            Meaning::OwnWords => None,
        }
    }

    #[test]
    fn a_key_or_its_description_decides_in_any_case_and_spacing() {
        let both = options(r#"{"merge":"Merge into one","keep":"Keep both"}"#);
        for words in ["merge", " merge\n", "MERGE", "Merge", "merge into one", " Merge Into One "] {
            assert_eq!(meant(&both, words).as_deref(), Some("merge"), "{words:?}");
        }
        for (words, near) in [
            ("merg", "near:merge"),
            ("mreg", "near:merge"),
            ("merge!", "near:merge"),
            ("k", "near:keep"),
            ("Keep both.", "near:keep"),
            ("Kep both", "near:keep"),
            ("merge inot one", "near:merge"),
            ("merge (Merge into one)", "near:merge"),
            ("2", "near:"),
            ("(b)", "near:"),
        ] {
            assert_eq!(meant(&both, words).as_deref(), Some(near), "{words:?}");
        }
        for words in ["neither; ask Bob", "both, but merge the ends", "2026-11-22", "10%", "👍", "split"] {
            assert_eq!(meant(&both, words), None, "{words:?}");
        }
    }

    #[test]
    fn numbers_are_keys_where_the_asker_made_them_keys() {
        let numbers = options(r#"{"1":"One","2":"Two","10":"Ten"}"#);
        for (words, is) in [("1", "1"), (" 10", "10"), ("two", "2"), ("1.", "near:1,10"), ("3", "near:"), ("#2", "near:2")] {
            assert_eq!(meant(&numbers, words).as_deref(), Some(is), "{words:?}");
        }
    }

    #[test]
    fn words_that_fit_two_options_decide_for_neither() {
        let twins = options(r#"{"a":"The same","A":"the same","b":"Other"}"#);
        assert_eq!(meant(&twins, "A").as_deref(), Some("A"));
        assert_eq!(meant(&twins, "a ").as_deref(), Some("a"));
        assert_eq!(meant(&twins, "the same").as_deref(), Some("near:a,A"));
    }
}
