//! Draws the current answer: the options, the person's own words, the review of a batch.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Borders, Paragraph};

use crate::draw::pieces::{ACCENT, BAD, BOLD, CHOSEN, DIMMED, URGENT, cut, dim, fitted, framed, indented, scrolled_to, wrapped};
use crate::gate::{CONFIRMS, Panel, Shown};
use crate::question::draft::{Choosable, PartDraft};
use crate::question::opened::Opened;
use crate::targets::{Target, Targets};
use askbox_cli::terminal::columns::{padded, width};
use askbox_cli::{AtStake, question_text};
use askbox_mailbox::AnswerValue;

/// The maximum number of rows for the person's own words.
const MOST_ROWS_OF_WORDS: usize = 8;

/// The part of the screen below the question.
pub struct Below {
    lines: Vec<Line<'static>>,
    /// The line that must be visible.
    at: usize,
    /// The number of lines for the person's own words, below the other lines.
    rows_of_words: usize,
    /// For each line that can be clicked, the position of what it chooses.
    targets: Vec<(usize, usize)>,
}

impl Below {
    pub fn new(opened: &Opened, panel: Option<&Panel>, columns: usize) -> Self {
        if let Some(panel) = panel {
            return Self { at: panel.at.map_or(0, |at| at + 1), lines: of_meaning(panel, columns), rows_of_words: 0, targets: Vec::new() };
        }
        let mut below = match opened.draft.part() {
            None => Self { lines: review(opened, columns), at: 0, rows_of_words: 0, targets: Vec::new() },
            Some(part) => of_part(part, columns),
        };
        if !opened.draft.note.trim().is_empty() {
            below.lines.insert(0, Line::from(cut(&format!("note: {}", opened.draft.note), columns)).style(URGENT));
            below.at += 1;
            below.targets.iter_mut().for_each(|(line, _)| *line += 1);
        }
        below
    }

    /// The number of rows that it needs.
    pub fn rows(&self) -> usize {
        self.lines.len() + self.rows_of_words
    }

    /// Draws it. Says whether the line that must be visible is on the screen, or a line of the words that are written.
    pub fn draw(self, frame: &mut Frame<'_>, area: Rect, opened: &Opened, targets: &mut Targets) -> Shown {
        let words = u16::try_from(self.rows_of_words).unwrap_or(1).min(area.height);
        let wanted = u16::try_from(self.lines.len()).unwrap_or(u16::MAX).min(area.height.saturating_sub(words));
        let [lines, words] = Layout::vertical([Constraint::Length(wanted), Constraint::Length(words)]).areas(area);
        let (height, all) = (usize::from(lines.height), self.lines.len());
        // The chosen line must stay above the line that says how many more there are.
        let from = scrolled_to(if height > 1 { (self.at + 1).min(all.saturating_sub(1)) } else { self.at }, height, all);
        for (line, n) in &self.targets {
            if let Some(row) = line.checked_sub(from).filter(|row| *row < height).and_then(|row| u16::try_from(row).ok()) {
                targets.add(Rect { y: lines.y + row, height: 1, ..lines }, Target::Line(*n));
            }
        }
        let is_written = self.rows_of_words > 0;
        let is_shown = if is_written { words.height > 0 } else { self.at < from + height };
        let mut seen: Vec<_> = self.lines.into_iter().skip(from).take(height).collect();
        if from + height < all && height > 2 {
            seen.truncate(height - 1);
            seen.push(dim(format!("  … {} more lines: ↓", all - from - height + 1)));
        }
        frame.render_widget(Paragraph::new(seen), lines);
        if let Some(part) = opened.draft.part().filter(|part| is_written && part.writes()) {
            let place = Rect { x: words.x + 2, width: words.width.saturating_sub(2), ..words };
            let inner = framed(frame, place, Borders::LEFT, ACCENT);
            frame.render_widget(&part.words, Rect { x: inner.x + 1, width: inner.width.saturating_sub(1), ..inner });
        }
        Shown::whole_if(is_shown)
    }
}

