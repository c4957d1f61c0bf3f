//! Draws the list of waiting questions.

use std::rc::Rc;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::app::{App, Until};
use crate::draw::clock::Clock;
use crate::draw::pieces::{ACCENT, BAD, BOLD, CHOSEN, DIMMED, URGENT, cut, dim, fitted, scrolled_to, styled, wrapped};
use crate::gate::Shown;
use crate::row::Row;
use crate::search::Search;
use crate::sent::from_here::SentAnswer;
use crate::targets::Target;
use askbox_cli::person::Named;
use askbox_cli::terminal::columns::{padded, width};
use askbox_mailbox::{excerpt, one_line};
use askbox_peers::machines::offer_state::{self, Stands};

/// The minimum number of columns for showing the asker in its own column.
const WITH_ASKER: usize = 70;
/// The minimum number of columns for showing the project in its own column, if there are several projects.
const WITH_PROJECT: usize = 44;

/// Draws the list. Says whether the row under the cursor is on the screen.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App<'_>, clock: &Clock) -> Shown {
    let columns = usize::from(area.width);
    let shown = &app.waiting.shown;
    let mut lines = above(app, columns);
    let rows = usize::from(area.height).saturating_sub(lines.len());
    app.waiting.page.set(isize::try_from(rows).unwrap_or(1).max(1));
    let from = scrolled_to(app.waiting.at, rows, shown.len());
    let visible = &shown[from.min(shown.len())..shown.len().min(from + rows)];
    let cells: Vec<_> = visible.iter().map(|row| Cells::of_row(row, app, clock)).collect();
    let widths = Widths::fitting(&cells, columns);
    let search = Search::new(&app.waiting.filter);
    for (n, (row, cells)) in visible.iter().zip(&cells).enumerate() {
        let y = area.y.saturating_add(u16::try_from(lines.len()).unwrap_or(u16::MAX));
        app.targets.borrow_mut().add(Rect { y, height: 1, ..area }, Target::Row(row.address.clone()));
        let is_chosen = from + n == app.waiting.at;
        let mark = if app.waiting.marked.contains(&row.address) { "*" } else { " " };
        let mut words = vec![(format!("{}{mark}", if is_chosen { ">" } else { " " }), ACCENT)];
        words.extend(widths.line(row, cells, &search));
        let line = fitted(&words, columns);
        lines.push(match (is_chosen, row.facts.is_event || cells.is_dim) {
            (true, _) => line.style(CHOSEN),
            (_, true) => line.style(DIMMED),
            _ => line,
        });
    }
    if shown.is_empty() {
        lines.extend(nothing(app).into_iter().flat_map(|words| wrapped(words, columns)).map(|line| line.style(DIMMED)));
    }
    frame.render_widget(Paragraph::new(lines), area);
    Shown::whole_if(shown.is_empty() || rows > 0)
}

/// The number of rows that the whole list takes.
pub fn wanted(app: &App<'_>, columns: u16) -> u16 {
    u16::try_from(app.waiting.shown.len() + above(app, columns.into()).len()).unwrap_or(u16::MAX)
}

