//! What became of answered questions.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Paragraph};

use crate::surface::askbox::inbox::draw::pieces::{bold, cut, indented, scrolled_to, wrapped};
use crate::surface::askbox::inbox::outcomes::Outcomes;
use crate::surface::terminal::columns::padded;

pub fn draw(frame: &mut Frame<'_>, area: Rect, outcomes: &Outcomes) {
    let columns = usize::from(area.width);
    let wanted = u16::try_from(outcomes.rows.len()).unwrap_or(u16::MAX).saturating_add(1);
    let [above, below] = Layout::vertical([Constraint::Length(wanted.clamp(2, area.height.div_ceil(2))), Constraint::Fill(1)]).areas(area);
    let mut lines = vec![Line::from(cut("What became of answered questions", columns)).style(bold())];
    if outcomes.rows.is_empty() {
        lines.push(Line::from(cut("No question was answered yet", columns)));
    }
    let rows = usize::from(above.height).saturating_sub(1);
    let from = scrolled_to(outcomes.at, rows, outcomes.rows.len());
    for (n, row) in outcomes.rows.iter().enumerate().skip(from).take(rows) {
        let id = padded(&cut(row.round.workflow.as_str(), (columns / 4).clamp(8, 32)), (columns / 5).clamp(8, 24));
        let state = padded(row.state.word(), 11);
        let words = format!(
            "{}{state}  {}  {id}  {} → {}",
            if n == outcomes.at { "> " } else { "  " },
            padded(&row.since, 6),
            row.question,
            row.answer
        );
        let line = Line::from(cut(&words, columns));
        lines.push(if n == outcomes.at { line.style(Style::default().add_modifier(Modifier::REVERSED)) } else { line });
    }
    frame.render_widget(Paragraph::new(lines), above);
    if let Some(chosen) = outcomes.chosen() {
        let block = Block::default().borders(Borders::TOP).border_style(Style::default().add_modifier(Modifier::DIM));
        let inner = block.inner(below);
        frame.render_widget(block, below);
        let room = usize::from(inner.width);
        let mut lines = wrapped(&chosen.question, room);
        for (name, value) in &chosen.details {
            let mut all = wrapped(value, room.saturating_sub(10)).into_iter();
            if let Some(mut first) = all.next() {
                first.spans.insert(0, padded(name, 10).into());
                lines.push(first);
            }
            lines.extend(all.map(|line| indented(line, 10)));
        }
        frame.render_widget(Paragraph::new(lines), inner);
    }
}
