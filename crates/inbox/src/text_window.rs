//! A text that the inbox asks for in a separate window: a filter, a reason, a note.
//!
//! A text that may be longer than its place on the screen. It notes how much of it the person has seen.

use std::cell::Cell;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Style;
use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use serde::{Deserialize, Serialize};

use askbox_cli::person::Act;

/// A window that asks for a text.
pub struct Asking {
    pub purpose: Purpose,
    pub area: TextArea<'static>,
    /// The letter that opened an empty window over a question. It may have been meant as the beginning of a word.
    pub letter: Option<char>,
    /// The tool call whose refusal this window decides, as a rule or by its tool. `None` for everything else.
    pub call: Option<String>,
    /// True if the call is to be refused whenever the workflow makes it. For a live session, true if its turn is to end as well.
    pub is_always: bool,
    /// True if the dialog of a live session is refused.
    pub is_live: bool,
}

/// Words that often begin an answer, with the letter that opens the note.
const ANSWERS_WITH_N: [&str; 9] = ["no", "none", "not", "nothing", "neither", "never", "now", "new", "next"];

/// Words that often begin an answer, and that are no words without the letter that opens the window of a decision. A reason begins with any
/// other word.
const ANSWERS_WITH_B_OR_D: [&str; 8] = ["both", "because", "but", "better", "before", "do", "don't", "drop"];

impl Asking {
    /// A window with the text `before`, and the cursor after it.
    pub fn new(purpose: Purpose, before: &str, letter: Option<char>) -> Self {
        let letter = letter.filter(|_| before.is_empty());
        Self { purpose, area: area(before), letter, call: None, is_always: false, is_live: false }
    }

    /// The title above the text. `has_others` is true if there are other machines.
    pub fn title(&self, has_others: bool) -> String {
        match &self.call {
            _ if self.is_live && self.is_always => "End the session's turn. The agent is told nothing, so write no reason".into(),
            Some(call) if self.is_always => format!("Refuse \"{call}\" whenever the workflow makes it. Why? (may be empty)"),
            Some(_) => "Refuse this one call. Why? (for the agent; may be empty)".into(),
            None => self.purpose.title(has_others),
        }
    }

    pub fn text(&self) -> String {
        text(&self.area)
    }

    /// The decision that this window makes of `act`, the decision of its purpose. A refusal may go further than this one call.
    pub fn how_far(&self, act: Act) -> Act {
        match act {
            Act::Decline if self.is_always && self.is_live => Act::DeclineAndStop,
            Act::Decline if self.is_always => Act::DeclineAlways,
            act => act,
        }
    }

    /// The word that the person may have been typing, if its first letter opened the window: `both` for `b` and `oth`, `none` for `n` and
    /// `one`. Only words that often begin an answer are asked about, and those of which `is_option` is true.
    pub fn begun(&self, is_option: impl Fn(&str) -> bool) -> Option<String> {
        let text = self.text();
        let goes_on = text.starts_with(|c: char| c.is_lowercase() || c == '\'');
        let said = self.letter.filter(|_| goes_on).map(|letter| format!("{letter}{text}"))?;
        let word = said.split(|c: char| !c.is_alphabetic() && c != '\'').next().unwrap_or_default().to_lowercase();
        let is_likely = match self.purpose {
            Purpose::AskBack | Purpose::Decline => ANSWERS_WITH_B_OR_D.contains(&word.as_str()) || is_option(said.trim()),
            Purpose::Note => ANSWERS_WITH_N.contains(&word.as_str()),
            Purpose::Filter | Purpose::DeclineMarked(_) | Purpose::Prompt | Purpose::Stop => false,
        };
        is_likely.then_some(said)
    }
}

/// The last texts of the windows over a question. They were not used yet, or their decision was taken back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Typed {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    note: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    ask_back: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    decline: String,
}

