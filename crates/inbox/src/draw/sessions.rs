//! Draws the sessions of agent programs, and one of them.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Borders, Paragraph};

use crate::draw::markdown;
use crate::draw::pieces::{ACCENT, BAD, BOLD, CHOSEN, DIMMED, GOOD, URGENT, cut, dim, fitted, framed, indented, scrolled_to, wrapped};
use crate::sessions::{List, View};
use askbox_agent::conversation::{Call, Turn, What};
use askbox_cli::terminal::columns::padded;
use askbox_mailbox::time;
use askbox_sessions::codex::Doing;
use askbox_sessions::{Session, View as Seen, project};

/// Draws the list of sessions.
pub fn list(frame: &mut Frame<'_>, area: Rect, list: &List) {
    let columns = usize::from(area.width);
    let is_alone = list.machines.len() == 1;
    let mut lines = vec![Line::from(cut(if is_alone { "The sessions on this machine" } else { "The sessions" }, columns)).style(BOLD)];
    for machine in &list.machines {
        let missing = machine.listed.as_ref().and_then(|listed| listed.problem.as_ref());
        lines.extend(missing.iter().flat_map(|problem| wrapped(&format!("some are missing: {problem}"), columns)));
        lines.extend(machine.problem.iter().flat_map(|problem| wrapped(problem, columns)));
    }
    let all: Vec<_> = list.rows().collect();
    if all.is_empty() && list.machines.iter().all(|machine| machine.listed.is_some()) {
        lines.push(Line::from(cut(if is_alone { "No session runs on this machine" } else { "No session runs" }, columns)));
    }
    let rows = usize::from(area.height).saturating_sub(lines.len());
    let (at, id) = (list.at(), (columns / 3).clamp(8, 40));
    for (n, (host, session)) in all.iter().enumerate().skip(scrolled_to(at, rows, all.len())).take(rows) {
        let title = padded(&cut(session.title.as_deref().unwrap_or(&session.id), id), id);
        let mut words = vec![((if n == at { "> " } else { "  " }).to_owned(), ACCENT), (format!("{title}  "), Style::default())];
        words.extend(about(session));
        words.extend(host.map(|host| (format!(" on {host}"), DIMMED)));
        let line = fitted(&words, columns);
        lines.push(if n == at { line.style(CHOSEN) } else { line });
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// The status of a session, how long, its agent and its project.
fn about(session: &Session) -> Vec<(String, Style)> {
    let style = match session.doing {
        Some(Doing::Waits) => URGENT,
        Some(Doing::Works) => GOOD,
        Some(Doing::Rests) | None => DIMMED,
    };
    let ago = session.since.map(|since| format!(" for {}", time::human(time::since(since)))).unwrap_or_default();
    let place = project(&session.cwd);
    vec![(session.does.clone(), style), (format!("{ago} · {} · {place}", session.of_whom()), DIMMED)]
}

/// Draws one session: its end above, its prompts and what can be done below.
pub fn view(frame: &mut Frame<'_>, area: Rect, view: &View) {
    let columns = usize::from(area.width);
    let on = view.at.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
    let mut head = vec![Line::from(cut(&format!("{}{on}", view.title()), columns)).style(BOLD)];
    let Some(read) = &view.read else {
        head.extend(view.problem.iter().flat_map(|problem| wrapped(problem, columns)));
        return frame.render_widget(Paragraph::new(head), area);
    };
    let mut words = read.session.as_ref().map_or_else(|| vec![("ended".to_owned(), DIMMED)], about);
    words.extend(read.said.branch.iter().map(|branch| (format!(" · {branch}"), DIMMED)));
    head.push(fitted(&words, columns));
    head.extend(view.problem.iter().map(|problem| Line::from(cut(problem, columns)).style(BAD)));
    let foot = foot(read, columns);
    let rows = u16::try_from(foot.len()).unwrap_or(u16::MAX).saturating_add(1).min(area.height / 2);
    let tall = u16::try_from(head.len()).unwrap_or(u16::MAX);
    let parts = [Constraint::Length(tall), Constraint::Fill(1), Constraint::Length(rows)];
    let [above, body, below] = Layout::vertical(parts).areas(area);
    frame.render_widget(Paragraph::new(head), above);
    let mut lines = Vec::new();
    if read.said.turns.is_empty() {
        lines.push(dim("Nothing has been said."));
    }
    if read.said.is_cut {
        lines.push(dim("What was said before is not shown here."));
    }
    lines.extend(read.said.turns.iter().flat_map(|turn| of_turn(turn, read, view.is_unfolded, columns)));
    let rows = usize::from(body.height);
    let until = lines.len() - view.back.min(lines.len().saturating_sub(rows));
    lines.truncate(until);
    lines.drain(..until.saturating_sub(rows));
    frame.render_widget(Paragraph::new(lines), body);
    let inner = framed(frame, below, Borders::TOP, DIMMED);
    let from = foot.len().saturating_sub(usize::from(inner.height));
    frame.render_widget(Paragraph::new(foot.into_iter().skip(from).collect::<Vec<_>>()), inner);
}

fn of_turn(turn: &Turn, read: &Seen, is_unfolded: bool, columns: usize) -> Vec<Line<'static>> {
    let said = |who: &str, lines: Vec<Line<'static>>| {
        let at = turn.at.map(time::local_clock).unwrap_or_default();
        let head = fitted(&[(who.to_owned(), BOLD), (format!("  {at}"), DIMMED)], columns);
        std::iter::once(head).chain(lines.into_iter().map(|line| indented(line, 2))).collect()
    };
    let room = columns.saturating_sub(2);
    match &turn.what {
        What::Event(words) => vec![dim(cut(words, columns))],
        What::Person(words) => said("You", wrapped(words, room)),
        What::Peer(words) => said("Another session", wrapped(words, room)),
        What::Agent(words) => said(read.session.as_ref().map_or("Agent", Session::of_whom), markdown::lines(words, room)),
        What::Call(call) => of_call(call, is_unfolded, columns),
    }
}

