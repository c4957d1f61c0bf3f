//! What a person decides: the texts that are asked for, sending, declining several, taking back.

use std::rc::Rc;
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::error::Error;
use crate::id::{RoundId, WorkflowId};
use crate::surface::askbox::inbox::app::{App, Place, Wish};
use crate::surface::askbox::inbox::line::{self, Purpose};
use crate::surface::askbox::inbox::rows::Row;
use crate::surface::askbox::inbox::send::{self, Decision};

/// Questions that are declined once the person confirms it: those that were shown, and no others.
#[derive(Debug)]
pub struct Confirm {
    pub rows: Vec<Rc<Row>>,
    pub why: String,
}

impl App<'_> {
    pub(super) fn ask(&mut self, purpose: Purpose) {
        let before = match (purpose, &self.place) {
            (Purpose::Filter, _) => self.waiting.filter().to_owned(),
            (Purpose::Note, Place::Question(opened)) => opened.draft.note.clone(),
            _ => String::new(),
        };
        self.asked = Some((purpose, line::area(&before)));
    }

    pub(super) fn key_of_text(&mut self, key: KeyEvent) -> Wish {
        let Some((purpose, area)) = &mut self.asked else { return Wish::Nothing };
        let (purpose, newline) = (*purpose, key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT));
        match key.code {
            KeyCode::Esc => {
                self.asked = None;
                if purpose == Purpose::Filter {
                    self.waiting.clear_filter();
                }
                return Wish::Nothing;
            }
            KeyCode::Enter if newline && purpose != Purpose::Filter => area.insert_newline(),
            KeyCode::Enter => {
                let text = line::text(area);
                if purpose == Purpose::AskBack && text.trim().is_empty() {
                    "write your question, or leave with esc".clone_into(&mut self.said);
                    return Wish::Nothing;
                }
                self.asked = None;
                self.said.clear();
                return self.take(purpose, text);
            }
            // While words are typed, the list can be walked.
            KeyCode::Up if purpose == Purpose::Filter => self.waiting.step(-1),
            KeyCode::Down if purpose == Purpose::Filter => self.waiting.step(1),
            _ => {
                area.input(key);
                if purpose == Purpose::Filter {
                    let filter = line::text(area);
                    self.waiting.set_filter(filter);
                }
            }
        }
        Wish::Nothing
    }

    fn take(&mut self, purpose: Purpose, text: String) -> Wish {
        match purpose {
            Purpose::Filter => {}
            Purpose::DeclineMarked(_) => self.confirms = Some(Confirm { rows: self.waiting.marked(), why: text }),
            Purpose::Decline => return self.decide(Decision::Decline(text)),
            Purpose::AskBack => return self.decide(Decision::AskBack(text)),
            Purpose::Note => {
                if let Place::Question(opened) = &mut self.place {
                    opened.draft.note = text;
                }
            }
        }
        Wish::Nothing
    }

    pub(super) fn decide(&mut self, decision: Decision) -> Wish {
        if self.asks_only {
            self.decided = Some(decision);
            return Wish::Leave(0);
        }
        self.send(decision);
        Wish::Nothing
    }

    /// Sends a decision about the open question.
    fn send(&mut self, decision: Decision) {
        let Place::Question(opened) = &mut self.place else { return };
        let round = opened.round.id.clone();
        match self.sender.send(&round, decision, &opened.draft.note) {
            Ok(sent) => {
                let warning = sent.warning.map_or_else(String::new, |warning| format!(" · warning: {warning}"));
                let waits = if self.has_watcher == Some(false) { " · no watcher runs: relaunch watch" } else { "" };
                self.said = format!("{}: {} · u takes it back{waits}{warning}", round.workflow, sent.words);
                if let Place::Question(opened) = std::mem::replace(&mut self.place, Place::List) {
                    self.sent.push((sent.round, Some(opened.draft)));
                }
            }
            // The answer does not fit the question: the question stays open.
            Err(e @ (Error::Invalid { .. } | Error::Usage { .. })) => self.said = send::in_one_line(e),
            Err(e) => match self.sender.still_waits(&round) {
                Ok(()) => self.said = send::in_one_line(e),
                Err(_) => {
                    let typed = opened.draft.typed();
                    self.gone(round.workflow.clone(), send::in_one_line(e), typed);
                }
            },
        }
        self.read_now(round.workflow);
    }

    pub(super) fn key_of_confirm(&mut self, key: KeyEvent) -> Wish {
        match (key.code, self.confirms.take()) {
            (KeyCode::Char('y'), Some(confirmed)) => self.decline(&confirmed),
            (KeyCode::Esc | KeyCode::Char('n' | 'q'), _) => "nothing was declined".clone_into(&mut self.said),
            (_, open) => self.confirms = open,
        }
        Wish::Nothing
    }

    fn decline(&mut self, confirmed: &Confirm) {
        let (mut declined, mut failed) = (0, None);
        for row in &confirmed.rows {
            // A question that took another one's place meanwhile is not the one that was marked.
            let result = self.sender.pending(&row.workflow).and_then(|round| {
                if row.question.is_some_and(|shown| shown != round.id.question) {
                    return Err(Error::conflict(format!("{} asks another question by now", row.workflow), "look at it first"));
                }
                self.sender.send(&round.id, Decision::Decline(confirmed.why.clone()), "")
            });
            match result {
                Ok(sent) => {
                    declined += 1;
                    self.waiting.unmark(&row.workflow);
                    self.sent.push((sent.round, None));
                }
                Err(e) => failed = Some(send::in_one_line(e)),
            }
            self.waiting.changed(row.workflow.clone());
        }
        let questions = if declined == 1 { "question" } else { "questions" };
        self.said = match failed {
            None => format!("{declined} {questions} declined · u takes the last one back"),
            Some(why) => format!("{declined} {questions} declined; the marked ones are still open: {why}"),
        };
    }

    /// Takes an answer back: the one that was sent last, or that of this round. What it was made from is the draft again.
    pub(super) fn undo(&mut self, round: Option<RoundId>) {
        let Some(round) = round.or_else(|| self.sent.last().map(|(round, _)| round.clone())) else {
            "nothing was answered from here that could be taken back".clone_into(&mut self.said);
            return;
        };
        match self.sender.undo(&round) {
            Ok(answer) => {
                while let Some(at) = self.sent.iter().rposition(|(sent, _)| *sent == round) {
                    if let (_, Some(draft)) = self.sent.remove(at) {
                        self.drafts.insert(round.question, (round.workflow.clone(), draft));
                    }
                }
                self.waiting.prefer(&round.workflow);
                self.said = format!("{}: taken back ({answer}); the question waits again", round.workflow);
            }
            Err(e) => self.said = send::in_one_line(e),
        }
        self.read_now(round.workflow);
    }

    /// The person's own decision is on the screen at once.
    fn read_now(&mut self, workflow: WorkflowId) {
        self.preview = None;
        self.waiting.changed(workflow);
        self.waiting.read(self.sender.mailbox, Instant::now());
    }
}
