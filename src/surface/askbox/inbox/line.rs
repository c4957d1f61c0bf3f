//! One line of text that the inbox asks for: a filter, a reason, a note.

use ratatui::style::Style;
use ratatui_textarea::{CursorMove, TextArea, WrapMode};

/// What a text is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Filter,
    Note,
    AskBack,
    /// The reason for which the open question is declined.
    Decline,
    /// The reason for which this many marked questions are declined.
    DeclineMarked(usize),
}

impl Purpose {
    /// The rows that the text gets.
    pub fn rows(self) -> u16 {
        if self == Self::Filter { 1 } else { 3 }
    }

    /// What stands above the text. `has_others`: there are other machines.
    pub fn title(self, has_others: bool) -> String {
        match self {
            Self::Filter if has_others => "Filter: words, host:NAME, project:NAME, by:NAME, priority:N".into(),
            Self::Filter => "Filter: words, project:NAME, by:NAME, priority:N".into(),
            Self::Note => "A note beside your answer".into(),
            Self::AskBack => "Your question to the agent, which replies by asking again".into(),
            Self::Decline => "Decline. Why? (for the agent; may be empty)".into(),
            Self::DeclineMarked(1) => "Decline 1 question. Why? (for the agent; may be empty)".into(),
            Self::DeclineMarked(n) => format!("Decline {n} questions. Why? (for the agents; may be empty)"),
        }
    }
}

/// An empty text that breaks its lines at words, with its cursor behind `text`.
pub fn area(text: &str) -> TextArea<'static> {
    let mut area = TextArea::default();
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.set_cursor_line_style(Style::default());
    area.insert_str(text);
    area.move_cursor(CursorMove::End);
    area
}

/// The text as it stands.
pub fn text(area: &TextArea<'_>) -> String {
    area.lines().join("\n")
}
