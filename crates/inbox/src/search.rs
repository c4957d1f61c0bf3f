//! Finds the questions that match what a person types into the filter, the best ones first, and the letters that match.
//!
//! A word matches where it stands in a text as it was typed. Other texts match if they have its letters in this order, close together
//! or at the beginnings of words: `dply` finds "Deploy". These come after the others. The words that name a field, such as
//! `project:NAME`, match as `ask-answer list --filter` says.

use std::cmp::Reverse;
use std::rc::Rc;

use fuzzy_matcher::FuzzyMatcher;
use fuzzy_matcher::skim::SkimMatcherV2;

use crate::row::Row;
use askbox_mailbox::spelling;

/// The least score for each letter of a word. Nearly every long question has the letters of a short word somewhere, and scores less.
const LEAST_SCORE: i64 = 17;

/// The words of a filter.
pub struct Search {
    /// The words that name a field.
    fields: String,
    words: Vec<String>,
    matcher: SkimMatcherV2,
}

/// How well a row matches, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// It has all words as they were typed.
    Words,
    /// It has the letters of the words, with this score.
    Letters(Reverse<i64>),
}

impl Search {
    pub fn new(filter: &str) -> Self {
        let names_field = |word: &&str| ["project:", "by:", "host:", "priority:", "is:"].iter().any(|field| word.starts_with(field));
        let typed = folded(filter);
        let (fields, words): (Vec<&str>, Vec<&str>) = typed.split_whitespace().partition(names_field);
        Self {
            fields: fields.join(" "),
            words: words.into_iter().map(str::to_owned).collect(),
            matcher: SkimMatcherV2::default().ignore_case(),
        }
    }

    /// The rows that match. Those that match equally well keep their order.
    pub fn of<'a>(&self, rows: impl Iterator<Item = &'a Rc<Row>>) -> Vec<Rc<Row>> {
        let mut found: Vec<_> = rows.filter_map(|row| Some((self.fit(row)?, row))).collect();
        found.sort_by_key(|(fit, _)| *fit);
        found.into_iter().map(|(_, row)| Rc::clone(row)).collect()
    }

    fn fit(&self, row: &Row) -> Option<Fit> {
        let id = row.address.to_string();
        if !row.facts.fit(&id, &self.fields) {
            return None;
        }
        let texts = [&id, &row.facts.asked_by, &row.facts.project, &row.headline].map(|text| folded(text));
        let (mut all_stand, mut score) = (true, 0);
        for word in self.words.iter().filter(|word| !texts.iter().any(|text| text.contains(*word))) {
            all_stand = false;
            score += texts.iter().filter_map(|text| self.letters(text, word)).map(|(score, _)| score).max()?;
        }
        Some(if all_stand { Fit::Words } else { Fit::Letters(Reverse(score)) })
    }

    /// The score of a word's letters in a text, and their positions. Both are folded.
    fn letters(&self, text: &str, word: &str) -> Option<(i64, Vec<usize>)> {
        // Most texts fail here, which costs far less than a score.
        let mut left = text.chars();
        if !word.chars().all(|letter| left.any(|other| other == letter)) {
            return None;
        }
        let (score, at) = self.matcher.fuzzy_indices(text, word)?;
        (score >= LEAST_SCORE * i64::try_from(word.chars().count()).ok()?).then_some((score, at))
    }

    /// The positions of the characters of a text that match, in order.
    pub fn marks(&self, text: &str) -> Vec<usize> {
        let looked = folded(text);
        // The positions are only right if folding keeps every character in its place.
        if looked.chars().count() != text.chars().count() {
            return Vec::new();
        }
        let mut marks = Vec::new();
        for word in &self.words {
            match looked.find(word.as_str()) {
                Some(at) => {
                    let first = looked[..at].chars().count();
                    marks.extend(first..first + word.chars().count());
                }
                None => marks.extend(self.letters(&looked, word).into_iter().flat_map(|(_, at)| at)),
            }
        }
        marks.sort_unstable();
        marks.dedup();
        marks
    }
}

fn folded(text: &str) -> String {
    spelling::composed(text).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_cli::ask_answer::filter::Facts;

    fn row(id: &str, headline: &str) -> Rc<Row> {
        Rc::new(Row {
            address: id.parse().unwrap(),
            headline: headline.into(),
            is_unreadable: false,
            facts: Facts { asked_by: "reviewer".into(), project: "Website".into(), priority: 3, ..Facts::default() },
        })
    }

    fn found(rows: &[Rc<Row>], filter: &str) -> Vec<String> {
        Search::new(filter).of(rows.iter()).iter().map(|row| row.address.to_string()).collect()
    }

    #[test]
    fn what_has_the_words_comes_before_what_has_their_letters() {
        let rows = [
            row("docs-42", "Deploy the pages?"),
            row("copies", "The migration copies the old records; drop the backup?"),
            row("w13", "Is dply the right name?"),
            row("w3", "Merge the branch?"),
        ];
        assert_eq!(found(&rows, "dply"), ["w13", "docs-42"]);
        assert_eq!(found(&rows, "mrg"), ["w3"]);
        assert_eq!(found(&rows, "DC42 pags"), ["docs-42"]);
        assert_eq!(found(&rows, "prod"), [""; 0], "scattered letters are no match");
        assert_eq!(found(&rows, "w3"), ["w3", "w13"]);
        assert_eq!(found(&rows, "rview"), ["docs-42", "copies", "w13", "w3"], "all have this asker");
    }

    #[test]
    fn fields_are_matched_by_their_words_only() {
        let rows = [row("a", "Merge?")];
        for filter in ["", "project:web", "by:rev mrg", "priority:3", "project:Web merge"] {
            assert_eq!(found(&rows, filter), ["a"], "{filter}");
        }
        for filter in ["project:wbs", "by:rvr", "priority:4", "host:build", "project:web zzz"] {
            assert!(found(&rows, filter).is_empty(), "{filter}");
        }
    }

    #[test]
    fn the_letters_that_match_are_named_by_their_positions() {
        let search = Search::new("dply über");
        assert_eq!(search.marks("Deploy?"), [0, 2, 3, 5]);
        assert_eq!(search.marks("Die Tür über dem Tor"), [8, 9, 10, 11]);
        assert!(search.marks("nothing").is_empty());
        assert!(Search::new("İstanbul").marks("İstanbul").is_empty(), "lower case has more characters");
    }
}
