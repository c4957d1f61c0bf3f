//! The state of the inbox as a picture. Every text passes a filter first: nothing that is shown can control the terminal.
//!
//! - `list`: the questions that wait
//! - `question`: one question, whole, with the answer below it
//! - `markdown`: the context of a question as styled lines
//! - `pieces`: lines that fit their width

mod list;
mod markdown;
mod outcomes;
mod pieces;
mod question;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

use crate::surface::askbox::inbox::app::{App, Gone, Place};
use crate::surface::askbox::inbox::draw::pieces::{cut, dim, wrapped};
use crate::surface::askbox::inbox::line::Purpose;

/// The narrowest screen on which the list and the question stand side by side.
const SIDE_BY_SIDE: u16 = 110;
/// The lowest screen on which the chosen question is shown below the list.
const BELOW: u16 = 16;

/// Draws the whole screen.
pub fn all(frame: &mut Frame<'_>, app: &App<'_>) {
    let area = frame.area();
    if area.width < 20 || area.height < 6 {
        frame.render_widget(Paragraph::new("too small"), area);
        return;
    }
    let asked = u16::from(app.asked.is_some()) * 5;
    let said = wrapped(&app.said, area.width.into());
    let rows = u16::try_from(said.len()).unwrap_or(1).clamp(1, 3);
    let [body, text, foot, keys] = Layout::vertical([
        Constraint::Min(1),
        Constraint::Length(asked.min(area.height / 2)),
        Constraint::Length(rows),
        Constraint::Length(1),
    ])
    .areas(area);
    match &app.place {
        Place::List => whole_list(frame, body, app),
        Place::Question(opened) if body.width >= SIDE_BY_SIDE => {
            let [left, right] = Layout::horizontal([Constraint::Percentage(38), Constraint::Fill(1)]).areas(body);
            list::draw(frame, left, app);
            let inner = framed(frame, right);
            question::draw(frame, inner, app, opened);
        }
        Place::Question(opened) => question::draw(frame, body, app, opened),
        Place::Gone(gone) => draw_gone(frame, body, gone),
        Place::Outcomes(outcomes) => outcomes::draw(frame, body, outcomes),
    }
    if let Some((purpose, area_of_text)) = &app.asked {
        let block = Block::default().borders(Borders::ALL).title(cut(&purpose.title(), usize::from(text.width).saturating_sub(4)));
        let inner = block.inner(text);
        frame.render_widget(block, text);
        frame.render_widget(area_of_text, inner);
    }
    frame.render_widget(Paragraph::new(said), foot);
    frame.render_widget(Paragraph::new(dim(cut(&keys_for(app), area.width.into()))), keys);
    if app.shows_help {
        help(frame, area);
    }
}

fn whole_list(frame: &mut Frame<'_>, body: Rect, app: &App<'_>) {
    if body.width >= SIDE_BY_SIDE {
        let [left, right] = Layout::horizontal([Constraint::Percentage(38), Constraint::Fill(1)]).areas(body);
        list::draw(frame, left, app);
        let inner = framed(frame, right);
        question::preview(frame, inner, app);
    } else if body.height >= BELOW {
        let wanted = u16::try_from(app.shown().len()).unwrap_or(u16::MAX).saturating_add(1);
        let [above, below] = Layout::vertical([Constraint::Length(wanted.clamp(4, body.height / 2)), Constraint::Fill(1)]).areas(body);
        list::draw(frame, above, app);
        let block = Block::default().borders(Borders::TOP).border_style(Style::default().add_modifier(Modifier::DIM));
        let inner = block.inner(below);
        frame.render_widget(block, below);
        question::preview(frame, inner, app);
    } else {
        list::draw(frame, body, app);
    }
}

fn framed(frame: &mut Frame<'_>, area: Rect) -> Rect {
    let block = Block::default().borders(Borders::LEFT).border_style(Style::default().add_modifier(Modifier::DIM));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

fn draw_gone(frame: &mut Frame<'_>, area: Rect, gone: &Gone) {
    let columns = usize::from(area.width);
    let mut lines = wrapped("This question is over.", columns);
    lines.extend(wrapped(&gone.why, columns));
    if let Some(typed) = &gone.typed {
        lines.push(Line::default());
        lines.extend(wrapped("What you typed was not sent:", columns));
        lines.extend(wrapped(typed, columns.saturating_sub(2)).into_iter().map(|line| pieces::indented(line, 2)));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// The keys that do something now.
fn keys_for(app: &App<'_>) -> String {
    if let Some((purpose, _)) = &app.asked {
        return match purpose {
            Purpose::Filter => "type to filter · enter keep · esc all".into(),
            _ => "enter done · alt-enter new line · esc back".into(),
        };
    }
    match &app.place {
        Place::List if app.marked.is_empty() => "enter open · / filter · tab outcomes · u take back · q quit · ? help".into(),
        Place::List => format!("{} marked · d decline them · space mark · enter open · ? help", app.marked.len()),
        Place::Question(opened) => question::keys(opened),
        Place::Gone(gone) if gone.typed.is_some() => "w keep it in a file · o open what is asked now, with it · enter back".into(),
        Place::Gone(_) => "enter back".into(),
        Place::Outcomes(_) => "enter log · u take back · tab questions · q quit".into(),
    }
}

const HELP: &str = "\
enter   open the question; in it: send the answer
1-9     choose an option; space marks where several may be chosen
a-z     other letters begin words of your own
n       note beside the answer      (in your own words: ctrl-n)
b       ask the agent back first    (ctrl-b)
d       decline, with a reason      (ctrl-d)
ctrl-e  write in your editor
u       take the last answer back, until a run has claimed it
space   in the list: mark; d then declines all marked ones
/       filter: words, project:NAME, by:NAME, priority:N
tab     what became of answered questions; enter there: its log
esc     back; what you typed is kept
q       leave; ctrl-c as well";

fn help(frame: &mut Frame<'_>, area: Rect) {
    let lines = u16::try_from(HELP.lines().count()).unwrap_or(12) + 2;
    let columns = u16::try_from(HELP.lines().map(|line| line.chars().count()).max().unwrap_or(60)).unwrap_or(60) + 2;
    let (width, height) = (columns.min(area.width), lines.min(area.height));
    let place = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    frame.render_widget(Clear, place);
    let block = Block::default().borders(Borders::ALL).title("keys");
    let lines: Vec<_> = HELP.lines().map(|line| Line::from(cut(line, usize::from(width).saturating_sub(2)))).collect();
    frame.render_widget(Paragraph::new(lines).block(block), place);
}