fn of_part(part: &PartDraft, columns: usize) -> Below {
    let (mut lines, mut at) = (Vec::new(), 0);
    let keys = part.part.options.0.iter().map(|choice| width(&choice.key)).max().unwrap_or(0).min(columns / 3).min(24);
    let (mut rows_of_words, mut targets) = (0, Vec::new());
    for (n, line) in part.lines().into_iter().enumerate() {
        let is_chosen = part.chosen() == Some(line);
        if is_chosen {
            at = lines.len();
        }
        let number = if part.keys_are_numbers() || n > 8 { "  ".to_owned() } else { format!("{} ", n + 1) };
        let mark = match line {
            Choosable::Option(n) if part.is_multiple() && part.marked.contains(&n) => "[x] ",
            Choosable::Option(_) if part.is_multiple() => "[ ] ",
            _ => "",
        };
        let head = format!("{}{number}{mark}", if is_chosen { "> " } else { "  " });
        let before = lines.len();
        match line {
            Choosable::Yes => lines.push(Line::from(format!("{head}yes"))),
            Choosable::No => lines.push(Line::from(format!("{head}no"))),
            Choosable::Option(n) => lines.extend(of_option(part, n, &head, keys, columns)),
            Choosable::Words if part.part.options.is_empty() => lines.push(dim(cut(&question_text::kind(&part.part), columns))),
            Choosable::Words => lines.push(Line::from(cut(&format!("{head}your own words"), columns))),
        }
        targets.extend((before..lines.len()).map(|line| (line, n)));
        if is_chosen && line != Choosable::Words {
            lines[before..].iter_mut().for_each(|line| line.style = CHOSEN);
        }
        if line == Choosable::Words {
            let typed = part.typed();
            if is_chosen {
                let needed = wrapped(&typed, columns.saturating_sub(6)).len() + 1;
                rows_of_words = needed.clamp(2, MOST_ROWS_OF_WORDS);
            } else if !typed.trim().is_empty() {
                lines.push(dim(cut(&format!("  │ {typed}"), columns)));
            }
        }
    }
    Below { lines, at, rows_of_words, targets }
}

fn of_option(part: &PartDraft, n: usize, head: &str, keys: usize, columns: usize) -> Vec<Line<'static>> {
    let Some(choice) = part.part.options.0.get(n) else { return Vec::new() };
    let key = padded(&cut(&choice.key, keys.max(1)), keys) + "  ";
    let indent = width(head) + width(&key);
    let mut described = wrapped(&choice.description, columns.saturating_sub(indent).max(8)).into_iter();
    let mut first = described.next().unwrap_or_default();
    first.spans.insert(0, Span::styled(key, ACCENT));
    first.spans.insert(0, Span::raw(head.to_owned()));
    let mut lines = vec![first];
    lines.extend(described.map(|line| indented(line, indent)));
    for preview in choice.preview.iter().flat_map(|preview| preview.lines()) {
        lines.push(dim(cut(&format!("{}│ {preview}", " ".repeat(head.chars().count())), columns)));
    }
    lines
}

fn of_meaning(panel: &Panel, columns: usize) -> Vec<Line<'static>> {
    let AtStake::NearMiss { words, near, .. } = &panel.at_stake else { return Vec::new() };
    let mut rows: Vec<String> = near.iter().map(|choice| format!("{}  {}", choice.key, choice.description)).collect();
    rows.push(format!("my own words: {words}"));
    rows.push("write it again".into());
    let mut lines = vec![Line::from(panel.at_stake.told(CONFIRMS)).style(BOLD)];
    for (n, row) in rows.into_iter().enumerate() {
        let is_chosen = panel.at == Some(n);
        let line = Line::from(cut(&format!("{}{} {row}", if is_chosen { "> " } else { "  " }, n + 1), columns));
        lines.push(if is_chosen { line.style(CHOSEN) } else { line });
    }
    lines
}

fn review(opened: &Opened, columns: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (n, part) in opened.draft.parts.iter().enumerate() {
        let asked = part.part.header.as_deref().unwrap_or(&part.part.question);
        let (given, style) = match &part.given {
            Some(value) => (AnswerValue::to_text(value), Style::default()),
            None => ("not answered yet".to_owned(), BAD),
        };
        let asked = format!("{}. {asked}: ", n + 1);
        if width(&asked) + width(&given) <= columns && !given.contains('\n') {
            lines.push(fitted(&[(asked, DIMMED), (given, style)], columns));
        } else {
            lines.extend(wrapped(asked.trim_end(), columns).into_iter().map(|line| line.style(DIMMED)));
            lines.extend(wrapped(&given, columns.saturating_sub(3)).into_iter().map(|line| indented(line.style(style), 3)));
        }
    }
    lines
}
