//! Draws the state of the inbox. Every text passes a filter first, so that no text can control the terminal.
//!
//! | file | idea |
//! |---|---|
//! | `list` | the waiting questions |
//! | `question` | one whole question, with the answer below it |
//! | `answer` | the current answer, with options, words and the review of a batch |
//! | `outcomes` | the answered questions and their state, and the log of a run |
//! | `keys` | the keys that work now |
//! | `clock` | times in words, and how long the words stay right |
//! | `markdown` | the context of a question as styled lines |
//! | `sessions` | the sessions of agent programs |
//! | `pieces` | lines that fit their width |

mod answer;
mod clock;
mod keys;
mod list;
mod markdown;
mod outcomes;
mod pieces;
mod question;
mod sessions;

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

use crate::app::{App, Gone, Place};
use crate::draw::clock::Clock;
use crate::draw::pieces::{ACCENT, BOLD, DIMMED, cut, framed, wrapped};
use crate::gate::{CONFIRMS, Shown};
use askbox_cli::AtStake;
use askbox_cli::person::Named;

/// The minimum width of a screen for showing the list and the question side by side.
const SIDE_BY_SIDE: u16 = 110;
/// The minimum height of a screen for showing the chosen question below the list.
const BELOW: u16 = 14;
/// The maximum width of the list beside a question.
const WIDEST_LIST: u16 = 100;

/// The smallest screen that shows anything.
const LEAST: (u16, u16) = (20, 6);
/// The rows that stay for the question while a message is shown: its first line, the line below it, and the chosen row.
const FOR_QUESTION: u16 = 4;
/// The rows that stay for it behind a window or a panel.
const BEHIND_WINDOW: u16 = 2;

/// A picture of the whole screen.
#[derive(Debug, Clone, Copy, Default)]
pub struct Picture {
    /// How long it stays right if nothing happens.
    pub right_for: Option<Duration>,
    pub shown: Shown,
}

/// Draws the whole screen. If it cannot show all of a decision, it only says that.
pub fn all(frame: &mut Frame<'_>, app: &App<'_>) -> Picture {
    let (area, clock) = (frame.area(), Clock::new());
    app.targets.borrow_mut().0.clear();
    let shown = if area.width < LEAST.0 || area.height < LEAST.1 { Shown::TooLittle } else { parts(frame, area, app, &clock) };
    if shown == Shown::TooLittle {
        app.targets.borrow_mut().0.clear();
        frame.render_widget(Clear, area);
        frame.render_widget(Paragraph::new(wrapped(&app.too_small(), area.width.into())), area);
    } else if let Some(scrolled) = app.help {
        help(frame, area, scrolled);
    }
    Picture { right_for: clock.right_for(), shown }
}

/// Draws the parts of the screen.
fn parts(frame: &mut Frame<'_>, area: Rect, app: &App<'_>, clock: &Clock) -> Shown {
    let panel = match (declined_together(app), &app.asked) {
        (Some(together), _) => {
            let rows = list::confirm(together.questions, together.why, usize::from(area.width)).len();
            u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(2).min(area.height / 2)
        }
        (None, Some(asking)) => asking.purpose.rows() + 2,
        (None, None) => 0,
    };
    let said = wrapped(&app.message(), area.width.into());
    // What is asked, or was decided, must be read to its end.
    let panel = panel.min(area.height / 2);
    let for_question = if panel > 0 { BEHIND_WINDOW } else { FOR_QUESTION };
    let most = area.height.saturating_sub(panel + for_question + 1).max(1);
    let rows = u16::try_from(said.len()).unwrap_or(u16::MAX).clamp(1, most);
    let parts = [Constraint::Min(1), Constraint::Length(panel), Constraint::Length(rows), Constraint::Length(1)];
    let [body, panel, foot, keys] = Layout::vertical(parts).areas(area);
    let shown = match &app.place {
        Place::List => {
            let row = whole_list(frame, body, app, clock);
            // A window or a panel is not about that row.
            if panel.height > 0 { Shown::Whole } else { row }
        }
        Place::Question(opened) if body.width >= SIDE_BY_SIDE => {
            let [left, right] = side_by_side(body);
            list::draw(frame, left, app, clock);
            let inner = beside(frame, right);
            question::draw(frame, inner, app, opened, clock)
        }
        Place::Question(opened) => question::draw(frame, body, app, opened, clock),
        Place::Gone(gone) => {
            draw_gone(frame, body, gone);
            Shown::Whole
        }
        Place::Outcomes(outcomes) => outcomes::draw(frame, body, outcomes, &mut app.targets.borrow_mut()),
        Place::Log(pane, _) => {
            outcomes::log(frame, body, pane);
            Shown::Whole
        }
        Place::Sessions(list) => {
            sessions::list(frame, body, list);
            Shown::Whole
        }
        Place::Session(view) => {
            sessions::view(frame, body, view);
            Shown::Whole
        }
    };
    let shown = shown.and(draw_panel(frame, panel, app));
    let is_asked_whole = !app.asks() || said.len() <= usize::from(foot.height);
    frame.render_widget(Paragraph::new(said).style(BOLD), foot);
    frame.render_widget(Paragraph::new(keys::line(app, area.width.into())), keys);
    shown.and(Shown::whole_if(is_asked_whole))
}

/// Questions that are about to be declined together.
struct Together<'a> {
    /// The warning about them.
    title: String,
    questions: &'a [Named],
    why: &'a str,
}

fn declined_together<'a>(app: &'a App<'_>) -> Option<Together<'a>> {
    match &app.gate.panel()?.at_stake {
        thing @ AtStake::DeclinedTogether { questions, why } => Some(Together { title: thing.told(CONFIRMS), questions, why }),
        _ => None,
    }
}

