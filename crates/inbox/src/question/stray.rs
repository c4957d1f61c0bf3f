//! Letters that a person types while no text is written, as in `git status` in the wrong window. Some of them are keys: `g` chooses the
//! first option, and `i` begins own words. If one of them is not a key here, the next enter asks first.
//!
//! Such a letter is not forgotten after a pause, because a person may pause within a line: `sleep 2`. Nor is it forgotten after an
//! arrow key, because `↑` and enter repeat a command. Esc or the mouse shows that the person means this window.

use std::time::{Duration, Instant};

use crossterm::event::KeyCode;

use askbox_cli::AtStake;
use askbox_cli::person::Next;

/// After a longer pause, letters that are keys begin a new word. A person who moves with letters, and then begins own words, waits this
/// long.
const PAUSE: Duration = Duration::from_secs(1);

/// Within a word, a person types faster than this.
const WITHIN: Duration = Duration::from_millis(400);

/// The letters that were typed.
#[derive(Debug, Default)]
pub struct TypedLetters {
    word: Vec<Letter>,
    last: Option<Instant>,
    /// True if another key than a letter was pressed since the last letter.
    is_interrupted: bool,
    /// True if the key that is being handled came together with the key before.
    is_together: bool,
}

#[derive(Debug, Clone, Copy)]
struct Letter {
    letter: char,
    /// True if it has an effect that could be meant after other letters.
    is_key: bool,
}

impl TypedLetters {
    /// Begins with a key. `is_together` is true if the key came together with the key before. A busy machine may have taken long for that
    /// one.
    pub fn begin(&mut self, is_together: bool) {
        self.is_together = is_together;
    }

    /// Notes a letter. `is_key` is true if it has an effect that could be meant after other letters.
    pub fn note(&mut self, letter: char, is_key: bool) {
        if !self.is_within_a_word() && !self.is_stray() {
            self.forget();
        }
        self.word.push(Letter { letter, is_key });
        self.last = Some(Instant::now());
        self.is_interrupted = false;
    }

    /// Notes a letter that is a key, if it goes on with a word.
    pub fn go_on(&mut self, letter: char) {
        if !self.word.is_empty() {
            self.note(letter, true);
        }
    }

    /// Notes a key that is not a letter.
    pub fn other_key(&mut self, code: KeyCode) {
        self.is_interrupted = true;
        match code {
            KeyCode::Esc => self.forget(),
            KeyCode::Backspace => drop(self.word.pop()),
            _ => {}
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

    /// True if the next letter belongs to a word, such as `jq` or `:wq`. Then `q` must not leave, because the rest of the line would go to
    /// the shell.
    pub fn has_begun(&self) -> bool {
        let goes_on = !self.has_paused() || self.is_together && self.last.is_some();
        !self.is_interrupted && (self.is_stray() || goes_on)
    }

    /// Forgets the letters.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    fn is_stray(&self) -> bool {
        self.word.iter().any(|letter| !letter.is_key)
    }

    /// The word, if it was hardly meant for this window.
    pub fn strange(&self) -> Option<String> {
        self.is_stray().then(|| self.word.iter().map(|letter| letter.letter).collect())
    }

    /// The word, if it was hardly meant for this window, with the text that was typed behind it. `next` is the effect of the next enter.
    pub fn at_stake(&self, behind: &str, next: Next) -> Option<AtStake> {
        let dead = self.word.iter().filter(|letter| !letter.is_key).map(|letter| letter.letter).collect();
        self.strange().map(|word| AtStake::Strayed { word: format!("{word}{behind}"), dead, next: next.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A time that a slow test does not outlive, so it counts as just now.
    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(3600)
    }

    #[test]
    fn a_strange_letter_makes_a_word_that_no_pause_ends() {
        let mut typed = TypedLetters::default();
        for letter in ['j', 'j', 'k'] {
            typed.last = typed.last.map(|_| soon());
            typed.note(letter, true);
        }
        typed.last = Some(soon());
        assert!(typed.strange().is_none() && typed.is_within_a_word());
        typed.note('x', false);
        typed.last = Instant::now().checked_sub(2 * PAUSE);
        typed.note('j', true);
        assert_eq!(typed.strange(), Some("jjkxj".into()));
        typed.other_key(KeyCode::Tab);
        typed.other_key(KeyCode::Up);
        assert!(typed.strange().is_some(), "a shell line may hold it");
        typed.other_key(KeyCode::Esc);
        assert!(typed.strange().is_none(), "what was chosen since was meant");
    }

    #[test]
    fn a_letter_that_leaves_belongs_to_a_word_that_was_begun() {
        let mut typed = TypedLetters::default();
        typed.begin(true);
        assert!(!typed.has_begun(), "there is no letter before");
        typed.begin(false);
        assert!(!typed.has_begun());
        typed.note('j', true);
        typed.last = Some(soon());
        assert!(typed.has_begun(), "jq");
        typed.last = Instant::now().checked_sub(PAUSE);
        typed.begin(true);
        assert!(typed.has_begun(), "jq, on a busy machine");
        typed.begin(false);
        assert!(!typed.has_begun(), "the list was moved, and then left");
        typed.note('j', true);
        typed.other_key(KeyCode::Down);
        assert!(!typed.has_begun());
        typed.note(':', false);
        typed.last = Instant::now().checked_sub(2 * PAUSE);
        assert!(typed.has_begun(), ":wq");
        typed.other_key(KeyCode::Esc);
        assert!(!typed.has_begun());
        typed.note('x', false);
        typed.other_key(KeyCode::PageDown);
        assert!(!typed.has_begun(), "the person has moved since");
    }

    #[test]
    fn a_pause_ends_keys_and_backspace_takes_a_letter_back() {
        let mut typed = TypedLetters::default();
        typed.go_on('1');
        typed.note('j', true);
        typed.last = Instant::now().checked_sub(2 * PAUSE);
        typed.note('i', true);
        typed.last = Some(soon());
        typed.note('x', false);
        assert_eq!(typed.strange(), Some("ix".into()));
        typed.other_key(KeyCode::Backspace);
        assert!(typed.strange().is_none());
    }
}
