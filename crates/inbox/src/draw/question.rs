//! Draws one whole question. The question stays at the top, the text about it scrolls, and the answer is below.
//!
//! The files beside a question, as lines below its text.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

use crate::app::App;
use crate::draw::answer::Below;
use crate::draw::clock::Clock;
use crate::draw::markdown;
use crate::draw::pieces::{ACCENT, BAD, BOLD, DIMMED, GOOD, URGENT, clean, cut, dim, fitted, indented, of_call, styled, wrapped};
use crate::gate::Shown;
use crate::question::opened::Opened;
use crate::sender::ShownQuestion;
use crate::sent::from_here::SentAnswer;
use askbox_cli::ask_answer::shown_files::{self, Room, Says, ShownFile};
use askbox_cli::{fitted, question_text};
use askbox_mailbox::{Mailbox, excerpt, one_line, text};
use askbox_peers::machines::{self, offer_state};

/// The minimum height for an empty line.
const ROOMY: u16 = 20;

/// Draws the open question. Says whether its first line and the chosen row are on the screen. Behind a window, the row does not count.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App<'_>, opened: &Opened, clock: &Clock) -> Shown {
    let columns = usize::from(area.width);
    let mut head = head(app, &opened.shown, columns, clock);
    let (mut asked, mut body) = asked(opened, columns, usize::from(area.height) / 4);
    let of_question = asked.len();
    let most = usize::from(area.height / 2).max(of_question);
    if head.len() + of_question > most {
        // The question says what is decided, so it comes before its deadlines.
        asked.append(&mut head);
        head = asked;
    } else {
        head.append(&mut asked);
    }
    if area.height >= ROOMY && body.is_empty() {
        body.push(Line::default());
    }
    body.extend(opened.text(columns, |columns| {
        let here = opened.shown.host.is_none().then_some(app.sender.mailbox);
        let files = lines(here, &opened.shown, columns);
        [about(app.sender.mailbox, &opened.shown, columns), files].concat()
    }));
    while body.last().is_some_and(|line| line.width() == 0) {
        body.pop();
    }
    let answer = Below::new(opened, app.gate.panel(), columns);

    let rows = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX);
    let above = rows(head.len().min(most)).min(area.height);
    let left = area.height.saturating_sub(above + 1);
    // The answer gets the rows that it needs, up to two thirds. The text gets the rest, but at least three lines if it has that many.
    let least = rows(body.len()).min(3);
    let below = rows(answer.rows()).min((left * 2 / 3).max(left.saturating_sub(rows(body.len())))).min(left.saturating_sub(least)).max(2);
    let middle = rows(body.len()).min(left.saturating_sub(below));
    let parts = [Constraint::Length(above), Constraint::Length(middle), Constraint::Length(1), Constraint::Fill(1)];
    let [above, middle, line, below] = Layout::vertical(parts).areas(area);
    frame.render_widget(Paragraph::new(head), above);
    scroll(frame, middle, line, body, opened);
    let is_asked = usize::from(above.height) >= of_question;
    let row = answer.draw(frame, below, opened, &mut app.targets.borrow_mut());
    Shown::whole_if(is_asked).and(if app.asked.is_some() { Shown::Whole } else { row })
}

/// Draws the visible part of the text, and says how much of it is not visible.
fn scroll(frame: &mut Frame<'_>, area: Rect, line: Rect, body: Vec<Line<'static>>, opened: &Opened) {
    let (rows, total) = (usize::from(area.height), body.len());
    let from = opened.scroll.draw(rows, total);
    let below = total.saturating_sub(from + rows);
    frame.render_widget(Paragraph::new(body.into_iter().skip(from).take(rows).collect::<Vec<_>>()), area);
    let mut block = Block::default().borders(Borders::TOP).border_style(DIMMED);
    if total > rows {
        let words = match (from, below) {
            (0, n) => format!(" {n} more lines: page down "),
            (n, 0) => format!(" {n} lines above: page up "),
            (above, below) => format!(" {above} lines above, {below} below "),
        };
        block = block.title(Line::from(Span::styled(cut(&words, usize::from(line.width).saturating_sub(4)), ACCENT)).right_aligned());
    }
    frame.render_widget(block, line);
}

