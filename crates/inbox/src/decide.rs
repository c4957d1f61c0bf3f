//! The person's decisions: the windows for texts, and sending.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use uuid::Uuid;

use crate::app::{App, Place, UndoHint, Until, Wish};
use crate::gate::{Panel, Passed, Pending};
use crate::question::draft::PartDraft;
use crate::question::kept_drafts;
use crate::sender::{self, Sent};
use crate::sent::from_here::SentAnswer;
use crate::text_window::{self, Asking, Purpose};
use askbox_cli::person::{self, Act, Answers, Texts};
use askbox_cli::{AtStake, PersonsDecision};
use askbox_mailbox::{Address, AnswerValue, Choice, Error, text};

impl App<'_> {
    /// Opens the window for a text. `letter` is the key that the person pressed, if that letter may have been meant as the beginning of a
    /// word.
    pub(super) fn ask(&mut self, purpose: Purpose, letter: Option<char>) {
        let before = match (purpose, &self.place) {
            (Purpose::Filter, _) => self.waiting.filter.clone(),
            (Purpose::DeclineMarked(_), _) => self.waiting.why_declined.clone(),
            (Purpose::Note, Place::Question(opened)) if opened.draft.typed.for_purpose(purpose).is_empty() => opened.draft.note.clone(),
            (_, Place::Question(opened)) => opened.draft.typed.for_purpose(purpose).to_owned(),
            (Purpose::Prompt, Place::Session(view)) => kept_drafts::prompt(&view.at.to_string()),
            _ => String::new(),
        };
        let mut asking = Asking::new(purpose, &before, letter);
        if let (Purpose::Decline, Place::Question(opened)) = (purpose, &self.place) {
            let asked = opened.shown.question();
            asking.call = asked.approval.as_ref().map(|_| opened.shown.question().title());
            asking.is_live = asked.live.is_some();
        }
        self.asked = Some(asking);
    }

    /// Handles a key in the window. `told` is the warning that the last key caused.
    pub(super) fn key_of_text(&mut self, key: KeyEvent, told: Option<AtStake>) -> Wish {
        let Some(asking) = &mut self.asked else { return Wish::Nothing };
        let (purpose, newline) = (asking.purpose, key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT));
        match (key.code, told) {
            (KeyCode::Esc, _) => self.leave_text(),
            (KeyCode::Enter, _) if newline && purpose != Purpose::Filter => asking.area.insert_newline(),
            (KeyCode::Enter, _) => return self.enter_text(),
            (KeyCode::Tab, Some(AtStake::Begun { word, .. })) => self.take_as_words(&word),
            (KeyCode::Tab, _) if asking.call.is_some() || asking.is_live => asking.is_always = !asking.is_always,
            // The person can move in the list while typing the filter.
            (KeyCode::Up, _) if purpose == Purpose::Filter => self.waiting.step(-1),
            (KeyCode::Down, _) if purpose == Purpose::Filter => self.waiting.step(1),
            _ => {
                text_window::input(&mut asking.area, key);
                if purpose == Purpose::Filter {
                    let filter = asking.text();
                    self.waiting.set_filter(filter);
                }
            }
        }
        Wish::Nothing
    }

    /// Takes the text of the window. If the window is for a decision, this sends the decision.
    fn enter_text(&mut self) -> Wish {
        let Some(asking) = &self.asked else { return Wish::Nothing };
        let (purpose, text) = (asking.purpose, asking.text());
        if purpose == Purpose::AskBack && text::is_blank(&text) {
            "write your question, or leave with esc".clone_into(&mut self.said);
            return Wish::Nothing;
        }
        if matches!(purpose, Purpose::Prompt | Purpose::Stop) {
            self.enter_prompt(purpose == Purpose::Stop, &text);
            return Wish::Nothing;
        }
        let begun = self.begun();
        let Some(act) = purpose.act().map(|act| asking.how_far(act)) else {
            if self.may_go_on(begun.as_slice()) {
                self.close_text(&text);
                self.take(purpose, text);
            }
            return Wish::Nothing;
        };
        let mut at_stake: Vec<_> = begun.into_iter().chain(self.left_out(act)).collect();
        // One warning is enough to make the person look. A text from before is asked about by name as any other one.
        if at_stake.is_empty() {
            at_stake.extend(self.by_name(act));
        }
        let Some(passed) = self.may_decide(&at_stake) else { return Wish::Nothing };
        self.close_text(&text);
        let has_note = matches!(act, Act::Decline | Act::DeclineAlways) && text.trim().is_empty();
        let decision = act.with(if has_note { self.note() } else { text });
        decision.map_or(Wish::Nothing, |decision| self.decide(decision, passed))
    }

    /// Closes the window after its text was taken. The text stays in the draft, in case the decision is taken back.
    fn close_text(&mut self, text: &str) {
        let asking = self.asked.take();
        self.said.clear();
        if let (Place::Question(opened), Some(asking)) = (&mut self.place, asking) {
            opened.draft.typed.set(asking.purpose, text.to_owned());
        }
    }

    /// Closes the window without taking its text. The text is there again when the window is opened again.
    fn leave_text(&mut self) {
        let Some(asking) = self.asked.take() else { return };
        match (asking.purpose, &mut self.place) {
            (Purpose::Filter, _) => self.waiting.clear_filter(),
            (Purpose::DeclineMarked(_), _) => self.waiting.why_declined = asking.text(),
            (purpose, Place::Question(opened)) => opened.draft.typed.set(purpose, asking.text()),
            _ => {}
        }
        self.said.clear();
    }

    /// The word that the person may have been typing, if its first letter opened the window.
    fn begun(&self) -> Option<AtStake> {
        let asking = self.asked.as_ref()?;
        let Place::Question(opened) = &self.place else { return None };
        let word = asking.begun(|word| opened.draft.part().is_some_and(|part| part.is_option(word)))?;
        Some(AtStake::Begun { word, act: asking.purpose.act().map(|act| asking.how_far(act)), takes_words: opened.takes_words() })
    }

    /// Moves the window's text into the answer, because the person meant it as their own words.
    fn take_as_words(&mut self, word: &str) {
        if let Place::Question(opened) = &mut self.place
            && opened.takes_words()
        {
            opened.insert(word, false);
            self.asked = None;
        }
    }

    fn take(&mut self, purpose: Purpose, text: String) {
        match (purpose, &mut self.place) {
            (Purpose::DeclineMarked(_), _) => {
                self.waiting.why_declined = text;
                self.ask_about_marked();
            }
            (Purpose::Note, Place::Question(opened)) => opened.draft.note = text,
            _ => {}
        }
    }

    /// The texts that a decision about the open question does not send.
    pub(super) fn left_out(&self, act: Act) -> Option<AtStake> {
        let Place::Question(opened) = &self.place else { return None };
        let draft = &opened.draft;
        // The text of the open window is the one that the person sends, so it replaces the draft's text.
        let typed = |purpose: Purpose| match self.asked.as_ref().filter(|asking| asking.purpose == purpose) {
            Some(asking) => asking.text(),
            None => draft.typed.for_purpose(purpose).to_owned(),
        };
        let words: Vec<String> = draft.parts.iter().map(PartDraft::typed).collect();
        let (left_note, why, back) = (draft.typed.for_purpose(Purpose::Note), typed(Purpose::Decline), typed(Purpose::AskBack));
        let texts = Texts {
            words: words.iter().map(String::as_str).collect(),
            note: &draft.note,
            left_note: if left_note == draft.note { "" } else { left_note },
            why: &why,
            back: &back,
            changed: "",
        };
        let texts = person::texts_left_out(&texts, opened.shown.question(), act);
        (!texts.is_empty()).then_some(AtStake::LeftOut { act, texts })
    }

    /// The name of the open question. A decision in the person's own words is confirmed by it.
    fn by_name(&self, act: Act) -> Option<AtStake> {
        let Place::Question(opened) = &self.place else { return None };
        let mut question = opened.named();
        if act == Act::DeclineAlways {
            question.headline = opened.shown.question().title();
        }
        Some(AtStake::DecisionOn { act, question: question.into() })
    }

    /// The answer with the name of its question, if a habit of another window may have made it. A shell asks for `y` and enter, and a second
    /// enter is a habit of many people. An option of one question that the person has put the cursor on needs no more than enter.
    fn answers_by_name(&self, value: &AnswerValue) -> Option<AtStake> {
        let Place::Question(opened) = &self.place else { return None };
        let question = opened.shown.question();
        let server = question.elicited_by.clone();
        let answer = match question.questions.len() {
            0 => Answers::One(value.to_text()),
            several => Answers::Several(several),
        };
        let is_asked = server.is_some() || question.is_batch() || opened.draft.part().is_some_and(PartDraft::is_spelled);
        is_asked.then(|| AtStake::Answers { question: opened.named().into(), answer, server })
    }

    /// The permission that this answer gives. It is confirmed by the name of the call, and by how far it goes.
    fn allows(&self, value: &AnswerValue) -> Option<AtStake> {
        let Place::Question(opened) = &self.place else { return None };
        let question = opened.shown.question();
        question.approval.as_ref()?;
        let key = value.to_text();
        // The options of a part name the workflow in the command that revokes the permission.
        let named = question.parts().into_iter().flat_map(|part| part.options.0).find(|choice| choice.key == key);
        // Whatever the answer of such a question is, it may allow the call.
        let option = named.unwrap_or_else(|| Choice { key, description: String::new(), preview: None });
        Some(AtStake::Allows { address: opened.shown.address(), call: question.title(), option: option.into() })
    }

    /// Lets the last key decide, if all that is at stake is confirmed. Otherwise asks the person, or says why it does not count.
    pub(super) fn may_decide(&mut self, at_stake: &[AtStake]) -> Option<Passed> {
        let result = self.gate.may_decide(self.about(), at_stake);
        self.or_say(result)
    }

    /// True if the last key may take a step that decides nothing. Otherwise asks the person, or says why it does not count.
    pub(super) fn may_go_on(&mut self, at_stake: &[AtStake]) -> bool {
        let result = self.gate.may_go_on(self.about(), at_stake);
        self.or_say(result).is_some()
    }

    fn or_say<T>(&mut self, result: Result<T, String>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(why) => {
                self.said = self.pending_question().unwrap_or(why);
                None
            }
        }
    }

    /// The sentence that asks whether a decision is meant, if that is asked now. It names what is sent, because `ok` confirms that and does not
    /// change it.
    pub(super) fn pending_question(&self) -> Option<String> {
        let Pending { at_stake, keys, .. } = self.gate.pending()?;
        let asked = match at_stake {
            AtStake::DeclinedTogether { .. } if self.gate.panel().is_some_and(Panel::hides_names) => {
                format!("page down shows the other names; then {keys} declines them")
            }
            AtStake::DeclinedTogether { .. } => format!("{keys} declines them"),
            other => other.told(keys),
        };
        Some(match &self.place {
            Place::Question(opened) if self.asked.is_none() && !at_stake.names_what_is_sent(!opened.draft.note.trim().is_empty()) => {
                opened.draft.in_words().map_or_else(|| asked.clone(), |words| format!("{asked} ({words})"))
            }
            _ => asked,
        })
    }

    /// An id of the open question as it is shown.
    fn about(&self) -> Uuid {
        if let Place::Question(opened) = &self.place { person::about(opened.shown.question()) } else { Uuid::nil() }
    }

    /// Takes a value for the open part, or the values of a whole batch. `is_whole` is true if the value is the whole answer, which is then
    /// sent.
    pub(super) fn give(&mut self, value: AnswerValue, mut at_stake: Vec<AtStake>, is_whole: bool) -> Wish {
        let Place::Question(opened) = &self.place else { return Wish::Nothing };
        at_stake.splice(0..0, opened.unnoticed());
        if is_whole {
            // A note goes to the agent with the answer, and may have been meant for another window as well.
            let in_own_words = opened.draft.is_in_own_words() || !opened.draft.note.trim().is_empty();
            at_stake.extend(self.left_out(Act::Send));
            // One warning is enough to make the person look. The one that names the permission is there in any case, and the ones beside it
            // name texts.
            match self.allows(&value) {
                Some(allows) => {
                    at_stake.retain(|thing| matches!(thing, AtStake::LeftOut { .. } | AtStake::WordsBeside { .. }));
                    at_stake.push(allows);
                }
                None if at_stake.is_empty() && in_own_words => at_stake.extend(self.by_name(Act::Send)),
                None if at_stake.is_empty() => at_stake.extend(self.answers_by_name(&value)),
                None => {}
            }
            let Some(passed) = self.may_decide(&at_stake) else { return Wish::Nothing };
            self.take_value(value.clone());
            return self.decide(PersonsDecision::Answer(value, self.note()), passed);
        }
        if self.may_go_on(&at_stake) {
            self.take_value(value);
        }
        Wish::Nothing
    }

    fn take_value(&mut self, value: AnswerValue) {
        self.gate.forget();
        if let Place::Question(opened) = &mut self.place {
            opened.notice();
            opened.take(value);
        }
    }

    /// Asks the person what the words in the open part mean.
    pub(super) fn ask_meaning(&mut self, near: AtStake) {
        let Place::Question(opened) = &self.place else { return };
        if self.may_go_on(opened.unnoticed().as_slice()) {
            self.gate.ask_meaning(self.about(), near);
        }
    }

    /// The note beside the answer of the open question.
    pub(super) fn note(&self) -> String {
        if let Place::Question(opened) = &self.place { opened.draft.note.clone() } else { String::new() }
    }

    /// Sends a decision about the open question, or only returns it if the inbox does not send. The gate has let it pass.
    fn decide(&mut self, decision: PersonsDecision, _: Passed) -> Wish {
        self.gate.forget();
        if let Until::Decided(decided) = &mut self.until {
            *decided = Some(decision);
            if let Place::Question(opened) = std::mem::replace(&mut self.place, Place::List) {
                self.keeping.forget(&opened.shown.at());
            }
            return Wish::Leave(0);
        }
        self.send(decision);
        Wish::Nothing
    }

    fn send(&mut self, decision: PersonsDecision) {
        // Until the answer counts, it is a draft that may be needed again.
        self.keep_drafts();
        let Place::Question(opened) = &self.place else { return };
        let address = opened.shown.address();
        match self.sender.send(&opened.shown, decision) {
            Ok(sent) => {
                let held_up = self.tell_hold_up(&sent);
                self.said = match (&sent.at.host, &sent.warning) {
                    // It does not count as an answer until that machine accepts it.
                    (Some(host), _) => format!("{address}: sending: {}; not yet accepted by {host}", sent.words),
                    (None, warning) => {
                        self.keeping.forget(&sent.at);
                        self.look_for_hold_ups();
                        let warning = warning.as_ref().map_or_else(String::new, |warning| format!(" · warning: {warning}"));
                        let end = sent.end.as_ref().map_or_else(String::new, |end| format!(" · {}", end.words()));
                        format!("{address}: {}{end}{held_up}{warning}", sent.words)
                    }
                };
                self.undo_hint = sent.at.host.is_none().then(|| UndoHint { behind: self.said.clone(), says: "u takes it back" });
                if let Place::Question(opened) = std::mem::replace(&mut self.place, Place::List) {
                    self.sent.all.push(SentAnswer::new(sent, Some(opened.draft)));
                }
            }
            // The value does not fit the question, so the question stays open.
            Err(e @ (Error::Invalid { .. } | Error::Usage { .. })) => self.said = sender::in_one_line(e),
            Err(e) => match self.sender.still_waits(&opened.shown) {
                Ok(()) => self.said = sender::in_one_line(e),
                Err(_) => {
                    let offer = self.sender.offer_as_prompt(&opened.shown.at()).map_or_else(String::new, |offer| format!("\n\n{offer}"));
                    self.gone(sender::in_one_line(e) + &offer);
                }
            },
        }
        self.read_now(address);
    }

    /// Says why nothing starts the agent for now. The same reason is only hinted at after the first time.
    fn tell_hold_up(&mut self, sent: &Sent) -> String {
        let Some(now) = &sent.hold_up else {
            // An offer to another machine says nothing about this one.
            if sent.at.host.is_none() {
                self.told_hold_up = None;
            }
            return String::new();
        };
        if self.told_hold_up.as_ref().is_some_and(|told| told.is_same(now)) {
            return " · not launched yet".into();
        }
        self.told_hold_up = Some(now.clone());
        format!(" · {}", now.words())
    }

    /// Reads the question again at once, so that the person's own decision shows on the screen.
    pub(super) fn read_now(&mut self, address: Address) {
        self.preview = None;
        self.waiting.changed(address);
        self.waiting.read(self.sender, Instant::now());
    }
}