/// The lines above the questions.
fn above(app: &App<'_>, columns: usize) -> Vec<Line<'static>> {
    let notes = notes(app).into_iter().flat_map(|(note, style)| styled(&one_line(&note), columns, style).into_iter().take(4));
    std::iter::once(head(app, columns)).chain(notes).collect()
}

/// The text in place of an empty list.
fn nothing(app: &App<'_>) -> Vec<&'static str> {
    if app.waiting.is_behind() {
        return vec!["reading …"];
    }
    if !app.waiting.filter.is_empty() {
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
    let events = match events {
        0 => String::new(),
        1 => " · 1 waits for an event, not for you".to_owned(),
        n => format!(" · {n} wait for events, not for you"),
    };
    let (shown, filter) = (app.waiting.shown.len(), &app.waiting.filter);
    let position = if shown > 1 { format!("{}/{shown}", app.waiting.at + 1) } else { shown.to_string() };
    let position = match (filter.is_empty(), shown) {
        (false, _) => format!(" · {position} with \"{filter}\""),
        (true, 0 | 1) => String::new(),
        (true, _) => format!(" · {position}"),
    };
    // What is less important is left out first.
    let whole = format!("{waiting}{events}{position}");
    let left = if width(&whole) <= columns { whole } else { cut(&format!("{waiting}{position}"), columns) };
    let held_up = app.held_up_by.filter(|_| matches!(app.until, Until::Left));
    let held_up = held_up.map(|cause| Span::styled(cause.in_short().unwrap_or_default(), URGENT));
    let asked = app.heard.now.being_asked();
    let asked = (!asked.is_empty()).then(|| Span::styled(cut(&format!("asking {} …", asked.join(", ")), 40), DIMMED));
    let mut line = Line::from(Span::styled(left, BOLD));
    let both = match (&asked, &held_up) {
        (Some(asked), Some(held_up)) => vec![asked.clone(), Span::raw(" · "), held_up.clone()],
        _ => Vec::new(),
    };
    // The first of these that fits is shown.
    let rights = [both, held_up.into_iter().collect(), asked.into_iter().collect()];
    for right in rights.into_iter().filter(|right| !right.is_empty()) {
        let gap = columns.saturating_sub(line.width() + Line::from(right.clone()).width());
        if gap > 1 {
            line.spans.push(Span::raw(" ".repeat(gap)));
            line.spans.extend(right);
            break;
        }
    }
    line
}

/// Notes above the list: answers that were not accepted, and machines that are not reached.
fn notes(app: &App<'_>) -> Vec<(String, Style)> {
    let (offers, machines) = (app.sent.note(), app.heard.now.note());
    [(offers, URGENT), (machines, DIMMED)].into_iter().filter_map(|(note, style)| Some((note?, style))).collect()
}

/// The cells of one row.
struct Cells {
    id: String,
    is_there: bool,
    /// True if the question may be out of date, or is already answered from here.
    is_dim: bool,
    age: String,
    project: String,
    by: String,
    /// The marks before the question: its time is almost over, its age may be out of date, an answer is on its way.
    marks: Vec<(String, Style)>,
}

impl Cells {
    fn of_row(row: &Rc<Row>, app: &App<'_>, clock: &Clock) -> Self {
        let time = match row.facts.expires_at.filter(|_| !row.facts.is_event) {
            Some(_) if row.is_overdue(clock.now) => Some(("(overdue) ".to_owned(), BAD)),
            Some(at) if clock.is_soon(at) => Some((format!("(ends {}) ", clock.ahead(at)), URGENT)),
            _ => None,
        };
        let away = row.address.host.as_ref().and_then(|host| app.heard.now.machine(host)).filter(|machine| machine.is_stale());
        let old = away.map(|machine| match machine.as_of.map(|at| clock.age(at)) {
            Some(age) if age == "now" => "(as of just now) ".to_owned(),
            Some(age) => format!("(as of {age} ago) "),
            None => "(of unknown age) ".to_owned(),
        });
        let given = row.at().and_then(|at| app.sent.offered_for(&at)).and_then(SentAnswer::told);
        let sent = given.filter(|told| told.stands.is_open()).map(|told| match told.stands {
            Stands::Unconfirmed => "(sent, not confirmed) ".to_owned(),
            stands => format!("({}) ", stands.word()),
        });
        let sent = sent.or_else(|| {
            let machine = row.address.host.as_ref().and_then(|host| app.heard.now.machine(host))?;
            Some(format!("(sent by {}) ", offer_state::first_sender(machine, row.facts.question?)?))
        });
        let is_dim = old.is_some() || sent.is_some();
        let or_dash = |words: &str| if words.is_empty() { "-".to_owned() } else { words.to_owned() };
        let said = [sent, old].into_iter().flatten().map(|words| (words, URGENT));
        let age = row.facts.asked_at.map_or_else(|| "-".into(), |at| clock.age(at));
        Self {
            id: row.address.to_string(),
            is_there: row.address.host.is_some(),
            is_dim,
            age,
            project: or_dash(&row.facts.project),
            by: or_dash(&row.facts.asked_by),
            marks: time.into_iter().chain(said).collect(),
        }
    }
}

struct Widths {
    id: usize,
    age: usize,
    by: usize,
    project: usize,
}

impl Widths {
    fn fitting(cells: &[Cells], columns: usize) -> Self {
        let widest = |of: &dyn Fn(&Cells) -> &str, most: usize| cells.iter().map(|row| width(of(row))).max().unwrap_or(0).min(most);
        let is_one = cells.iter().all(|row| row.project == cells[0].project);
        let has_askers = columns >= WITH_ASKER && cells.iter().any(|row| row.by != "-");
        let has_projects = columns >= WITH_PROJECT && (!is_one || columns >= WITH_ASKER);
        Self {
            // The name of a machine needs extra room.
            id: widest(&|row| &row.id, (columns / if cells.iter().any(|row| row.is_there) { 3 } else { 4 }).clamp(8, 32)),
            age: widest(&|row| &row.age, 8),
            by: if has_askers { widest(&|row| &row.by, 14) } else { 0 },
            project: if has_projects { widest(&|row| &row.project, 14) } else { 0 },
        }
    }

    fn line(&self, row: &Row, cells: &Cells, search: &Search) -> Vec<(String, Style)> {
        let cell = |text: &str, columns: usize| if columns == 0 { String::new() } else { padded(&cut(text, columns), columns) + "  " };
        let mut words = marked(&cells.id, &cell(&cells.id, self.id), Style::default(), search);
        words.push((cell(&cells.age, self.age), DIMMED));
        words.extend(marked(&cells.project, &cell(&cells.project, self.project), DIMMED, search));
        words.extend(marked(&cells.by, &cell(&cells.by, self.by), DIMMED, search));
        words.extend(cells.marks.clone());
        let style = match row.facts.priority {
            _ if row.is_unreadable => BAD,
            1.. => URGENT.add_modifier(Modifier::BOLD),
            _ => Style::default(),
        };
        words.extend(marked(&row.headline, &row.headline, style, search));
        words
    }
}

/// The words of a text as they are shown, with the letters that match the filter in a style of their own.
fn marked(text: &str, shown: &str, style: Style, search: &Search) -> Vec<(String, Style)> {
    let marks = search.marks(text);
    // The text may be cut where it is shown.
    let is_mark = |(n, (letter, own)): (usize, (char, Option<char>))| (letter, own == Some(letter) && marks.binary_search(&n).is_ok());
    let letters = shown.chars().zip(text.chars().map(Some).chain(std::iter::repeat(None))).enumerate().map(is_mark);
    let mut words: Vec<(String, bool)> = Vec::new();
    for (letter, is_mark) in letters {
        match words.last_mut().filter(|(_, last)| *last == is_mark) {
            Some((word, _)) => word.push(letter),
            None => words.push((letter.to_string(), is_mark)),
        }
    }
    let styled = |(word, is_mark)| (word, if is_mark { style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED) } else { style });
    words.into_iter().map(styled).collect()
}

/// The marked questions, for the person to confirm before they are declined, with the reason and the drafts that are not sent.
pub fn confirm(rows: &[Named], why: &str, columns: usize) -> Vec<Line<'static>> {
    let quoted = |words: &str| format!("\"{}\"", excerpt(words, 80));
    let reason = (!why.trim().is_empty()).then(|| dim(cut(&format!("with the reason {}", quoted(why)), columns)));
    let of_row = |row: &Named| {
        let name = fitted(&[(format!("{}  ", row.address), BOLD), (row.headline.clone(), Style::default())], columns);
        let draft = format!("  not sent: your draft {}", quoted(&row.draft));
        let draft = (!row.draft.is_empty()).then(|| Line::from(cut(&draft, columns)).style(URGENT));
        std::iter::once(name).chain(draft)
    };
    reason.into_iter().chain(rows.iter().flat_map(of_row)).collect()
}
