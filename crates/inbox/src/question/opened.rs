//! The open question, and the effect of each key on it.

use std::borrow::Cow;
use std::cell::RefCell;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Line;

use crate::question::draft::{Choosable, Draft, PartDraft, Unclear};
use crate::question::stray::TypedLetters;
use crate::sender::ShownQuestion;
use crate::text_window::Scroll;
use crate::text_window::{self, Purpose};
use askbox_cli::AtStake;
use askbox_cli::person::{Named, Next};
use askbox_mailbox::{AnswerValue, Kind};

/// A question on the screen.
pub struct Opened {
    pub shown: ShownQuestion,
    /// The title with its marks.
    headline: String,
    pub draft: Draft,
    /// The place in the question's text. A person must not allow a call without having seen all of it.
    pub scroll: Scroll,
    /// The text about the question, broken into lines for this number of columns. It is kept, because a long text takes a while.
    text: RefCell<(usize, Vec<Line<'static>>)>,
    /// The letters that were typed while no text was written.
    pub letters: TypedLetters,
    /// True if the draft is an earlier one, and only enter was pressed since it was opened.
    is_unnoticed: bool,
}

/// The request of a key to the inbox.
#[derive(Debug, PartialEq)]
pub enum Act {
    Nothing,
    /// Go back to the list. The draft is kept.
    Back,
    /// Show all keys.
    Help,
    /// Give the mouse to the terminal, or take it again.
    Mouse,
    /// Give this value to the part on the screen, with this at stake. If the question has only one part, this answers it.
    Give(AnswerValue, Vec<AtStake>),
    /// Ask what the words mean, because they may mean an option.
    AskMeaning(AtStake),
    /// Send the whole batch, with this at stake.
    Send(AnswerValue, Option<AtStake>),
    /// Ask for a text. The letter is the key that was pressed, if it may have been meant as the beginning of a word.
    Ask(Purpose, Option<char>),
    /// Open the editor on the person's own words.
    Edit,
    /// Change the call that the question is about, before it is allowed.
    EditCall,
    Say(Cow<'static, str>),
}

impl Opened {
    /// Opens a question. `headline` is its title with its marks.
    pub fn new(shown: ShownQuestion, headline: String, draft: Option<Draft>) -> Self {
        let is_unnoticed = draft.is_some();
        let draft = draft.unwrap_or_else(|| Draft::new(shown.question()));
        let (scroll, text, letters) = (Scroll::default(), RefCell::default(), TypedLetters::default());
        Self { shown, headline, draft, scroll, text, letters, is_unnoticed }
    }

    /// The question, as a sentence names it.
    pub fn named(&self) -> Named {
        let (address, question) = (self.shown.address(), Some(self.shown.round.id.question));
        Named { address, question, headline: self.headline.clone(), draft: String::new() }
    }