impl Typed {
    /// The text for this purpose. Empty if the purpose does not belong to a question.
    pub fn for_purpose(&self, purpose: Purpose) -> &str {
        match purpose {
            Purpose::Note => &self.note,
            Purpose::AskBack => &self.ask_back,
            Purpose::Decline => &self.decline,
            Purpose::Filter | Purpose::DeclineMarked(_) | Purpose::Prompt | Purpose::Stop => "",
        }
    }

    pub fn set(&mut self, purpose: Purpose, text: String) {
        let text = if text.trim().is_empty() { String::new() } else { text };
        match purpose {
            Purpose::Note => self.note = text,
            Purpose::AskBack => self.ask_back = text,
            Purpose::Decline => self.decline = text,
            Purpose::Filter | Purpose::DeclineMarked(_) | Purpose::Prompt | Purpose::Stop => {}
        }
    }

    pub fn is_empty(&self) -> bool {
        self.texts().next().is_none()
    }

    /// All texts that are not empty.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        [&self.note, &self.ask_back, &self.decline].into_iter().map(String::as_str).filter(|text| !text.is_empty())
    }
}

/// The purpose of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Filter,
    Note,
    AskBack,
    /// The reason to decline the open question.
    Decline,
    /// The reason to decline the marked questions, with their number.
    DeclineMarked(usize),
    /// The next prompt for the open session.
    Prompt,
    /// Stop the turn of the open session. It has no text.
    Stop,
}

impl Purpose {
    /// The decision that is sent when enter closes the window.
    pub fn act(self) -> Option<Act> {
        match self {
            Self::Decline => Some(Act::Decline),
            Self::AskBack => Some(Act::AskBack),
            Self::Filter | Self::Note | Self::DeclineMarked(_) | Self::Prompt | Self::Stop => None,
        }
    }

    /// The number of rows for the text.
    pub fn rows(self) -> u16 {
        if matches!(self, Self::Filter | Self::Stop) { 1 } else { 3 }
    }

    fn title(self, has_others: bool) -> String {
        match self {
            Self::Filter if has_others => "Filter: words, host:NAME, project:NAME, by:NAME, priority:N, is:live".into(),
            Self::Filter => "Filter: words, project:NAME, by:NAME, priority:N, is:live".into(),
            Self::Note => "A note beside your answer".into(),
            Self::AskBack => "Your question to the agent, which replies by asking again".into(),
            Self::Decline => "Decline. Why? (for the agent; may be empty)".into(),
            Self::Prompt => "The next prompt".into(),
            Self::Stop => "Stop its turn. The agent is told nothing, so write nothing".into(),
            Self::DeclineMarked(1) => "Decline 1 question. Why? (for the agent; may be empty)".into(),
            Self::DeclineMarked(n) => format!("Decline {n} questions. Why? (for the agents; may be empty)"),
        }
    }
}

/// A text area that breaks lines at words. It contains `text`, with the cursor after it.
pub fn area(text: &str) -> TextArea<'static> {
    let mut area = TextArea::default();
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.set_cursor_line_style(Style::default());
    area.insert_str(text);
    area.move_cursor(CursorMove::End);
    area
}

/// Applies a key to a text. Ctrl-U clears the line before the cursor, as in a shell.
pub fn input(area: &mut TextArea<'_>, key: KeyEvent) {
    if key.code == KeyCode::Char('u') && key.modifiers.contains(KeyModifiers::CONTROL) {
        area.delete_line_by_head();
    } else {
        area.input(key);
    }
}

/// The current text.
pub fn text(area: &TextArea<'_>) -> String {
    area.lines().join("\n")
}

/// The maximum number of lines that a page scrolls.
const PAGE: isize = 8;

