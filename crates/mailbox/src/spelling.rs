//! Compares a word that a person wrote with the known names.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// The longest text, in characters, that is searched for misspellings.
const MAX_COMPARED: usize = 64;

/// Returns the text in NFC, the form in which keyboards write: `é` is one character. In file names of a Mac it is two, which look the
/// same.
pub fn composed(text: &str) -> Cow<'_, str> {
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        IsNormalized::No | IsNormalized::Maybe => Cow::Owned(text.nfc().collect()),
    }
}

/// True if two texts are the same text for a person: equal in NFC.
pub fn same(a: &str, b: &str) -> bool {
    a == b || composed(a) == composed(b)
}

/// Returns the letters and digits of a text, in lower case and in NFC.
pub fn letters(text: &str) -> String {
    composed(text).chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns how many characters must be inserted, removed, replaced, or swapped with their neighbour to turn one text into the
/// other, and the length of the longer text in characters.
fn distance(a: &str, b: &str) -> (usize, usize) {
    let longer = a.chars().count().max(b.chars().count());
    (if longer > MAX_COMPARED { longer } else { strsim::osa_distance(a, b) }, longer)
}

/// True if a word is probably meant as this key: only its punctuation differs, it is the beginning of the key, at most a third of its
/// characters are wrong, or two are and the word has the letters of the key in another order, such as `mreg` for `merge`.
pub fn is_close(given: &str, key: &str) -> bool {
    let (word, known) = (letters(given), letters(key));
    if word.is_empty() || known.is_empty() {
        let (wrong, of) = distance(&composed(given).to_lowercase(), &composed(key).to_lowercase());
        return wrong * 3 <= of;
    }
    let (wrong, of) = distance(&word, &known);
    known.starts_with(&word) || wrong * 3 <= of || wrong == 2 && of >= 4 && has_letters_of(&word, &known)
}

/// True if a word has the letters of the other one in any order, save one that is missing or one too many.
fn has_letters_of(word: &str, known: &str) -> bool {
    let (mut too_many, mut missing) = (0, known.chars().collect::<Vec<_>>());
    for letter in word.chars() {
        match missing.iter().position(|known| *known == letter) {
            Some(at) => drop(missing.swap_remove(at)),
            None => too_many += 1,
        }
    }
    too_many + missing.len() <= 1
}

/// True if `given` is probably a misspelling of `known`, which must have at least four letters: one character is wrong, or at most
/// one in five. Stricter than [`is_close`], because sentences that mean different things often share most of their letters.
pub fn is_typo(given: &str, known: &str) -> bool {
    let known = letters(known);
    let (wrong, of) = distance(&letters(given), &known);
    known.chars().count() >= 4 && wrong <= (of / 5).max(1)
}

/// True if `given` is probably meant as the known field name, but is not equal to it. It may differ by its case, its `_` or `-`, a
/// missing `_id`, or one wrong character in five. Stricter than [`is_close`], because writers may add fields of their own.
pub fn is_misspelt(given: &str, known: &str) -> bool {
    if given == known {
        return false;
    }
    let (word, name) = (letters(given), letters(known));
    word == name || name.strip_suffix("id") == Some(&word) && known.ends_with("_id") || is_typo(given, known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_and_a_beginning_are_close_to_a_key() {
        for given in ["merg", "mrege", "mreg", "gmere", "merge!", "\"merge\"", "m", "merged", "nerge", "Merge.", "me-rge"] {
            assert!(is_close(given, "merge"), "{given}");
        }
        for given in ["split", "maybe", "fore", "neither", "merge, but keep the introduction", "emergency exit", "👍", "?"] {
            assert!(!is_close(given, "merge"), "{given}");
        }
        assert!(is_close("yep", "yes") && is_close("keep both", "keep-both") && is_close("postgresql", "postgres"));
        assert!(!is_close("no", "yes") && !is_close("on", "no") && !is_close("sey", "yes"));
    }

    #[test]
    fn a_text_is_the_same_composed_and_decomposed() {
        assert!(same("Übersicht é", "U\u{308}bersicht e\u{301}") && same("a", "a") && !same("e", "é"));
        assert_eq!(letters("e\u{301}-1"), letters("É-1"));
        assert!(matches!(composed("é"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_field_of_the_writers_own_is_not_taken_for_a_known_one() {
        for (given, known) in
            [("tpye", "type"), ("Question", "question"), ("expiresAt", "expires_at"), ("workflow", "workflow_id"), ("optons", "options")]
        {
            assert!(is_misspelt(given, known), "{given}");
        }
        for (given, known) in
            [("type", "type"), ("tags", "type"), ("cmd", "cwd"), ("asked_at", "asked_by"), ("time", "timestamp"), ("id", "cwd")]
        {
            assert!(!is_misspelt(given, known), "{given}");
        }
    }

    #[test]
    fn long_texts_are_compared_in_no_time() {
        let (long, other) = ("a".repeat(1 << 20), "b".repeat(1 << 20));
        assert!(!is_close(&long, &other) && !is_close(&long, "a") && is_close(&"a".repeat(70), &long));
    }
}
