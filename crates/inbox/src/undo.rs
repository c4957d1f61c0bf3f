//! Taking an answer back.

use std::time::{Duration, Instant};

use crate::app::{App, ToldUndo};
use crate::sender::{self, RoundAt};
use askbox_cli::ask_answer::answering;

/// The second `u` must come after this time. Within a word, a person types faster.
const UNDO_AGAIN: Duration = Duration::from_millis(350);

impl App<'_> {
    /// Takes the answer to this round back, if the last key has named it. Otherwise names it.
    pub(super) fn ask_to_undo(&mut self, at: Option<RoundAt>, told: Option<ToldUndo>) {
        let Some(at) = at.or_else(|| self.sent.last().cloned()) else {
            "nothing was answered from here that could be taken back; tab shows earlier answers".clone_into(&mut self.said);
            return;
        };
        // In a word such as `uuidgen`, the second `u` comes at once, also if a busy machine handles it later.
        if told.is_some_and(|told| told.at == at && told.told.elapsed() >= UNDO_AGAIN) && self.gate.in_no_haste().is_ok() {
            return self.undo(at);
        }
        let address = at.address();
        let what = self.sender.unclaimed(&at).map(|answer| answering::named(&address, &answer));
        self.said = format!("u again takes back {}", what.unwrap_or_else(|| format!("the answer to {address}")));
        self.told_undo = Some(ToldUndo { at, told: Instant::now() });
    }

    /// Takes an answer back. The draft behind the answer becomes the draft again.
    fn undo(&mut self, at: RoundAt) {
        match self.sender.undo(&at) {
            Ok(answer) => {
                for draft in self.sent.take_back(&at).into_iter().rev() {
                    self.keeping.put_again(at.clone(), draft);
                }
                self.waiting.prefer(&at.address());
                self.said = format!("{}: taken back ({answer}); the question waits again", at.address());
            }
            Err(e) => self.said = sender::in_one_line(e),
        }
        self.read_now(at.address());
    }
}
