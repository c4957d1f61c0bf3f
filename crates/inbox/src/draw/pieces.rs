//! Lines that fit their width.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders};

use askbox_cli::{columns, fitted, question_text};
use askbox_mailbox::text;

/// The text without characters that could control the terminal. Also removes U+FE0F, because terminals disagree about the width of an emoji
/// followed by it.
pub fn clean(words: &str) -> String {
    text::printable(words).replace('\u{FE0F}', "").replace('\t', "    ")
}

fn one_line(words: &str) -> String {
    clean(words).replace('\n', " ")
}

/// One line of at most this many columns.
pub fn cut(words: &str, columns: usize) -> String {
    columns::cut(&one_line(words), columns)
}

/// Plain lines of at most this many columns.
pub fn wrapped(words: &str, columns: usize) -> Vec<Line<'static>> {
    fitted::wrapped(&clean(words), columns).into_iter().map(Line::from).collect()
}

/// The text of a call. Where a line is broken, it goes on deeper than any line of askbox begins.
pub fn of_call(words: &str, columns: usize) -> Vec<Line<'static>> {
    question_text::fitted_within(&clean(words), columns).lines().map(|line| Line::from(line.to_owned())).collect()
}

/// Lines of at most this many columns, in one style.
pub fn styled(words: &str, columns: usize, style: Style) -> Vec<Line<'static>> {
    wrapped(words, columns).into_iter().map(|line| line.style(style)).collect()
}

pub const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
pub const DIMMED: Style = Style::new().add_modifier(Modifier::DIM);
/// The style for things to press a key for. The colours are the terminal's own sixteen. `NO_COLOR` turns them off.
pub const ACCENT: Style = Style::new().fg(Color::Cyan);
/// The style for urgent things.
pub const URGENT: Style = Style::new().fg(Color::Yellow);
/// The style for late or failed things.
pub const BAD: Style = Style::new().fg(Color::Red);
/// The style for things that ended well.
pub const GOOD: Style = Style::new().fg(Color::Green);
/// The style of the chosen line.
pub const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);

/// Draws lines on these sides of the area, and returns the area within them.
pub fn framed(frame: &mut Frame<'_>, area: Rect, sides: Borders, style: Style) -> Rect {
    let block = Block::default().borders(sides).border_style(style);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

/// Styled words on one line, cut to this many columns with a `…`.
pub fn fitted(words: &[(String, Style)], columns: usize) -> Line<'static> {
    let mut spans = Vec::new();
    let mut left = columns;
    for (words, style) in words {
        let own = cut(words, left);
        left -= columns::width(&own).min(left);
        let is_cut = own.len() < one_line(words).len();
        spans.push(Span::styled(own, *style));
        if is_cut {
            break;
        }
    }
    Line::from(spans)
}

pub fn dim(words: impl Into<String>) -> Line<'static> {
    Line::from(words.into()).style(DIMMED)
}

/// A line shifted to the right.
pub fn indented(mut line: Line<'static>, columns: usize) -> Line<'static> {
    line.spans.insert(0, Span::raw(" ".repeat(columns)));
    line
}

/// Styled words as lines of at most this many columns. All lines after the first begin with `hanging` spaces.
pub fn flow(words: &[(String, Style)], columns: usize, hanging: usize) -> Vec<Line<'static>> {
    let columns = columns.max(hanging + 4);
    let (mut lines, mut line, mut used) = (Vec::new(), Vec::<Span<'static>>::new(), 0);
    for (text, style) in words {
        for word in text.split_inclusive(' ') {
            let own = columns::width(word.trim_end());
            if used > hanging.min(used) && used + own > columns && !line.is_empty() {
                lines.push(Line::from(std::mem::take(&mut line)));
                line.push(Span::raw(" ".repeat(hanging)));
                used = hanging;
            }
            // A word that is wider than a line is broken.
            let mut rest = String::new();
            for c in word.chars() {
                let own = columns::width(c.encode_utf8(&mut [0; 4]));
                if used + own > columns && c != ' ' {
                    line.push(Span::styled(std::mem::take(&mut rest), *style));
                    lines.push(Line::from(std::mem::take(&mut line)));
                    line.push(Span::raw(" ".repeat(hanging)));
                    used = hanging;
                }
                rest.push(c);
                used += own;
            }
            line.push(Span::styled(rest, *style));
        }
    }
    lines.push(Line::from(line));
    lines
}

/// The first line to show, so that everything up to `at` is visible in `rows` lines.
pub fn scrolled_to(at: usize, rows: usize, total: usize) -> usize {
    (at + 1).saturating_sub(rows).min(total.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styled_words_flow_into_lines_that_fit() {
        let words = [
            ("one two ".to_owned(), Style::default()),
            ("three-is-a-very-long-word".to_owned(), BOLD),
            (" end".to_owned(), Style::default()),
        ];
        for columns in 6..40 {
            let lines = flow(&words, columns, 2);
            assert!(lines.iter().all(|line| line.width() <= columns + 1), "{columns}: {lines:?}");
            let all: String = lines.iter().flat_map(|line| line.spans.iter()).map(|span| span.content.as_ref()).collect();
            assert_eq!(all.replace(' ', ""), "onetwothree-is-a-very-long-wordend");
        }
    }
}
