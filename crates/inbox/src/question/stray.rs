//! Letters that a person types in one go while an option can be chosen, as in `git status` in the wrong window. Some of them are keys: `g`
//! chooses the first option, and `i` begins own words. If one of them does nothing here, the next enter asks first.

use std::time::{Duration, Instant};

use askbox_cli::person::AtStake;

/// A longer pause ends the word. A person who moves with letters, and then begins own words, waits this long.
const PAUSE: Duration = Duration::from_secs(1);

/// Within a word, a person types faster than this.
const WITHIN: Duration = Duration::from_millis(400);

/// The letters since the last pause or other key.
#[derive(Debug, Default)]
pub struct TypedLetters {
    word: String,
    last: Option<Instant>,
    is_stray: bool,
}

impl TypedLetters {
    /// Notes a letter. `is_key` is true if it has an effect that could be meant after other letters.
    pub fn note(&mut self, letter: char, is_key: bool) {
        self.end_after_a_pause();
        self.is_stray |= !is_key;
        self.word.push(letter);
        self.last = Some(Instant::now());
    }

    /// Ends the word if its last letter was typed a while ago: what is typed now was meant.
    pub fn end_after_a_pause(&mut self) {
        if !self.is_within_a_word() {
            self.forget();
        }
    }

    /// True if the last letter was typed long enough ago for the next one to be a key of its own, and not of the same word.
    pub fn has_paused(&self) -> bool {
        self.last.is_none_or(|last| last.elapsed() >= WITHIN)
    }

    /// True if a letter was typed just before, so that another one goes on with its word.
    pub fn is_within_a_word(&self) -> bool {
        self.last.is_some_and(|last| last.elapsed() <= PAUSE)
    }

    /// Forgets the letters, because another key was pressed.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// The word, if it was hardly meant for this question, with the text that was typed behind it.
    pub fn at_stake(&self, behind: &str) -> Option<AtStake> {
        self.is_stray.then(|| AtStake::Strayed { word: format!("{}{behind}", self.word) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strange_letter_makes_a_word_of_movements_until_a_pause() {
        let mut typed = TypedLetters::default();
        for letter in ['j', 'j', 'k'] {
            typed.note(letter, true);
        }
        assert!(typed.at_stake("").is_none() && typed.is_within_a_word());
        typed.note('x', false);
        typed.note('j', true);
        assert_eq!(typed.at_stake(" ls"), Some(AtStake::Strayed { word: "jjkxj ls".into() }));
        typed.last = Instant::now().checked_sub(2 * PAUSE);
        assert!(typed.at_stake("").is_some() && !typed.is_within_a_word(), "enter after a pause asks as well");
        typed.end_after_a_pause();
        assert!(typed.at_stake("").is_none(), "what was chosen since was meant");
    }
}
