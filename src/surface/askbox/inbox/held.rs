//! A key that is held down decides nothing: it would answer one question, open the next one, and send what is found there.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent};

/// A key that is held down comes again every 25 to 50 ms; who presses it twice takes longer.
const AGAIN: Duration = Duration::from_millis(120);

/// Enter, as it was pressed last.
#[derive(Debug, Default)]
pub(super) struct Enter {
    /// When, if it was the last key.
    at: Option<Instant>,
    is_held: bool,
}

impl Enter {
    /// A key was pressed.
    pub(super) fn note(&mut self, key: KeyEvent) {
        let is_enter = key.code == KeyCode::Enter;
        let before = std::mem::replace(&mut self.at, is_enter.then(Instant::now));
        self.is_held = is_enter && before.is_some_and(|at| at.elapsed() < AGAIN);
    }

    /// Whether the last key is enter, and is held down.
    pub(super) fn is_held(&self) -> bool {
        self.is_held
    }
}
