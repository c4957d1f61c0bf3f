//! A Markdown table as lines: aligned columns, or a list of `head: cell` for each row if it is too wide.

use pulldown_cmark::Alignment;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::draw::pieces::{bold, dim, flow};
use askbox_cli::terminal::columns::width;

/// The words between two columns.
const GAP: &str = "  ";

/// A table that is being read. The first row is its head.
#[derive(Debug, Default)]
pub struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Cell>>,
}

/// Styled words on one line.
type Cell = Vec<(String, Style)>;

impl Table {
    pub fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new() }
    }

    pub fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub fn add(&mut self, cell: Cell) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// The table in at most this many columns.
    pub fn lines(mut self, columns: usize) -> Vec<Line<'static>> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let head = self.rows.remove(0);
        let count = self.rows.iter().map(Vec::len).chain([head.len()]).max().unwrap_or(0);
        let of_column = |n: usize| self.rows.iter().chain([&head]).filter_map(move |row| row.get(n));
        let widths: Vec<usize> = (0..count).map(|n| of_column(n).map(cell_width).max().unwrap_or(0)).collect();
        let total = widths.iter().sum::<usize>() + GAP.len() * count.saturating_sub(1);
        if total > columns {
            return self.as_list(&head, columns);
        }
        let line = |row: &Vec<Cell>| {
            let mut spans = Vec::new();
            for (n, (cell, wide)) in row.iter().zip(&widths).enumerate() {
                let left_over = wide.saturating_sub(cell_width(cell));
                let before = match self.alignments.get(n) {
                    Some(Alignment::Right) => left_over,
                    Some(Alignment::Center) => left_over / 2,
                    _ => 0,
                };
                spans.push(Span::raw(" ".repeat(before)));
                spans.extend(cell.iter().map(|(words, style)| Span::styled(words.clone(), *style)));
                spans.push(Span::raw(" ".repeat(left_over - before) + GAP));
            }
            spans.pop();
            Line::from(spans)
        };
        let rule = widths.iter().map(|wide| "─".repeat(*wide)).collect::<Vec<_>>().join(GAP);
        let mut lines = vec![line(&head).patch_style(bold()), dim(rule)];
        lines.extend(self.rows.iter().map(line));
        lines
    }

    fn as_list(&self, head: &[Cell], columns: usize) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for (n, row) in self.rows.iter().enumerate() {
            if n > 0 {
                lines.push(Line::default());
            }
            for (n, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
                let mut words: Cell =
                    head.get(n).into_iter().flatten().map(|(words, style)| (words.clone(), style.patch(bold()))).collect();
                if !words.is_empty() {
                    words.push((": ".into(), Style::default()));
                }
                words.extend(cell.iter().cloned());
                lines.extend(flow(&words, columns, 2));
            }
        }
        // A table without rows shows its head.
        if self.rows.is_empty() {
            lines.extend(head.iter().flat_map(|cell| flow(cell, columns, 2)));
        }
        lines
    }
}

fn cell_width(cell: &Cell) -> usize {
    cell.iter().map(|(words, _)| width(words)).sum()
}
