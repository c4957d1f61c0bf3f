//! Draws the log of a run.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use crate::draw::pieces::{BOLD, cut, wrapped};
use crate::log_pane::LogPane;

pub fn draw(frame: &mut Frame<'_>, area: Rect, log: &LogPane) {
    let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let (columns, rows) = (usize::from(area.width), usize::from(body.height));
    let state = match (log.back, log.is_over()) {
        (0, true) => " · it has ended".to_owned(),
        (0, false) => String::new(),
        (back, _) => format!(" · {back} lines below"),
    };
    let title = cut(&format!("The log of {}{state}", log.workflow), columns);
    frame.render_widget(Paragraph::new(Line::from(title)).style(BOLD), head);
    let mut lines = log.newest_first(|lines| {
        let mut shown = Vec::new();
        while shown.len() < rows
            && let Some(line) = lines.next()
        {
            shown.extend(wrapped(line, columns).into_iter().rev());
        }
        shown
    });
    lines.truncate(rows);
    lines.reverse();
    frame.render_widget(Paragraph::new(lines), body);
}