/// Draws the chosen question of the list. The question and its options come first, because the text about it may not fit.
pub fn preview(frame: &mut Frame<'_>, area: Rect, app: &App<'_>, clock: &Clock) {
    let Some(preview) = &app.preview else { return };
    let (columns, rows) = (usize::from(area.width), usize::from(area.height));
    let mut lines = match &preview.shown {
        Ok(shown) => {
            let question = shown.question();
            let mut lines = head(app, shown, columns, clock);
            if let Some(lead_in) = question.lead_in() {
                lines.extend(wrapped(lead_in, columns));
            }
            for (n, part) in question.parts().iter().enumerate() {
                let place = if question.is_batch() { format!("{}. ", n + 1) } else { String::new() };
                let text = format!("{place}{}", part.question);
                let rows = if question.approval.is_some() { of_call(&text, columns) } else { wrapped(&text, columns) };
                lines.extend(rows.into_iter().map(|line| line.style(BOLD)));
                if part.options.is_empty() {
                    lines.extend(styled(&format!("  ({})", question_text::kind(part)), columns, DIMMED));
                }
                for choice in &part.options.0 {
                    let words = [(format!("  {}", choice.key), ACCENT), (format!("  {}", choice.description), Style::default())];
                    lines.push(fitted(&words, columns));
                }
            }
            lines.push(Line::default());
            lines.extend(about(app.sender.mailbox, shown, columns));
            lines
        }
        Err(e) => styled(e, columns, BAD),
    };
    if lines.len() > rows && rows > 1 {
        lines.truncate(rows - 1);
        lines.push(dim("…"));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// The lines above a question: the asker, the machine, the project, the time since it was asked and the time that is left. For another
/// machine, also the state of an answer to it.
fn head(app: &App<'_>, shown: &ShownQuestion, columns: usize, clock: &Clock) -> Vec<Line<'static>> {
    let question = shown.question();
    let mut words = vec![(shown.address().to_string(), BOLD)];
    let mut say = |text: String, style: Style| words.extend([(" · ".to_owned(), DIMMED), (text, style)]);
    if question.approval.is_some() {
        say("asks for a permission".into(), URGENT);
    }
    if let Some(by) = &question.asked_by {
        say(format!("by {}", excerpt(by, 40)), DIMMED);
    }
    match &question.live {
        Some(live) => say(live.words(), DIMMED),
        None if question.project() != "-" => say(question.project(), DIMMED),
        None => {}
    }
    if let Some(at) = question.asked_at() {
        let age = clock.age(at);
        say(if age == "now" { "just now".into() } else { format!("{age} ago") }, DIMMED);
    }
    if let Some(priority) = question.priority.filter(|priority| *priority != 0) {
        say(format!("priority {priority}"), if priority > 0 { URGENT } else { DIMMED });
    }
    let mut lines = vec![fitted(&words, columns)];
    if let Some(at) = question.expires_at {
        let (clock_time, then) = (clock.moment(at), question_text::then_on_expiry(question, app.only_signed));
        let (words, style) = match at <= clock.now {
            true if question.until.is_some() => (format!("in vain since {clock_time}"), DIMMED),
            true => (format!("overdue for {}, since {clock_time}; {then}", clock.age(at)), BAD),
            false if clock.is_soon(at) => (format!("ends {}, at {clock_time}; {then}", clock.ahead(at)), URGENT),
            false => (format!("ends {}, at {clock_time}; {then}", clock.ahead(at)), DIMMED),
        };
        lines.extend(styled(&words, columns, style));
    }
    let machine = shown.host.as_ref().and_then(|host| app.heard.now.machine(host));
    let given = app.sent.offered_for(&shown.at()).filter(|given| given.is_open()).and_then(SentAnswer::news);
    let before = machine.and_then(|machine| match given {
        // The answer that was sent from here has a line of its own below.
        Some(_) => machines::while_away(machine),
        None => offer_state::notes_beforehand(machine, shown.round.id.question),
    });
    lines.extend(before.into_iter().flat_map(|why| styled(&one_line(&why), columns, URGENT)));
    lines.extend(given.into_iter().flat_map(|news| styled(&one_line(&news), columns, URGENT)));
    lines
}

/// The text of the question: the lines that stay at the top, and the lines that scroll because they are too many.
fn asked(opened: &Opened, columns: usize, most: usize) -> (Vec<Line<'static>>, Vec<Line<'static>>) {
    let question = opened.shown.question();
    let (mut stays, mut scrolls) = (Vec::new(), Vec::new());
    let parts = question.parts();
    let at = opened.draft.at;
    let words = match parts.get(at) {
        None => {
            let head = match opened.draft.unanswered() {
                0 => "All are answered. Enter asks, and then sends this:".to_owned(),
                1 => format!("1 of {} is not answered yet. Enter goes to it:", parts.len()),
                open => format!("{open} of {} are not answered yet. Enter goes to the first of them:", parts.len()),
            };
            stays.extend(styled(&head, columns, BOLD));
            return (stays, scrolls);
        }
        Some(part) if question.is_batch() => format!("{} of {}: {}", at + 1, parts.len(), part.question),
        Some(part) => part.question.clone(),
    };
    if let Some(lead_in) = question.lead_in() {
        scrolls.extend(wrapped(lead_in, columns));
        scrolls.push(Line::default());
    }
    let lines_of = |text: &str| match question.approval {
        Some(_) => of_call(text, columns),
        None => wrapped(text, columns),
    };
    let all: Vec<_> = lines_of(&words).into_iter().map(|line| line.style(BOLD)).collect();
    if all.len() <= most.max(2) {
        stays.extend(all);
        return (stays, scrolls);
    }
    // A long text scrolls. The beginning of its first line stays, because it says what the text is about.
    let first = words.split('\n').next().unwrap_or_default();
    let keep = lines_of(first).len().min(most.max(1));
    let mut all = lines_of(&words);
    let rest = all.split_off(keep.min(all.len()));
    stays.extend(all.into_iter().map(|line| line.style(BOLD)));
    let lead_in = std::mem::replace(&mut scrolls, rest);
    scrolls.push(Line::default());
    scrolls.extend(lead_in);
    (stays, scrolls)
}

/// The origin of the question, and its context.
fn about(mailbox: &Mailbox, shown: &ShownQuestion, columns: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    // The paths of another machine lead to files that are not here.
    let mailbox = shown.host.is_none().then_some(mailbox);
    for line in question_text::origin(mailbox, &shown.round) {
        let mut rows = styled(&one_line(&line), columns.saturating_sub(2), DIMMED).into_iter();
        lines.extend(rows.next());
        lines.extend(rows.map(|line| indented(line, 2)));
    }
    if let Some(context) = shown.question().shown_context() {
        lines.push(Line::default());
        lines.extend(markdown::lines(&context, columns));
    }
    lines
}

/// The room for the texts of all files on the screen. Every keypress draws them, and `ask-answer show` prints all.
const ROOM: Room = Room { lines: 5000, bytes: 512 << 10 };

/// The lines of all files. `mailbox` is `None` for a question of another machine.
pub fn lines(mailbox: Option<&Mailbox>, shown: &ShownQuestion, columns: usize) -> Vec<Line<'static>> {
    let files = shown_files::read(mailbox, &shown.round.id, shown.question());
    let room = ROOM.shared_by(&files);
    files.iter().flat_map(|file| one(file, room, shown, columns)).collect()
}

fn one(file: &ShownFile, room: Room, shown: &ShownQuestion, columns: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    lines.extend(styled(&file.head(), columns, if file.is_damaged() { BAD } else { BOLD }));
    let address = shown.address();
    if file.is_image() {
        let command = format!("to see it: ask-answer show {address} --attachment {} > FILE", text::path_word(&file.about.name));
        lines.extend(styled(&command, columns, ACCENT));
    }
    let beginning = file.beginning(&room);
    for (says, line) in &beginning.lines {
        let style = match says {
            Says::Nothing => Style::default(),
            Says::Added => GOOD,
            Says::Removed => BAD,
            Says::Hunk => ACCENT,
        };
        let rows = fitted::wrapped(&clean(line), columns.saturating_sub(2));
        let rows = if rows.is_empty() { vec![String::new()] } else { rows };
        lines.extend(rows.into_iter().map(|row| indented(Line::from(row).style(style), 2)));
    }
    if let Some(left_out) = beginning.left_out() {
        lines.push(dim(format!("{left_out}: ask-answer show {address}")));
    }
    lines
}
