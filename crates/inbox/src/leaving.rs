//! The key that leaves the inbox. Within a word it does not leave.

use crossterm::event::KeyCode;

use crate::app::{App, Wish};

impl App<'_> {
    /// Notes a key, if it is a letter. Returns true if it belongs to a word that was begun before.
    pub(super) fn goes_on_with_a_word(&mut self, code: KeyCode, keys: &str) -> bool {
        let has_begun = self.letters.has_begun();
        match code {
            KeyCode::Enter => {}
            KeyCode::Char(c) => self.letters.note(c, keys.contains(c)),
            other => self.letters.other_key(other),
        }
        has_begun
    }

    /// Leaves the inbox, unless the key belongs to a word: the rest of that line would go to the shell.
    pub(super) fn leave_unless(&mut self, is_in_a_word: bool) -> Wish {
        if !is_in_a_word {
            return Wish::Leave(0);
        }
        "q is part of a word here: esc, then q leaves the inbox".clone_into(&mut self.said);
        Wish::Nothing
    }
}
