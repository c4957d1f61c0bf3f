//! A screen that is too small for what its keys decide. The drawing finds that out, and then only the keys that leave work.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use crate::app::{App, Place};
use crate::gate::{Panel, Shown};
use crate::question::draft::PartDraft;

impl App<'_> {
    /// Notes that a picture is on the screen, and how much of a decision it shows.
    pub fn drawn(&mut self, shown: Shown) {
        let hid_names = self.gate.panel().is_some_and(Panel::hides_names);
        self.gate.drawn(shown);
        if hid_names && !self.gate.panel().is_some_and(Panel::hides_names) {
            // The last name is on the screen now, so the sentence changes.
            self.said = self.pending_question().unwrap_or_default();
            self.picture_is_old = true;
        }
        // The help stands in front of the text.
        if let (Shown::Whole, None, Place::Question(opened)) = (shown, self.help, &mut self.place) {
            opened.scroll.was_drawn();
        }
    }

    /// True if the message asks for a key that decides. The person must see all of it.
    pub fn asks(&self) -> bool {
        self.gate.pending().is_some() || self.told_undo.is_some()
    }

    /// True if an event has its usual effect. If not, what was asked before is forgotten.
    pub fn takes(&mut self, event: &Event) -> bool {
        match event {
            Event::Resize(..) => self.gate.resized(),
            Event::Key(_) | Event::Paste(_) | Event::Mouse(_) if !self.gate.shows_all() => {
                let leaves = matches!(event, Event::Key(key) if self.leaves(*key));
                if !leaves {
                    if self.asks() {
                        self.said.clear();
                    }
                    self.told_undo = None;
                    self.gate.pasted();
                }
                return leaves;
            }
            _ => {}
        }
        true
    }

    fn leaves(&self, key: KeyEvent) -> bool {
        match key.code {
            KeyCode::Esc => true,
            KeyCode::Char('c' | 'z') => key.modifiers.contains(KeyModifiers::CONTROL),
            KeyCode::Char('q') => key.modifiers.is_empty() && self.q_leaves(),
            _ => false,
        }
    }

    /// False where `q` is a letter of a text, or leaves nothing.
    fn q_leaves(&self) -> bool {
        self.asked.is_none()
            && self.gate.panel().is_none()
            && !matches!(&self.place, Place::Question(opened) if opened.draft.part().is_some_and(PartDraft::writes))
    }

    /// The words on a screen that is too small.
    pub fn too_small(&self) -> String {
        format!("too small: only {}esc and ctrl-c work", if self.q_leaves() { "q, " } else { "" })
    }
}