/// Draws the window that asks for a text, or the questions that are about to be declined. Says whether a line of them is on the screen.
fn draw_panel(frame: &mut Frame<'_>, area: Rect, app: &App<'_>) -> Shown {
    let title = match (declined_together(app), &app.asked) {
        (Some(together), _) => together.title,
        (None, Some(asking)) => asking.title(!app.heard.now.is_nobody()),
        (None, None) => return Shown::Whole,
    };
    let title = cut(&title, usize::from(area.width).saturating_sub(4));
    let mut block = Block::default().borders(Borders::ALL).border_style(ACCENT).title(Line::from(title).style(BOLD));
    let inner = block.inner(area);
    if let (Some(Together { questions, why, .. }), Some(panel)) = (declined_together(app), app.gate.panel()) {
        let lines = list::confirm(questions, why, inner.width.into());
        let (rows, total) = (usize::from(inner.height), lines.len());
        let from = panel.names.draw(rows, total);
        if total > rows {
            block = block.title_bottom(Line::from(format!(" {} more: page down ", total.saturating_sub(from + rows))).right_aligned());
        }
        frame.render_widget(block, area);
        frame.render_widget(Paragraph::new(lines.into_iter().skip(from).take(rows).collect::<Vec<_>>()), inner);
    } else {
        frame.render_widget(block, area);
    }
    if let Some(asking) = &app.asked {
        frame.render_widget(&asking.area, inner);
    }
    Shown::whole_if(inner.height > 0)
}

fn whole_list(frame: &mut Frame<'_>, body: Rect, app: &App<'_>, clock: &Clock) -> Shown {
    if body.width >= SIDE_BY_SIDE {
        let [left, right] = side_by_side(body);
        let shown = list::draw(frame, left, app, clock);
        let inner = beside(frame, right);
        question::preview(frame, inner, app, clock);
        shown
    } else if body.height >= BELOW && app.preview.is_some() {
        let wanted = list::wanted(app, body.width);
        let [above, below] = Layout::vertical([Constraint::Length(wanted.clamp(4, body.height / 2)), Constraint::Fill(1)]).areas(body);
        let shown = list::draw(frame, above, app, clock);
        let inner = framed(frame, below, Borders::TOP, DIMMED);
        question::preview(frame, inner, app, clock);
        shown
    } else {
        list::draw(frame, body, app, clock)
    }
}

fn side_by_side(body: Rect) -> [Rect; 2] {
    let list = (body.width * 2 / 5).min(WIDEST_LIST);
    Layout::horizontal([Constraint::Length(list), Constraint::Fill(1)]).areas(body)
}

/// Draws a vertical line, and returns the area to the right of it.
fn beside(frame: &mut Frame<'_>, area: Rect) -> Rect {
    let inner = framed(frame, area, Borders::LEFT, DIMMED);
    Rect { x: inner.x + 1, width: inner.width.saturating_sub(1), ..inner }
}

fn draw_gone(frame: &mut Frame<'_>, area: Rect, gone: &Gone) {
    let columns = usize::from(area.width);
    let mut lines = pieces::styled("This question is over.", columns, BOLD);
    lines.extend(wrapped(&gone.why, columns));
    if let Some(typed) = &gone.typed {
        lines.push(Line::default());
        lines.extend(pieces::styled("What you typed was not sent:", columns, BOLD));
        lines.extend(wrapped(typed, columns.saturating_sub(2)).into_iter().map(|line| pieces::indented(line, 2)));
    }
    lines.extend(gone.kept_in.iter().flat_map(|kept_in| wrapped(kept_in, columns)));
    frame.render_widget(Paragraph::new(lines), area);
}

const HELP: &str = "\
enter    open; send, or ask first
ok enter confirm what enter asked
j k ↑ ↓  move; g G: first and last
1-9 y n  choose; space marks several
i        begin words of your own
n b d    note, ask back, decline; in
         words: ctrl-n ctrl-b ctrl-d
ctrl-e   editor; alt-enter: new line
pgdn     scroll; also ctrl-d, ctrl-u
tab      the next of several questions
esc q    back; what you typed is kept
ctrl-z   stop; fg in the shell goes on
m        mouse off, for copying; on
in the list:
space d  mark, decline the marked
u u      take the last answer back
/        words, project:NAME, by:NAME,
         priority:N, is:live, host:NAME
tab      the answered; enter: the log
S        sessions; enter: one of them
i x u    its prompt, its stop, back
q        leave; ctrl-c from anywhere";

fn help(frame: &mut Frame<'_>, area: Rect, scrolled: usize) {
    let lines = u16::try_from(HELP.lines().count()).unwrap_or(12) + 2;
    let columns = u16::try_from(HELP.lines().map(|line| line.chars().count()).max().unwrap_or(60)).unwrap_or(60) + 2;
    let (width, height) = (columns.min(area.width), lines.min(area.height));
    let place = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    frame.render_widget(Clear, place);
    let rows = usize::from(height).saturating_sub(2);
    let hidden = HELP.lines().count().saturating_sub(rows);
    let title = if hidden > scrolled { "keys · j: more" } else { "keys" };
    let block = Block::default().borders(Borders::ALL).border_style(ACCENT).title(title);
    let lines: Vec<_> =
        HELP.lines().skip(scrolled.min(hidden)).map(|line| Line::from(cut(line, usize::from(width).saturating_sub(2)))).collect();
    frame.render_widget(Paragraph::new(lines).block(block), place);
}
