//! The questions that wait.

use std::rc::Rc;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::surface::askbox::inbox::app::App;
use crate::surface::askbox::inbox::draw::clock::Clock;
use crate::surface::askbox::inbox::draw::pieces::{accent, bad, bold, chosen, cut, dim, dimmed, fitted, scrolled_to, urgent, wrapped};
use crate::surface::askbox::inbox::rows::Row;
use crate::surface::terminal::columns::{padded, width};

/// The columns from which on the asker has a column of its own.
const WITH_ASKER: usize = 70;
/// The columns from which on several projects have one.
const WITH_PROJECT: usize = 44;

pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App<'_>, clock: &Clock) {
    let columns = usize::from(area.width);
    let shown = app.waiting.shown();
    let mut lines = vec![head(app, columns)];
    let rows = usize::from(area.height).saturating_sub(1);
    app.waiting.page.set(isize::try_from(rows).unwrap_or(1).max(1));
    let from = scrolled_to(app.waiting.at(), rows, shown.len());
    let visible = &shown[from.min(shown.len())..shown.len().min(from + rows)];
    let cells: Vec<_> = visible.iter().map(|row| Cells::of(row, clock)).collect();
    let ids = visible.iter().map(|row| width(row.workflow.as_str())).max().unwrap_or(0);
    let widths = Widths::of(&cells, ids, columns);
    for (n, (row, cells)) in visible.iter().zip(&cells).enumerate() {
        let is_chosen = from + n == app.waiting.at();
        let mark = if app.waiting.is_marked(&row.workflow) { "*" } else { " " };
        let mut words = vec![(format!("{}{mark}", if is_chosen { ">" } else { " " }), accent())];
        words.extend(widths.line(row, cells));
        let line = fitted(&words, columns);
        lines.push(match (is_chosen, row.is_event) {
            (true, _) => line.style(chosen()),
            (_, true) => line.style(dimmed()),
            _ => line,
        });
    }
    if shown.is_empty() {
        lines.extend(nothing(app).into_iter().flat_map(|words| wrapped(words, columns)).map(|line| line.style(dimmed())));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// What a person is told who sees an empty list.
fn nothing(app: &App<'_>) -> Vec<&'static str> {
    if app.waiting.is_behind() {
        return vec!["reading …"];
    }
    if !app.waiting.filter().is_empty() {
        return vec!["No question has these words. Esc shows all."];
    }
    vec!["", "A new question appears here by itself.", "Tab shows what became of the answered ones."]
}

fn head(app: &App<'_>, columns: usize) -> Line<'static> {
    let (total, events) = (app.waiting.total(), app.waiting.for_events());
    let waiting = match total - events.min(total) {
        0 => "No question is waiting".to_owned(),
        1 => "1 question is waiting".to_owned(),
        n => format!("{n} questions are waiting"),
    };
    let events = if events == 0 { String::new() } else { format!(" ({events} not for you)") };
    let filter = app.waiting.filter();
    let filter = if filter.is_empty() { String::new() } else { format!(" · {} with \"{filter}\"", app.waiting.shown().len()) };
    let left = cut(&format!("{waiting}{events}{filter}"), columns);
    let right = match app.has_watcher {
        Some(false) if !app.asks_only => "no watcher runs",
        _ => "",
    };
    let gap = columns.saturating_sub(width(&left) + width(right));
    let mut line = Line::from(Span::styled(left, bold()));
    if gap > 1 && !right.is_empty() {
        line.spans.extend([Span::raw(" ".repeat(gap)), Span::styled(right, urgent())]);
    }
    line
}

/// The cells of one row.
struct Cells {
    age: String,
    project: String,
    by: String,
    /// What is said about its time, if it is about to be over.
    time: Option<(String, Style)>,
}

impl Cells {
    fn of(row: &Rc<Row>, clock: &Clock) -> Self {
        let time = match row.expires.filter(|_| !row.is_event) {
            Some(_) if row.is_overdue(clock.now()) => Some(("(overdue) ".to_owned(), bad())),
            Some(at) if clock.is_soon(at) => Some((format!("(ends {}) ", clock.ahead(at)), urgent())),
            _ => None,
        };
        let age = row.asked.map_or_else(|| "-".into(), |at| clock.age(at));
        Self { age, project: row.project.clone(), by: row.asked_by.clone(), time }
    }
}

struct Widths {
    id: usize,
    age: usize,
    by: usize,
    project: usize,
}

impl Widths {
    fn of(cells: &[Cells], ids: usize, columns: usize) -> Self {
        let widest = |of: &dyn Fn(&Cells) -> &str, most: usize| cells.iter().map(|row| width(of(row))).max().unwrap_or(0).min(most);
        let is_one = cells.iter().all(|row| row.project == cells[0].project);
        let has_askers = columns >= WITH_ASKER && cells.iter().any(|row| row.by != "-");
        let has_projects = columns >= WITH_PROJECT && (!is_one || columns >= WITH_ASKER);
        Self {
            id: ids.min((columns / 4).clamp(8, 32)),
            age: widest(&|row| &row.age, 8),
            by: if has_askers { widest(&|row| &row.by, 14) } else { 0 },
            project: if has_projects { widest(&|row| &row.project, 14) } else { 0 },
        }
    }

    fn line(&self, row: &Row, cells: &Cells) -> Vec<(String, Style)> {
        let cell = |text: &str, columns: usize| if columns == 0 { String::new() } else { padded(&cut(text, columns), columns) + "  " };
        let mut words = vec![
            (cell(row.workflow.as_str(), self.id), Style::default()),
            (cell(&cells.age, self.age), dimmed()),
            (cell(&cells.project, self.project), dimmed()),
            (cell(&cells.by, self.by), dimmed()),
        ];
        words.extend(cells.time.clone());
        let style = match row {
            Row { is_unreadable: true, .. } => bad(),
            Row { priority: 1.., .. } => urgent().add_modifier(Modifier::BOLD),
            _ => Style::default(),
        };
        words.push((row.headline.clone(), style));
        words
    }
}

/// The marked questions, before they are declined.
pub fn confirm(rows: &[Rc<Row>], height: usize, columns: usize) -> Vec<Line<'static>> {
    let room = height.max(1);
    let shown = if rows.len() > room { room - 1 } else { rows.len() };
    let mut lines: Vec<_> = rows
        .iter()
        .take(shown)
        .map(|row| fitted(&[(format!("{}  ", row.workflow), bold()), (row.headline.clone(), Style::default())], columns))
        .collect();
    if rows.len() > shown {
        lines.push(dim(cut(&format!("and {} more", rows.len() - shown), columns)));
    }
    lines
}
