//! Taking answers back: the last one, or all questions that were declined together.

use std::time::{Duration, Instant};

use crate::app::{App, ToldUndo};
use crate::sender;
use askbox_cli::answering;
use askbox_mailbox::{Result, RoundAt, excerpt};

/// The second `u` must come after this time. Within a word, a person types faster.
const UNDO_AGAIN: Duration = Duration::from_millis(350);

impl App<'_> {
    /// Takes the answers to these rounds back, if the last key has named them. Otherwise names them. Without rounds, it is the last decision.
    pub(super) fn ask_to_undo(&mut self, rounds: Vec<RoundAt>, told: Option<ToldUndo>) {
        let rounds = if rounds.is_empty() { self.sent.last() } else { rounds };
        let [first, others @ ..] = rounds.as_slice() else {
            "nothing was answered from here that could be taken back; tab shows earlier answers".clone_into(&mut self.said);
            return;
        };
        // In a word such as `uuidgen`, the second `u` comes at once, also if a busy machine handles it later.
        if told.is_some_and(|told| told.rounds == rounds && told.told.elapsed() >= UNDO_AGAIN) && self.gate.was_seen().is_ok() {
            return self.undo(&rounds);
        }
        let what = if others.is_empty() {
            let (address, answer) = (first.address(), self.sender.unclaimed(first));
            answer.map_or_else(|| format!("the answer to {address}"), |answer| answering::named(&address, &answer))
        } else {
            let names: Vec<_> = rounds.iter().map(|at| at.address().to_string()).collect();
            format!("all {} that were declined together: {}", names.len(), excerpt(&names.join(", "), 160))
        };
        self.said = format!("u again takes back {what}");
        self.told_undo = Some(ToldUndo { rounds, told: Instant::now() });
    }

    fn undo(&mut self, rounds: &[RoundAt]) {
        let results: Vec<_> = rounds.iter().map(|at| (at.address(), self.undo_one(at))).collect();
        let back = results.iter().filter(|(_, result)| result.is_ok()).count();
        let is_one = results.len() == 1;
        let mut said: Vec<_> = (!is_one && back > 0).then(|| format!("{back} questions wait again")).into_iter().collect();
        said.extend(results.into_iter().filter_map(|(address, result)| match result {
            Ok(answer) => is_one.then(|| format!("{address}: taken back ({answer}); the question waits again")),
            Err(e) if is_one => Some(sender::in_one_line(e)),
            Err(e) => Some(format!("{address}: {}", sender::in_one_line(e))),
        }));
        self.said = said.join(" · ");
    }

    /// Takes an answer back. The draft behind the answer becomes the draft again.
    fn undo_one(&mut self, at: &RoundAt) -> Result<String> {
        let result = self.sender.undo(at);
        if result.is_ok() {
            for draft in self.sent.take_back(at).into_iter().rev() {
                self.keeping.put_again(at.clone(), draft);
            }
            self.waiting.prefer(&at.address());
        }
        self.read_now(at.address());
        result
    }
}