    /// The text about the question, for this number of columns. It is made once for each width.
    pub fn text(&self, columns: usize, make: impl FnOnce(usize) -> Vec<Line<'static>>) -> Vec<Line<'static>> {
        let mut text = self.text.borrow_mut();
        if text.0 != columns {
            *text = (columns, make(columns));
        }
        text.1.clone()
    }

    /// An earlier draft that the person has not looked at yet.
    pub fn unnoticed(&self) -> Option<AtStake> {
        self.is_unnoticed.then_some(AtStake::EarlierDraft)
    }

    /// Notes that the person has looked at the draft.
    pub fn notice(&mut self) {
        self.is_unnoticed = false;
    }

    /// Returns the state that a key may change on the screen: the part, the choice, the words, and the place in the text.
    pub fn changeable(&self) -> impl PartialEq + use<> {
        let part = self.draft.part();
        let choice = part.map(|part| (part.chosen(), part.marked.clone()));
        let words = part.map(|part| (part.typed(), part.words.cursor()));
        (self.draft.at, choice, words, self.scroll.from())
    }

    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent) -> Act {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let writes = self.draft.part().is_some_and(PartDraft::writes);
        let is_letter = matches!(key.code, KeyCode::Char(_)) && !control;
        // While text is written, backspace takes a letter of that text back.
        if !(is_letter || writes && key.code == KeyCode::Backspace) {
            self.letters.other_key(key.code);
        }
        match key.code {
            KeyCode::PageDown => self.scroll.page(true),
            KeyCode::PageUp => self.scroll.page(false),
            // Where no text is written, these scroll, as in less and vim.
            KeyCode::Char('d' | 'f') if control && !writes => self.scroll.page(true),
            KeyCode::Char('u' | 'b') if control && !writes => self.scroll.page(false),
            KeyCode::Char('n' | 'p') if control && !writes => {
                if let Some(part) = self.draft.part_mut() {
                    part.step(key.code == KeyCode::Char('n'));
                }
            }
            KeyCode::Char('n') if control => return Act::Ask(Purpose::Note, None),
            KeyCode::Char('b') if control => return Act::Ask(Purpose::AskBack, None),
            KeyCode::Char('d') if control => return Act::Ask(Purpose::Decline, None),
            KeyCode::Esc => return Act::Back,
            KeyCode::Tab if self.shown.question().is_batch() => self.draft.at = (self.draft.at + 1).min(self.draft.parts.len()),
            KeyCode::BackTab => self.draft.at = self.draft.at.saturating_sub(1),
            _ if self.draft.is_review() => return self.key_of_review(key),
            _ => return self.key_of_part(key, control),
        }
        Act::Nothing
    }

    /// Chooses the line at this position of the part on the screen, as its digit does.
    pub fn choose_line(&mut self, n: usize) {
        self.notice();
        self.letters.forget();
        let Some(part) = self.draft.part_mut() else { return };
        if let Some(line) = part.lines().get(n).copied() {
            choose_or_mark(part, line);
        }
    }

    /// Moves the words that an option would leave out into the note, and opens the note for changes.
    pub fn make_words_a_note(&mut self) -> Act {
        let Some(part) = self.draft.part_mut() else { return Act::Nothing };
        let words = part.typed();
        part.words = text_window::area("");
        let note = [self.draft.note.as_str(), &words].into_iter().filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n");
        self.draft.typed.set(Purpose::Note, note);
        Act::Ask(Purpose::Note, None)
    }

    fn key_of_review(&mut self, key: KeyEvent) -> Act {
        match key.code {
            KeyCode::Enter => match self.draft.value(self.shown.question()) {
                Some(value) => {
                    let strayed = self.letters.at_stake("", self.sends(&value));
                    return Act::Send(value, strayed);
                }
                None => {
                    self.draft.at = self.draft.parts.iter().position(|p| p.given.is_none()).unwrap_or(0);
                    return Act::Say(Cow::Borrowed("this one is not answered yet"));
                }
            },
            KeyCode::Left | KeyCode::Up | KeyCode::Backspace => self.draft.at = self.draft.at.saturating_sub(1),
            KeyCode::Char(c) => {
                let act = match c {
                    '?' => Some(Act::Help),
                    'm' => Some(Act::Mouse),
                    'q' => Some(back_unless_in_a_word(&self.letters)),
                    _ => command(c),
                };
                self.letters.note(c, act.is_some());
                return act.unwrap_or(Act::Nothing);
            }
            _ => {}
        }
        Act::Nothing
    }

