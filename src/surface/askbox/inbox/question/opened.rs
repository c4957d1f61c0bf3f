//! The question that is open, and what each key does to it.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Line;

use crate::mailbox::AnswerValue;
use crate::mailbox::documents::asked::Kind;
use crate::surface::askbox::inbox::line::{self, Purpose};
use crate::surface::askbox::inbox::question::draft::{Choosable, Draft, PartDraft, Unclear};
use crate::surface::askbox::inbox::sender::shown::Shown;
use crate::surface::person::press_again::AtStake;

/// A question on the screen.
#[derive(Debug)]
pub struct Opened {
    pub shown: Shown,
    pub draft: Draft,
    /// The lines of the question's text that are above the screen.
    pub scroll: usize,
    /// How far the text can be moved, as it was drawn last.
    pub most_scroll: Cell<usize>,
    /// Whether all of the text was on the screen once: nobody allows what they have not seen.
    pub was_seen: Cell<bool>,
    /// The text about it as lines of so many columns: a long one takes a while.
    text: RefCell<(usize, Vec<Line<'static>>)>,
    /// True if the draft is an earlier one, and no key but enter was pressed since.
    is_unnoticed: bool,
}

/// What a key asks of the inbox.
#[derive(Debug, PartialEq)]
pub enum Act {
    Nothing,
    /// Back to the list; the draft is kept.
    Back,
    /// Gives this value to the part on the screen, with this at stake. A question of one part is answered by that.
    Give(AnswerValue, Vec<AtStake>),
    /// Asks what words mean that may mean an option.
    AskMeaning(AtStake),
    /// Sends the whole batch.
    Send(AnswerValue),
    /// For a text; with the letter that was pressed, where it may have been meant as the first one of a word.
    Ask(Purpose, Option<char>),
    /// Opens the editor on the person's own words.
    Edit,
    Say(Cow<'static, str>),
}

impl Opened {
    pub fn new(shown: Shown, draft: Option<Draft>) -> Self {
        let is_unnoticed = draft.is_some();
        let draft = draft.unwrap_or_else(|| Draft::new(shown.question()));
        let (most_scroll, was_seen, text) = (Cell::new(0), Cell::new(false), RefCell::default());
        Self { shown, draft, scroll: 0, most_scroll, was_seen, text, is_unnoticed }
    }

    /// Whether more of the text is below the screen.
    pub fn has_more(&self) -> bool {
        self.scroll < self.most_scroll.get()
    }