/// A call on one line, and its input or change and its result, if they are shown.
fn of_call(call: &Call, is_unfolded: bool, columns: usize) -> Vec<Line<'static>> {
    let state = match &call.result {
        Some(result) if result.is_error => (" failed", BAD),
        Some(_) => ("", DIMMED),
        None => (" no result yet", DIMMED),
    };
    let about = cut(&call.about, columns.saturating_sub(call.name.len() + state.0.len() + 3));
    let words = [("· ".to_owned(), DIMMED), (call.name.clone(), ACCENT), (format!(" {about}"), DIMMED), (state.0.to_owned(), state.1)];
    let mut lines = vec![fitted(&words, columns)];
    if is_unfolded {
        let changed = |line: &String| {
            let style = if line.starts_with('+') { GOOD } else { BAD };
            Line::from(cut(line, columns.saturating_sub(4))).style(if line.starts_with(['+', '-']) { style } else { Style::default() })
        };
        let input = wrapped(&call.input, columns.saturating_sub(4)).into_iter().filter(|_| call.change.is_empty());
        let result = call.result.iter().flat_map(|result| wrapped(&result.text, columns.saturating_sub(4))).map(|line| line.style(DIMMED));
        lines.extend(call.change.iter().map(changed).chain(input).chain(result).map(|line| indented(line, 4)));
    }
    lines
}

/// The prompts, and what a prompt or a stop does.
fn foot(read: &Seen, columns: usize) -> Vec<Line<'static>> {
    let style = |kind: &str| match kind {
        "warn" => URGENT,
        "running" | "delivered" => GOOD,
        _ => DIMMED,
    };
    let mut lines: Vec<_> = read
        .given
        .iter()
        .map(|given| {
            let why = if given.why.is_empty() { String::new() } else { format!(" ({})", given.why) };
            let words =
                [(given.state.0.to_string(), style(&given.state.1)), (why, DIMMED), (format!(": {}", given.words), Style::default())];
            fitted(&words, columns)
        })
        .collect();
    let offers = [&read.offers.words, &read.offers.stop].into_iter().flatten();
    lines.extend(offers.flat_map(|words| wrapped(words, columns)).map(|line| line.style(DIMMED)));
    lines
}
