//! The question that is open, and what each key does to it.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Line;

use crate::mailbox::AnswerValue;
use crate::mailbox::documents::asked::Kind;
use crate::mailbox::documents::fields::options::Choice;
use crate::surface::askbox::inbox::line::{self, Purpose};
use crate::surface::askbox::inbox::question::draft::{Choosable, Draft, PartDraft, Unclear};
use crate::surface::askbox::inbox::sender::shown::Shown;

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
    /// The options that typed words may mean.
    pub meant: Option<Meant>,
    /// Whether the draft is an earlier one and no key was pressed since: the first enter only says so.
    is_unnoticed: bool,
    /// Whether the person was told that enter leaves words out, and has pressed no other key since.
    knows_what_is_left_out: bool,
}

/// A choice between what typed words may mean.
#[derive(Debug)]
pub struct Meant {
    pub near: Vec<Choice>,
    /// The chosen line: an option, behind them the words themselves, last "write it again". At first none, so that enter alone decides nothing.
    pub at: Option<usize>,
}

/// What a key asks of the inbox.
#[derive(Debug, PartialEq)]
pub enum Act {
    Nothing,
    /// Back to the list; the draft is kept.
    Back,
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
        Self { shown, draft, scroll: 0, most_scroll, was_seen, text, meant: None, is_unnoticed, knows_what_is_left_out: false }
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

    /// What a key does.
    pub fn key(&mut self, key: KeyEvent) -> Act {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let knew = std::mem::take(&mut self.knows_what_is_left_out);
        self.knows_what_is_left_out = knew && key.code == KeyCode::Enter;
        if knew && key.code == KeyCode::Char('n') {
            return self.make_words_a_note();
        }
        if std::mem::take(&mut self.is_unnoticed) && key.code == KeyCode::Enter {
            return Act::Say(Cow::Borrowed("this is your draft from before; enter again goes on with it"));
        }
        match key.code {
            KeyCode::PageDown => self.scroll = (self.scroll + PAGE).min(self.most_scroll.get()),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(PAGE),
            KeyCode::Char('n') if control => return Act::Ask(Purpose::Note, None),
            KeyCode::Char('b') if control => return Act::Ask(Purpose::AskBack, None),
            KeyCode::Char('d') if control => return Act::Ask(Purpose::Decline, None),
            _ if self.meant.is_some() => return self.key_of_meant(key),
            KeyCode::Esc => return Act::Back,
            KeyCode::Tab if self.shown.question().is_batch() => self.draft.at = (self.draft.at + 1).min(self.draft.parts.len()),
            KeyCode::BackTab => self.draft.at = self.draft.at.saturating_sub(1),
            _ if self.draft.is_review() => return self.key_of_review(key),
            _ => return self.key_of_part(key, control),
        }
        Act::Nothing
    }

    /// The words that an option would leave out become the note, which is open to be changed.
    fn make_words_a_note(&mut self) -> Act {
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

    /// Takes the part's answer; sends the whole, or goes on with the next part.
    fn enter(&mut self) -> Act {
        if self.shown.question().asked.approval.is_some() && !self.was_seen.get() {
            return Act::Say(Cow::Borrowed("see all of the call before you allow it: page down shows the rest"));
        }
        let Some(part) = self.draft.part_mut() else { return Act::Nothing };
        match part.value() {
            Ok(value) if part.leaves_words_out() && !self.knows_what_is_left_out => {
                self.knows_what_is_left_out = true;
                Act::Say(format!("your own words would not be sent; enter again sends `{}`, n makes them a note", value.to_text()).into())
            }
            Ok(value) => self.take(value),
            Err(Unclear::Because(why)) => Act::Say(why.into()),
            Err(Unclear::Number(wanted)) => Act::Say(wanted.into()),
            Err(Unclear::Perhaps(near)) => {
                self.meant = Some(Meant { near, at: None });
                Act::Nothing
            }
        }
    }

    fn take(&mut self, value: AnswerValue) -> Act {
        if let Some(part) = self.draft.part_mut() {
            part.given = Some(value.clone());
        }
        if !self.shown.question().is_batch() {
            return Act::Send(value);
        }
        self.draft.at += 1;
        self.scroll = 0;
        Act::Nothing
    }

    fn key_of_meant(&mut self, key: KeyEvent) -> Act {
        let Some(meant) = &mut self.meant else { return Act::Nothing };
        let last = meant.near.len() + 1;
        match key.code {
            KeyCode::Up => meant.at = Some(meant.at.map_or(last, |at| at.saturating_sub(1))),
            KeyCode::Down => meant.at = Some(meant.at.map_or(0, |at| (at + 1).min(last))),
            KeyCode::Char(c) if c.is_ascii_digit() => {
                let place = usize::try_from(c.to_digit(10).unwrap_or(0)).unwrap_or(0);
                meant.at = place.checked_sub(1).filter(|n| *n <= last).or(meant.at);
            }
            KeyCode::Esc => self.meant = None,
            KeyCode::Enter => return self.decide_meant(),
            _ => {}
        }
        Act::Nothing
    }

    fn decide_meant(&mut self) -> Act {
        let Some(at) = self.meant.as_ref().and_then(|meant| meant.at) else {
            return Act::Say(Cow::Borrowed("choose first: a number, or the arrow keys"));
        };
        let Some(meant) = self.meant.take() else { return Act::Nothing };
        let Some(part) = self.draft.part_mut() else { return Act::Nothing };
        let (marked, typed) = (part.marked.clone(), part.typed());
        let said = match meant.near.get(at) {
            Some(choice) => choice.key.clone(),
            None if at == meant.near.len() => typed,
            None => return Act::Nothing,
        };
        if part.is_multiple() {
            let mut keys: Vec<String> =
                marked.iter().filter_map(|n| part.part.options.0.get(*n)).map(|c| c.key.clone()).filter(|key| *key != said).collect();
            keys.push(said);
            return self.take(AnswerValue::List(keys));
        }
        self.take(AnswerValue::Text(said))
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