    /// The text about the question for so many columns, made once for each width.
    pub fn text(&self, columns: usize, make: impl FnOnce(usize) -> Vec<Line<'static>>) -> Vec<Line<'static>> {
        let mut text = self.text.borrow_mut();
        if text.0 != columns {
            *text = (columns, make(columns));
        }
        text.1.clone()
    }

    /// A draft from before that nobody has looked at.
    pub fn unnoticed(&self) -> Option<AtStake> {
        self.is_unnoticed.then_some(AtStake::EarlierDraft)
    }

    /// The person has looked at the draft.
    pub fn notice(&mut self) {
        self.is_unnoticed = false;
    }

    /// What a key does.
    pub fn key(&mut self, key: KeyEvent) -> Act {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::PageDown => self.scroll = (self.scroll + PAGE).min(self.most_scroll.get()),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(PAGE),
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

    /// The words that an option would leave out become the note, which is open to be changed.
    pub fn make_words_a_note(&mut self) -> Act {
        let Some(part) = self.draft.part_mut() else { return Act::Nothing };
        let words = part.typed();
        part.words = line::area("");
        let note = [self.draft.note.as_str(), &words].into_iter().filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n");
        self.draft.typed.set(Purpose::Note, note);
        Act::Ask(Purpose::Note, None)
    }

    fn key_of_review(&mut self, key: KeyEvent) -> Act {
        match key.code {
            KeyCode::Enter => match self.draft.value(self.shown.question()) {
                Some(value) => return Act::Send(value),
                None => {
                    self.draft.at = self.draft.parts.iter().position(|p| p.given.is_none()).unwrap_or(0);
                    return Act::Say(Cow::Borrowed("this one is not answered yet"));
                }
            },
            KeyCode::Left | KeyCode::Up | KeyCode::Backspace => self.draft.at = self.draft.at.saturating_sub(1),
            KeyCode::Char(c) => return command(c).unwrap_or(Act::Nothing),
            _ => {}
        }
        Act::Nothing
    }

    fn key_of_part(&mut self, key: KeyEvent, control: bool) -> Act {
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
            _ if writes => line::input(&mut part.words, key),
            KeyCode::Backspace => part.take_letter_back(),
            KeyCode::Char(' ') if part.is_multiple() => {
                if let Some(Choosable::Option(n)) = part.chosen()
                    && !part.marked.remove(&n)
                {
                    part.marked.insert(n);
                }
            }
            KeyCode::Char(c) if !control => return typed(part, c),
            _ => {}
        }
        Act::Nothing
    }

    /// The part's answer as it stands.
    fn enter(&self) -> Act {
        if self.shown.question().asked.approval.is_some() && !self.was_seen.get() {
            return Act::Say(Cow::Borrowed("see all of the call before you allow it: page down shows the rest"));
        }
        let Some(part) = self.draft.part() else { return Act::Nothing };
        match part.value() {
            Ok(value) => Act::Give(value, part.words_beside().into_iter().collect()),
            Err(Unclear::Because(why)) => Act::Say(why.into()),
            Err(Unclear::Number(wanted)) => Act::Say(wanted.into()),
            Err(Unclear::NearMiss(near)) => Act::AskMeaning(near),
        }
    }

    /// Takes the part's answer, and goes on with the next part of a batch.
    pub fn take(&mut self, value: AnswerValue) {
        // Behind the last part, a batch is looked over.
        let Some(part) = self.draft.part_mut() else { return };
        part.given = Some(value);
        if self.shown.question().is_batch() {
            self.draft.at += 1;
            self.scroll = 0;
        }
    }

    /// The part's answer once the person has said what the words mean: the option at this place, or behind the options the words themselves.
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

    /// Whether words of the person's own can be an answer here.
    pub fn takes_words(&self) -> bool {
        self.draft.part().is_some_and(PartDraft::takes_words)
    }

    /// Takes pasted text, or that of the editor, as words of the person's own. Nothing pasted is ever a key.
    pub fn insert(&mut self, text: &str, replaces: bool) -> Act {
        let Some(part) = self.draft.part_mut() else { return Act::Nothing };
        if !choose_words(part) {
            return ONLY_OPTIONS;
        }
        if replaces {
            part.words = line::area("");
        }
        part.words.insert_str(text);
        Act::Nothing
    }
}

/// How far the text moves, in lines.
const PAGE: usize = 8;
const ONLY_OPTIONS: Act = Act::Say(Cow::Borrowed("only the options count here: choose one, decline with d, or ask back with b"));

/// The commands that one letter gives while an option is chosen.
fn command(c: char) -> Option<Act> {
    Some(match c {
        'n' => Act::Ask(Purpose::Note, Some(c)),
        'N' => Act::Ask(Purpose::Note, None),
        'b' => Act::Ask(Purpose::AskBack, Some(c)),
        'd' => Act::Ask(Purpose::Decline, Some(c)),
        _ => return None,
    })
}

/// A character while an option is chosen: a number chooses, a few letters are commands, everything else begins words of the person's own.
fn typed(part: &mut PartDraft, c: char) -> Act {
    if part.part.kind() == Kind::YesNo {
        return match c {
            '1' | '2' => {
                part.choose(if c == '1' { Choosable::Yes } else { Choosable::No });
                Act::Nothing
            }
            _ if part.add_letter(c) => Act::Nothing,
            _ => command(c).filter(|_| part.takes_commands()).unwrap_or_else(|| {
                part.add_other_letter(c);
                Act::Say(Cow::Borrowed("y or n, then enter; d declines, b asks back, N adds a note; backspace takes a letter back"))
            }),
        };
    }
    if c.is_ascii_digit() {
        if let Some(line) = part.by_digit(c) {
            part.choose(line);
            if let (Choosable::Option(n), true) = (line, part.is_multiple())
                && !part.marked.remove(&n)
            {
                part.marked.insert(n);
            }
            return Act::Nothing;
        }
        if part.keys_are_numbers() || part.lines().len() < 10 {
            return Act::Say(Cow::Borrowed("no option has this number"));
        }
    }
    if let Some(act) = command(c) {
        return act;
    }
    if !choose_words(part) {
        return ONLY_OPTIONS;
    }
    part.words.insert_char(c);
    Act::Nothing
}

fn choose_words(part: &mut PartDraft) -> bool {
    part.choose(Choosable::Words)
}