    fn key_of_part(&mut self, key: KeyEvent, control: bool) -> Act {
        if key.code == KeyCode::Char('e')
            && control
            && let Some(approval) = &self.shown.question().approval
        {
            return match (&self.shown.host, &approval.editable) {
                (_, Some(_)) => Act::EditCall,
                (None, None) => Act::Say(Cow::Borrowed("this call has no text to change: decline it with d, and say what to change")),
                (Some(_), None) => Act::Say(Cow::Borrowed(
                    "this call has no text that can be changed from here: decline it with d, and say what to change",
                )),
            };
        }
        let is_batch = self.shown.question().is_batch();
        let Some(part) = self.draft.part_mut() else { return Act::Nothing };
        let writes = part.writes();
        let newline = key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT);
        match key.code {
            KeyCode::Char('e') if control => return if choose_words(part) { Act::Edit } else { ONLY_OPTIONS },
            KeyCode::Enter if writes && newline => part.words.insert_newline(),
            KeyCode::Char('j') if writes && control => part.words.insert_newline(),
            KeyCode::Enter => return self.enter(),
            KeyCode::Up if !writes || part.words.cursor().0 == 0 => part.step(false),
            KeyCode::Down if !writes || part.words.cursor().0 + 1 >= part.words.lines().len() => part.step(true),
            KeyCode::Left if is_batch && !writes => self.draft.at = self.draft.at.saturating_sub(1),
            KeyCode::Right if is_batch && !writes => self.draft.at += 1,
            _ if writes => text_window::input(&mut part.words, key),
            KeyCode::Backspace => part.take_letter_back(),
            KeyCode::Char(' ') if part.is_multiple() => {
                if let Some(Choosable::Option(n)) = part.chosen()
                    && !part.marked.remove(&n)
                {
                    part.marked.insert(n);
                }
            }
            KeyCode::Char(c) if !control => return typed(part, c, &mut self.letters),
            _ => {}
        }
        Act::Nothing
    }

    /// Gives the part's current answer.
    fn enter(&self) -> Act {
        if self.shown.question().approval.is_some() && !self.scroll.was_seen {
            return Act::Say(Cow::Borrowed("see all of the call before you allow it: page down and page up show the rest"));
        }
        let Some(part) = self.draft.part() else { return Act::Nothing };
        match part.value() {
            Ok(value) => {
                let at_stake = self.at_stake(part, &value);
                Act::Give(value, at_stake)
            }
            Err(Unclear::Because(why)) => Act::Say(why.into()),
            Err(Unclear::Number(wanted)) => Act::Say(wanted.into()),
            Err(Unclear::NearMiss(near)) => Act::AskMeaning(near),
        }
    }

    /// Returns the warnings for the part's answer: words that it would leave out, and letters that may be meant for another program.
    fn at_stake(&self, part: &PartDraft, value: &AnswerValue) -> Vec<AtStake> {
        let words = if part.chosen() == Some(Choosable::Words) { part.typed() } else { String::new() };
        part.words_beside().into_iter().chain(self.letters.at_stake(&words, self.sends(value))).collect()
    }

    fn sends(&self, value: &AnswerValue) -> Next {
        Next::Sends { to: self.shown.address(), answer: value.to_text() }
    }

    /// Takes the part's answer, and goes on to the next part of a batch.
    pub fn take(&mut self, value: AnswerValue) {
        // After the last part, the person reviews the batch.
        self.letters.forget();
        let Some(part) = self.draft.part_mut() else { return };
        part.given = Some(value);
        if self.shown.question().is_batch() {
            self.draft.at += 1;
            self.scroll.begin();
        }
    }

    /// Gives the part's answer once the person has said what the words mean: the option at this position, or the words themselves if the
    /// position is after the options.
    pub fn meant(&self, at: usize) -> Act {
        let Some(part) = self.draft.part() else { return Act::Nothing };
        let Err(Unclear::NearMiss(asked)) = part.value() else { return self.enter() };
        let AtStake::NearMiss { near, .. } = &asked else { return Act::Nothing };
        let said = near.get(at).map_or_else(|| part.typed(), |choice| choice.key.clone());
        let value = if part.is_multiple() {
            let mut keys: Vec<_> = part.marked_keys().into_iter().filter(|key| *key != said).collect();
            keys.push(said);
            AnswerValue::List(keys)
        } else {
            AnswerValue::Text(said)
        };
        Act::Give(value, vec![asked])
    }

    /// True if the person's own words can be an answer here.
    pub fn takes_words(&self) -> bool {
        self.draft.part().is_some_and(PartDraft::takes_words)
    }

