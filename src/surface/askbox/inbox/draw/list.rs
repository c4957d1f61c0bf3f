//! The questions that wait.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use crate::surface::askbox::inbox::app::App;
use crate::surface::askbox::inbox::draw::pieces::{bold, cut, dim, scrolled_to};
use crate::surface::askbox::inbox::rows::Row;
use crate::surface::terminal::columns::{padded, width};

/// The columns from which on the project and the asker have columns of their own.
const WIDE: usize = 70;

pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App<'_>) {
    let columns = usize::from(area.width);
    let shown = app.shown();
    let mut lines = vec![Line::from(cut(&head(app, shown.len()), columns)).style(bold())];
    let rows = usize::from(area.height).saturating_sub(1);
    let at = app.chosen.as_ref().and_then(|chosen| shown.iter().position(|row| row.workflow == *chosen));
    let from = scrolled_to(at.unwrap_or(0), rows, shown.len());
    let visible = &shown[from.min(shown.len())..shown.len().min(from + rows)];
    let widths = Widths::of(visible, columns);
    for row in visible {
        let is_chosen = app.chosen.as_ref() == Some(&row.workflow);
        let mark = if app.marked.contains(&row.workflow) { "*" } else { " " };
        let words = cut(&format!("{}{mark}{}", if is_chosen { ">" } else { " " }, widths.line(row)), columns);
        let line = if row.is_event { dim(words) } else { Line::from(words) };
        lines.push(if is_chosen { line.style(Style::default().add_modifier(Modifier::REVERSED)) } else { line });
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn head(app: &App<'_>, shown: usize) -> String {
    let total = app.rows.len();
    let events = app.rows.iter().filter(|row| row.is_event).count();
    let waiting = match total - events {
        0 => "No question is waiting".to_owned(),
        1 => "1 question is waiting".to_owned(),
        n => format!("{n} questions are waiting"),
    };
    let events = if events == 0 { String::new() } else { format!(" ({events} not for you)") };
    let filter = if app.filter.is_empty() { String::new() } else { format!(" · {shown} with \"{}\"", app.filter) };
    format!("{waiting}{events}{filter}")
}

struct Widths {
    id: usize,
    age: usize,
    by: usize,
    project: usize,
}

impl Widths {
    fn of(rows: &[&Row], columns: usize) -> Self {
        let widest = |of: &dyn Fn(&Row) -> &str, most: usize| rows.iter().map(|row| width(of(row))).max().unwrap_or(0).min(most);
        let is_wide = columns >= WIDE;
        Self {
            id: widest(&|row| row.workflow.as_str(), (columns / 4).clamp(8, 32)),
            age: widest(&|row| &row.age, 8),
            by: if is_wide { widest(&|row| &row.asked_by, 14) } else { 0 },
            project: if is_wide { widest(&|row| &row.project, 14) } else { 0 },
        }
    }

    fn line(&self, row: &Row) -> String {
        let cell = |text: &str, columns: usize| if columns == 0 { String::new() } else { padded(&cut(text, columns), columns) + "  " };
        let (id, age) = (cell(row.workflow.as_str(), self.id), cell(&row.age, self.age));
        format!("{id}{age}{}{}{}", cell(&row.project, self.project), cell(&row.asked_by, self.by), row.headline)
    }
}
