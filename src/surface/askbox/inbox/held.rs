//! A key that is held down decides nothing: it would answer one question, open the next one, and send what is found there.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent};

use crate::surface::askbox::inbox::app::App;

/// A key that is held down comes again every 25 to 50 ms; who presses it twice takes longer.
const AGAIN: Duration = Duration::from_millis(120);

/// Enter, as it was pressed last.
#[derive(Debug, Default)]
pub(super) struct Enter {
    /// When, if it was the last key.
    at: Option<Instant>,
    is_held: bool,
}

impl App<'_> {
    pub(super) fn note_enter(&mut self, key: KeyEvent) {
        let is_enter = key.code == KeyCode::Enter;
        let before = std::mem::replace(&mut self.enter.at, is_enter.then(Instant::now));
        self.enter.is_held = is_enter && before.is_some_and(|at| at.elapsed() < AGAIN);
    }

    /// Whether the key that is about to decide something is enter, and is held down. The person is told.
    pub(super) fn tells_that_enter_is_held(&mut self) -> bool {
        if self.enter.is_held {
            "enter is held down, and decides nothing: release it, and press it again".clone_into(&mut self.said);
        }
        self.enter.is_held
    }
}