    /// Inserts pasted text, or text of the editor, as the person's own words. Pasted text is never treated as keys.
    pub fn insert(&mut self, text: &str, replaces: bool) -> Act {
        let Some(part) = self.draft.part_mut() else { return Act::Nothing };
        if !choose_words(part) {
            return ONLY_OPTIONS;
        }
        if replaces {
            part.words = text_window::area("");
        }
        part.words.insert_str(text);
        Act::Nothing
    }
}

const ONLY_OPTIONS: Act = Act::Say(Cow::Borrowed("only the options count here: choose one, decline with d, or ask back with b"));

/// The command that a single letter gives while an option is chosen.
fn command(c: char) -> Option<Act> {
    Some(match c {
        'n' => Act::Ask(Purpose::Note, Some(c)),
        'N' => Act::Ask(Purpose::Note, None),
        'b' => Act::Ask(Purpose::AskBack, Some(c)),
        'd' => Act::Ask(Purpose::Decline, Some(c)),
        _ => return None,
    })
}

/// Handles a character while no text is written. A digit chooses, letters are commands, and `i` begins the person's own words. No other
/// letter does: a person who types into the wrong window, or means a movement, must not have typed an answer.
fn typed(part: &mut PartDraft, c: char, letters: &mut TypedLetters) -> Act {
    if part.part.kind() == Kind::YesNo {
        // A person who has read the hint about a wrong word takes longer than within the word.
        if letters.has_paused() {
            part.end_other_word();
        }
        return match c {
            '1' | '2' => {
                letters.go_on(c);
                part.choose(if c == '1' { Choosable::Yes } else { Choosable::No });
                Act::Nothing
            }
            _ if part.add_letter(c) => {
                letters.note(c, true);
                Act::Nothing
            }
            _ if part.takes_commands()
                && let Some(act) = command(c).or_else(|| elsewhere_too(part, c, letters)) =>
            {
                letters.note(c, true);
                act
            }
            _ => {
                letters.note(c, false);
                part.add_other_letter(c);
                Act::Say(Cow::Borrowed("y or n, then enter; d declines, b asks back, N adds a note; backspace takes a letter back"))
            }
        };
    }
    if c.is_ascii_digit() {
        if let Some(line) = part.by_digit(c) {
            letters.go_on(c);
            choose_or_mark(part, line);
            return Act::Nothing;
        }
        if part.keys_are_numbers() || part.lines().len() < 10 {
            letters.note(c, false);
            return Act::Say(Cow::Borrowed("no option has this number"));
        }
    }
    if let Some(act) = command(c).or_else(|| elsewhere_too(part, c, letters)) {
        letters.note(c, true);
        return act;
    }
    let begins_words = c == 'i' && part.takes_words();
    letters.note(c, begins_words && !letters.is_within_a_word());
    if begins_words {
        choose_words(part);
        return Act::Nothing;
    }
    if part.takes_words() { Act::Say(Cow::Borrowed("i begins words of your own; ? names all keys")) } else { ONLY_OPTIONS }
}

/// The effect of a letter that means the same wherever no text is written: it moves, shows the help, or leads back.
fn elsewhere_too(part: &mut PartDraft, c: char, letters: &TypedLetters) -> Option<Act> {
    match c {
        'j' => part.step(true),
        'k' => part.step(false),
        'g' => part.choose_end(false),
        'G' => part.choose_end(true),
        '?' => return Some(Act::Help),
        'm' => return Some(Act::Mouse),
        'q' => return Some(back_unless_in_a_word(letters)),
        _ => return None,
    }
    Some(Act::Nothing)
}

/// The effect of `q`. Within a word, such as `jq`, it does not lead back: the rest of the word would do something in the list.
fn back_unless_in_a_word(letters: &TypedLetters) -> Act {
    if letters.has_begun() { Act::Say(Cow::Borrowed("q is part of a word here: esc leads back")) } else { Act::Back }
}

/// Chooses a line. If several options may be chosen, also marks it, or takes its mark away.
fn choose_or_mark(part: &mut PartDraft, line: Choosable) {
    part.choose(line);
    if let (Choosable::Option(n), true) = (line, part.is_multiple())
        && !part.marked.remove(&n)
    {
        part.marked.insert(n);
    }
}

fn choose_words(part: &mut PartDraft) -> bool {
    part.choose(Choosable::Words)
}
