//! What a person decides: the texts that are asked for, sending, declining several, taking back.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::address::Address;
use crate::error::Error;
use crate::surface::askbox::inbox::app::{App, Confirm, Place, Wish};
use crate::surface::askbox::inbox::leaving_out::Act;
use crate::surface::askbox::inbox::line::{self, Asking, Purpose};
use crate::surface::askbox::inbox::sender;
use crate::surface::askbox::inbox::sender::shown::RoundAt;
use crate::surface::askbox::inbox::sent::given::Given;
use crate::surface::person::decision::Decision;
use crate::text;

/// How many questions of other machines are declined together.
const DECLINED_ELSEWHERE: usize = 8;

impl App<'_> {
    /// Opens the window for a text. `letter`: the one that the person pressed, if it may have been meant as the first one of a word.
    pub(super) fn ask(&mut self, purpose: Purpose, letter: Option<char>) {
        let before = match (purpose, &self.place) {
            (Purpose::Filter, _) => self.waiting.filter().to_owned(),
            (Purpose::DeclineMarked(_), _) => self.why_marked.clone(),
            (Purpose::Note, Place::Question(opened)) if opened.draft.typed.of(purpose).is_empty() => opened.draft.note.clone(),
            (_, Place::Question(opened)) => opened.draft.typed.of(purpose).to_owned(),
            _ => String::new(),
        };
        self.asked = Some(Asking::new(purpose, &before, letter));
    }

    pub(super) fn key_of_text(&mut self, key: KeyEvent) -> Wish {
        let Some(asking) = &mut self.asked else { return Wish::Nothing };
        let (purpose, newline) = (asking.purpose, key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT));
        let was_asked = std::mem::take(&mut asking.is_sure);
        match key.code {
            KeyCode::Esc => self.leave_text(),
            KeyCode::Enter if newline && purpose != Purpose::Filter => asking.area.insert_newline(),
            KeyCode::Enter => {
                let text = asking.text();
                if purpose == Purpose::AskBack && text.trim().is_empty() {
                    "write your question, or leave with esc".clone_into(&mut self.said);
                    return Wish::Nothing;
                }
                if let Some(word) = asking.begun().filter(|_| !was_asked) {
                    asking.is_sure = true;
                    self.said = self.ask_for_sure(purpose, &word);
                    return Wish::Nothing;
                }
                let act = match purpose {
                    Purpose::Decline => Some(Act::Decline),
                    Purpose::AskBack => Some(Act::AskBack),
                    Purpose::Filter | Purpose::Note | Purpose::DeclineMarked(_) => None,
                };
                if act.is_some_and(|act| self.tells_that_enter_is_held() || self.tells_what_is_left_out(act)) {
                    return Wish::Nothing;
                }
                self.asked = None;
                self.said.clear();
                return self.take(purpose, text);
            }
            KeyCode::Tab if was_asked => return self.take_as_words(),
            // While words are typed, the list can be walked.
            KeyCode::Up if purpose == Purpose::Filter => self.waiting.step(-1),
            KeyCode::Down if purpose == Purpose::Filter => self.waiting.step(1),
            _ => {
                line::input(&mut asking.area, key);
                if purpose == Purpose::Filter {
                    let filter = asking.text();
                    self.waiting.set_filter(filter);
                }
            }
        }
        Wish::Nothing
    }

    /// Closes the window. What was typed is there again when it is opened again.
    fn leave_text(&mut self) {
        let Some(asking) = self.asked.take() else { return };
        match (asking.purpose, &mut self.place) {
            (Purpose::Filter, _) => self.waiting.clear_filter(),
            (Purpose::DeclineMarked(_), _) => self.why_marked = asking.text(),
            (purpose, Place::Question(opened)) => opened.draft.typed.set(purpose, asking.text()),
            _ => {}
        }
        self.said.clear();
    }

    /// Asks whether the letter that opened the window was meant as one.
    fn ask_for_sure(&self, purpose: Purpose, word: &str) -> String {
        let takes_words = matches!(&self.place, Place::Question(opened) if opened.takes_words());
        let enter = match purpose {
            Purpose::Decline => "declines",
            Purpose::Note => "keeps the note",
            _ => "asks the agent back",
        };
        let word = text::excerpt(word, 60);
        if takes_words {
            format!("did you mean \"{word}\" as your answer? tab takes it as your own words; enter again {enter}")
        } else {
            format!("did you mean \"{word}\"? this question takes no words of yours; enter again {enter}, esc leads back")
        }
    }

    /// What was typed was meant as an answer in the person's own words.
    fn take_as_words(&mut self) -> Wish {
        let word = self.asked.as_ref().and_then(Asking::begun);
        let (Place::Question(opened), Some(word)) = (&mut self.place, word) else { return Wish::Nothing };
        if opened.takes_words() {
            opened.insert(&word, false);
            self.asked = None;
            self.said.clear();
        }
        Wish::Nothing
    }

    fn take(&mut self, purpose: Purpose, text: String) -> Wish {
        // It is the draft again if the decision is taken back.
        if let Place::Question(opened) = &mut self.place {
            opened.draft.typed.set(purpose, text.clone());
        }
        match purpose {
            Purpose::Filter => {}
            Purpose::DeclineMarked(_) => {
                self.why_marked.clone_from(&text);
                self.confirms = Some(Confirm { rows: self.waiting.marked(), why: text });
            }
            Purpose::Decline => {
                let why = if text.trim().is_empty() { self.note() } else { text };
                return self.decide(Decision::Decline(why));
            }
            Purpose::AskBack => return self.decide(Decision::AskBack(text)),
            Purpose::Note => {
                if let Place::Question(opened) = &mut self.place {
                    opened.draft.note = text;
                }
            }
        }
        Wish::Nothing
    }

    /// The note beside the answer of the open question.
    pub(super) fn note(&self) -> String {
        if let Place::Question(opened) = &self.place { opened.draft.note.clone() } else { String::new() }
    }

    pub(super) fn decide(&mut self, decision: Decision) -> Wish {
        if self.asks_only {
            self.decided = Some(decision);
            if let Place::Question(opened) = std::mem::replace(&mut self.place, Place::List) {
                self.forget(&opened.shown.at());
            }
            return Wish::Leave(0);
        }
        self.send(decision);
        Wish::Nothing
    }

    /// Sends a decision about the open question.
    fn send(&mut self, decision: Decision) {
        // Until it counts, it is a draft that may be needed again.
        self.keep_drafts();
        let Place::Question(opened) = &self.place else { return };
        let address = opened.shown.address();
        match self.sender.send(&opened.shown, decision) {
            Ok(sent) => {
                self.said = match (&sent.at.host, &sent.warning) {
                    // It is no answer before that machine says so.
                    (Some(host), _) => format!("{address}: sent: {}; not yet accepted by {host}", sent.words),
                    (None, warning) => {
                        self.forget(&sent.at);
                        let warning = warning.as_ref().map_or_else(String::new, |warning| format!(" · warning: {warning}"));
                        let waits = if self.has_watcher == Some(false) { " · no watcher runs: relaunch watch" } else { "" };
                        format!("{address}: {} · u takes it back{waits}{warning}", sent.words)
                    }
                };
                if let Place::Question(opened) = std::mem::replace(&mut self.place, Place::List) {
                    self.sent.push(Given::new(sent, Some(opened.draft)));
                }
            }
            // The answer does not fit the question: the question stays open.
            Err(e @ (Error::Invalid { .. } | Error::Usage { .. })) => self.said = sender::in_one_line(e),
            Err(e) => match self.sender.still_waits(&opened.shown) {
                Ok(()) => self.said = sender::in_one_line(e),
                Err(_) => self.gone(sender::in_one_line(e)),
            },
        }
        self.read_now(address);
    }

    pub(super) fn key_of_confirm(&mut self, key: KeyEvent) -> Wish {
        match (key.code, self.confirms.take()) {
            (KeyCode::Char('y'), Some(confirmed)) => self.decline(&confirmed),
            (KeyCode::Esc | KeyCode::Char('n' | 'q'), _) => "nothing was declined".clone_into(&mut self.said),
            (_, open) => self.confirms = open,
        }
        Wish::Nothing
    }

    /// Asks why the marked questions are declined. Each offer to another machine takes a connection, so that their number has a bound.
    pub(super) fn ask_to_decline_marked(&mut self) {
        let there = self.waiting.marked().iter().filter(|row| row.address.host.is_some()).count();
        if there > DECLINED_ELSEWHERE {
            self.said = format!("at most {DECLINED_ELSEWHERE} questions of other machines are declined at once, and {there} are marked");
            return;
        }
        self.ask(Purpose::DeclineMarked(self.waiting.marks()), None);
    }

    fn decline(&mut self, confirmed: &Confirm) {
        let (mut declined, mut offered, mut failed) = (0, 0, None);
        for row in &confirmed.rows {
            // A question that took another one's place meanwhile is not the one that was marked.
            let result = self.sender.pending(&row.address).and_then(|shown| {
                if row.question.is_some_and(|id| id != shown.round.id.question) {
                    return Err(Error::conflict(format!("{} asks another question by now", row.address), "look at it first"));
                }
                if self.is_on_its_way(&shown.at()) {
                    return Err(Error::conflict(format!("an answer to {} is on its way", row.address), "wait until it is decided"));
                }
                self.sender.send(&shown, Decision::Decline(confirmed.why.clone()))
            });
            match result {
                Ok(sent) => {
                    *if sent.offer.is_some() { &mut offered } else { &mut declined } += 1;
                    self.waiting.unmark(&row.address);
                    self.sent.push(Given::new(sent, None));
                }
                Err(e) => failed = Some(sender::in_one_line(e)),
            }
            self.waiting.changed(row.address.clone());
        }
        let questions = if declined == 1 { "question" } else { "questions" };
        let sent = if offered > 0 { format!(", {offered} sent to their machines to be declined") } else { String::new() };
        self.said = match failed {
            None if declined == 0 && offered > 0 => format!("{offered} sent to their machines to be declined; not yet accepted"),
            None => {
                self.why_marked.clear();
                format!("{declined} {questions} declined{sent} · u takes the last one back")
            }
            Some(why) => format!("{declined} {questions} declined{sent}; the marked ones are still open: {why}"),
        };
    }

    /// Takes an answer back: the one that was sent last, or that of this round. What it was made from is the draft again.
    pub(super) fn undo(&mut self, at: Option<RoundAt>) {
        let last = || self.sent.iter().rev().find(|given| given.may_count()).map(|given| given.at.clone());
        let Some(at) = at.or_else(last) else {
            "nothing was answered from here that could be taken back".clone_into(&mut self.said);
            return;
        };
        match self.sender.undo(&at) {
            Ok(answer) => {
                while let Some(n) = self.sent.iter().rposition(|given| given.at == at) {
                    if let Some(draft) = self.sent.remove(n).draft {
                        self.drafts.insert(at.clone(), draft);
                        self.draft_changed();
                    }
                }
                self.waiting.prefer(&at.address());
                self.said = format!("{}: taken back ({answer}); the question waits again", at.address());
            }
            Err(e) => self.said = sender::in_one_line(e),
        }
        self.read_now(at.address());
    }

    /// The person's own decision is on the screen at once.
    fn read_now(&mut self, address: Address) {
        self.preview = None;
        self.waiting.changed(address);
        self.waiting.read(self.sender, Instant::now());
    }
}
