//! A key that is held down decides nothing: it would answer one question, open the next one, and send what is found there.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent};

/// A key that is held down comes again every 25 to 50 ms; who presses it twice takes longer.
const AGAIN: Duration = Duration::from_millis(120);

/// Enter, as it was pressed last.
#[derive(Debug, Default)]
pub(super) struct Enter {
    /// When, if it was the last key; once its effect is on the screen, when that was drawn: on a busy machine, keys wait while one is at work.
    at: Option<Instant>,
    is_drawn: bool,
    is_held: bool,
}

impl Enter {
    /// A key was pressed.
    pub(super) fn note(&mut self, key: KeyEvent) {
        let is_enter = key.code == KeyCode::Enter;
        let before = std::mem::replace(&mut self.at, is_enter.then(Instant::now));
        self.is_held = is_enter && before.is_some_and(|at| at.elapsed() < AGAIN);
        self.is_drawn = false;
    }

    /// The screen shows what the last key did.
    pub(super) fn drawn(&mut self) {
        if !std::mem::replace(&mut self.is_drawn, true) {
            self.at = self.at.map(|_| Instant::now());
        }
    }

    /// Whether the last key is enter, and is held down.
    pub(super) fn is_held(&self) -> bool {
        self.is_held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_is_held_if_it_comes_before_a_person_could_have_seen_what_the_last_one_did() {
        let (enter, other) = (KeyEvent::from(KeyCode::Enter), KeyEvent::from(KeyCode::Char('1')));
        let mut keys = Enter::default();
        keys.note(enter);
        assert!(!keys.is_held(), "the first one");
        // The key was at work for long, and its picture is new.
        keys.at = Instant::now().checked_sub(AGAIN);
        keys.drawn();
        keys.note(enter);
        assert!(keys.is_held());
        // A later picture, such as another age of a question, makes no key a held one.
        keys.drawn();
        keys.at = Instant::now().checked_sub(AGAIN);
        keys.drawn();
        keys.note(enter);
        assert!(!keys.is_held());
        keys.note(other);
        keys.note(enter);
        assert!(!keys.is_held(), "another key was between");
    }
}