/// The place in a text, and the lines that were on the screen so far.
#[derive(Debug, Default)]
pub struct Scroll {
    /// The number of lines that are scrolled off the top.
    from: usize,
    /// The number of lines of the place and of the text, when they were last drawn.
    rows: Cell<usize>,
    total: Cell<usize>,
    /// The number of lines, from the first one on, that were all on the screen.
    seen: Cell<usize>,
    /// True once every line has been on the screen.
    pub was_seen: bool,
}

impl Scroll {
    /// Notes that the text is drawn into this many rows. Returns the first line to draw.
    pub fn draw(&self, rows: usize, total: usize) -> usize {
        if self.total.replace(total) != total {
            // The lines are broken at other places now.
            self.seen.set(0);
        }
        self.rows.set(rows);
        self.from()
    }

    /// Notes that the lines that were drawn last are on the screen.
    pub fn was_drawn(&mut self) {
        // Two keys may scroll before a picture is drawn. The lines that they skip do not count.
        if self.from() <= self.seen.get() {
            self.seen.set(self.seen.get().max(self.from() + self.rows.get()));
        }
        self.was_seen |= self.seen.get() >= self.total.get();
    }

    /// True if more of the text is below the visible part.
    pub fn has_more(&self) -> bool {
        self.from < self.most()
    }

    /// The first line that is visible.
    pub fn from(&self) -> usize {
        self.from.min(self.most())
    }

    fn most(&self) -> usize {
        self.total.get().saturating_sub(self.rows.get())
    }

    /// Scrolls by this many lines.
    pub fn step(&mut self, lines: isize) {
        self.from = self.from().saturating_add_signed(lines).min(self.most());
    }

    /// Scrolls by a page, which skips no line.
    pub fn page(&mut self, down: bool) {
        let lines = self.rows().min(PAGE);
        self.step(if down { lines } else { -lines });
    }

    /// The number of lines on the screen, at least one.
    pub fn rows(&self) -> isize {
        isize::try_from(self.rows.get().max(1)).unwrap_or(1)
    }

    /// Goes back to the beginning, for another text.
    pub fn begin(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(scroll: &mut Scroll, rows: usize, total: usize) -> (usize, bool) {
        let from = scroll.draw(rows, total);
        scroll.was_drawn();
        (from, scroll.was_seen)
    }

    #[test]
    fn a_text_was_seen_once_each_of_its_lines_was_drawn() {
        let mut scroll = Scroll::default();
        assert_eq!(draw(&mut scroll, 3, 10), (0, false));
        assert!(scroll.has_more());
        // Two keys come before a picture, so three lines are skipped.
        scroll.page(true);
        scroll.page(true);
        assert_eq!(draw(&mut scroll, 3, 10), (6, false));
        scroll.page(true);
        assert_eq!(draw(&mut scroll, 3, 10), (7, false));
        assert!(!scroll.has_more());
        scroll.step(-4);
        assert_eq!(draw(&mut scroll, 3, 10), (3, false));
        scroll.page(true);
        assert_eq!(draw(&mut scroll, 3, 10), (6, false));
        scroll.page(true);
        assert_eq!(draw(&mut scroll, 3, 10), (7, true));
        assert_eq!(draw(&mut scroll, 3, 20), (7, true), "it was seen at another width");
    }

    #[test]
    fn a_place_without_rows_shows_nothing_of_a_text() {
        let mut scroll = Scroll::default();
        assert_eq!(draw(&mut scroll, 0, 2), (0, false));
        assert_eq!(draw(&mut scroll, 2, 2), (0, true));
    }

    #[test]
    fn lines_that_are_broken_anew_are_seen_from_the_first_one_again() {
        let mut scroll = Scroll::default();
        draw(&mut scroll, 4, 12);
        scroll.page(true);
        draw(&mut scroll, 4, 12);
        assert_eq!(draw(&mut scroll, 4, 6), (2, false), "the text before them took more lines");
        scroll.page(false);
        draw(&mut scroll, 4, 6);
        scroll.page(true);
        assert_eq!(draw(&mut scroll, 4, 6), (2, true));
    }
}
