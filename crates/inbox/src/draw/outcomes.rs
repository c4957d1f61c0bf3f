//! Draws the answered questions and their state, and the log of a run.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Borders, Paragraph};

use crate::draw::pieces::{ACCENT, BAD, BOLD, CHOSEN, DIMMED, GOOD, URGENT, cut, fitted, framed, indented, scrolled_to, wrapped};
use crate::gate::Shown;
use crate::log_pane::LogPane;
use crate::sent::outcomes::{OutcomeState, Outcomes};
use crate::targets::{Target, Targets};
use askbox_cli::terminal::columns::padded;
use askbox_peers::machines::offer_state::Stands;
use askbox_run::Standing;

/// Draws the answered questions. Says whether the chosen row is on the screen.
pub fn draw(frame: &mut Frame<'_>, area: Rect, outcomes: &Outcomes, targets: &mut Targets) -> Shown {
    let columns = usize::from(area.width);
    let wanted = u16::try_from(outcomes.rows.len()).unwrap_or(u16::MAX).saturating_add(1);
    let [above, below] = Layout::vertical([Constraint::Length(wanted.clamp(2, area.height.div_ceil(2))), Constraint::Fill(1)]).areas(area);
    let may_undo = outcomes.rows.iter().any(|row| row.may_be_taken_back);
    let undo = if may_undo { " · u takes an answer back before it is launched" } else { "" };
    let mut lines = vec![Line::from(cut(&format!("What became of answered questions{undo}"), columns)).style(BOLD)];
    if outcomes.rows.is_empty() {
        lines.push(Line::from(cut("No question was answered yet", columns)));
    }
    let rows = usize::from(above.height).saturating_sub(1);
    let from = scrolled_to(outcomes.at, rows, outcomes.rows.len());
    let is_there = outcomes.rows.iter().any(|row| row.at.host.is_some());
    let id = (columns / if is_there { 3 } else { 5 }).clamp(8, 24);
    for (n, row) in outcomes.rows.iter().enumerate().skip(from).take(rows) {
        let y = above.y.saturating_add(u16::try_from(lines.len()).unwrap_or(u16::MAX));
        targets.add(Rect { y, height: 1, ..above }, Target::Outcome(row.at.clone()));
        let words = [
            ((if n == outcomes.at { "> " } else { "  " }).to_owned(), ACCENT),
            (padded(row.state.word(), 11) + "  ", style(row.state)),
            (padded(&row.since, 7) + "  ", DIMMED),
            (padded(&cut(&row.at.address().to_string(), id), id) + "  ", Style::default()),
            (format!("{} → {}", row.question, row.answer), Style::default()),
        ];
        let line = fitted(&words, columns);
        lines.push(if n == outcomes.at { line.style(CHOSEN) } else { line });
    }
    frame.render_widget(Paragraph::new(lines), above);
    if let Some(chosen) = outcomes.chosen() {
        let inner = framed(frame, below, Borders::TOP, DIMMED);
        let room = usize::from(inner.width);
        let mut lines = wrapped(&chosen.question, room);
        for (name, value) in &chosen.details {
            let mut all = wrapped(value, room.saturating_sub(10)).into_iter();
            if let Some(mut first) = all.next() {
                first.spans.insert(0, Span::styled(padded(name, 10), DIMMED));
                lines.push(first);
            }
            lines.extend(all.map(|line| indented(line, 10)));
        }
        frame.render_widget(Paragraph::new(lines), inner);
    }
    Shown::whole_if(outcomes.rows.is_empty() || rows > 0)
}

fn style(state: OutcomeState) -> Style {
    match state {
        OutcomeState::Here(Standing::Delivered) | OutcomeState::There(Stands::Accepted) => GOOD,
        OutcomeState::Here(Standing::Parked) | OutcomeState::There(Stands::Refused | Stands::NotSent) => BAD,
        OutcomeState::Here(Standing::Running | Standing::Answered | Standing::Retrying)
        | OutcomeState::There(Stands::Sending | Stands::Sent | Stands::Unconfirmed) => URGENT,
        OutcomeState::Here(_) => DIMMED,
    }
}

pub fn log(frame: &mut Frame<'_>, area: Rect, log: &LogPane) {
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
