//! One question, whole, with the answer below it.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::mailbox::round::Round;
use crate::mailbox::{AnswerValue, Mailbox};
use crate::surface::ask_answer::question_text;
use crate::surface::askbox::inbox::app::App;
use crate::surface::askbox::inbox::draft::{Choosable, PartDraft};
use crate::surface::askbox::inbox::draw::markdown;
use crate::surface::askbox::inbox::draw::pieces::{bold, cut, dim, indented, scrolled_to, styled, wrapped};
use crate::surface::askbox::inbox::opened::{Meant, Opened};
use crate::surface::terminal::columns::{padded, width};

/// The open question: its text above, which scrolls, and the answer below.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App<'_>, opened: &Opened) {
    let columns = usize::from(area.width);
    let text = text(app.sender.mailbox, &opened.round, Some(opened.draft.at), columns);
    let answer = Below::of(opened, columns);
    let rows = u16::try_from(answer.lines.len() + answer.rows_of_words).unwrap_or(u16::MAX);
    let text_rows = u16::try_from(text.len()).unwrap_or(u16::MAX);
    // The answer keeps half of the screen; what one of them leaves free is the other's.
    let below = rows.min((area.height / 2).max(area.height.saturating_sub(text_rows.saturating_add(1)))).max(2);
    let above = text_rows.min(area.height.saturating_sub(below + 1));
    let [above, _, below] = Layout::vertical([Constraint::Length(above), Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let scroll = opened.scroll.min(text.len().saturating_sub(usize::from(above.height)));
    let hidden = text.len().saturating_sub(scroll + usize::from(above.height));
    let mut seen: Vec<_> = text.into_iter().skip(scroll).take(above.height.into()).collect();
    if hidden > 0
        && let Some(last) = seen.last_mut()
    {
        *last = dim(cut(&format!("… {} more lines: page down", hidden + 1), columns));
    }
    frame.render_widget(Paragraph::new(seen), above);
    answer.draw(frame, below, opened);
}

/// The chosen question of the list.
pub fn preview(frame: &mut Frame<'_>, area: Rect, app: &App<'_>) {
    let Some(chosen) = &app.chosen else { return };
    let columns = usize::from(area.width);
    let lines = match app.sender.pending(chosen) {
        Ok(round) => {
            let mut lines = text(app.sender.mailbox, &round, None, columns);
            lines.push(Line::default());
            for (n, part) in round.document.typed.parts().iter().enumerate() {
                if round.document.typed.is_batch() {
                    lines.extend(wrapped(&format!("{}. {}", n + 1, part.question), columns));
                }
                if part.options.is_empty() {
                    lines.extend(wrapped(&format!("  ({})", question_text::kind(part)), columns));
                }
                for choice in &part.options.0 {
                    lines.extend(wrapped(&format!("  {}  {}", choice.key, choice.description), columns));
                }
            }
            lines
        }
        Err(e) => wrapped(&crate::surface::program::message(&e), columns),
    };
    frame.render_widget(Paragraph::new(lines), area);
}

/// The question's text: who asks, where, until when, the context, and the question itself. `part` is the part of a batch.
fn text(mailbox: &Mailbox, round: &Round, part: Option<usize>, columns: usize) -> Vec<Line<'static>> {
    let question = &round.document.typed;
    let parts = question.parts();
    let mut lines = Vec::new();
    let project = question.project();
    let project = if project == "-" { String::new() } else { format!(" · {project}") };
    let (about, context) = question_text::about_and_context(Some(mailbox), round);
    let mut about = about.lines();
    lines.extend(styled(&format!("{}{project}", about.next().unwrap_or_default()), columns, Style::default().add_modifier(Modifier::DIM)));
    for line in about {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let fitted = styled(line.trim_start(), columns.saturating_sub(indent), Style::default().add_modifier(Modifier::DIM));
        lines.extend(fitted.into_iter().map(|line| indented(line, indent)));
    }
    lines.push(Line::default());
    if let Some(context) = context {
        lines.extend(markdown::lines(context, columns));
        lines.push(Line::default());
    }
    if let Some(lead_in) = question.lead_in() {
        lines.extend(wrapped(lead_in, columns));
        lines.push(Line::default());
    }
    match part {
        Some(n) if n >= parts.len() => lines.extend(styled("All are answered. Enter sends this:", columns, bold())),
        Some(n) => {
            let place = if question.is_batch() { format!("{} of {}: ", n + 1, parts.len()) } else { String::new() };
            lines.extend(styled(&format!("{place}{}", parts[n].question), columns, bold()));
        }
        None if question.is_batch() => {}
        None => lines.extend(styled(&parts[0].question, columns, bold())),
    }
    lines
}

/// What stands below the question: the options, the words, the review of a batch.
struct Below {
    lines: Vec<Line<'static>>,
    /// The line that must be seen.
    at: usize,
    /// The lines for words of the person's own, below the others.
    rows_of_words: usize,
}

impl Below {
    fn of(opened: &Opened, columns: usize) -> Self {
        if let Some(meant) = &opened.meant {
            return Self { at: meant.at + 1, lines: of_meant(meant, opened, columns), rows_of_words: 0 };
        }
        let mut below = match opened.draft.part() {
            None => Self { lines: review(opened, columns), at: 0, rows_of_words: 0 },
            Some(part) => of_part(part, columns),
        };
        if !opened.draft.note.trim().is_empty() {
            below.lines.insert(0, dim(cut(&format!("note: {}", opened.draft.note), columns)));
            below.at += 1;
        }
        below
    }

    fn draw(self, frame: &mut Frame<'_>, area: Rect, opened: &Opened) {
        let words = u16::try_from(self.rows_of_words).unwrap_or(1).min(area.height);
        let wanted = u16::try_from(self.lines.len()).unwrap_or(u16::MAX).min(area.height.saturating_sub(words));
        let [lines, words] = Layout::vertical([Constraint::Length(wanted), Constraint::Length(words)]).areas(area);
        let from = scrolled_to(self.at, lines.height.into(), self.lines.len());
        frame.render_widget(Paragraph::new(self.lines.into_iter().skip(from).collect::<Vec<_>>()), lines);
        if let Some(part) = opened.draft.part().filter(|part| self.rows_of_words > 0 && part.writes()) {
            let inner = Rect { x: words.x + 2, width: words.width.saturating_sub(2), ..words };
            frame.render_widget(&part.words, inner);
        }
    }
}

fn of_part(part: &PartDraft, columns: usize) -> Below {
    let (mut lines, mut at) = (Vec::new(), 0);
    let keys = part.part.options.0.iter().map(|choice| width(&choice.key)).max().unwrap_or(0).min(columns / 3).min(24);
    let mut rows_of_words = 0;
    for (n, line) in part.lines().into_iter().enumerate() {
        let is_chosen = part.chosen() == Some(line);
        if is_chosen {
            at = lines.len();
        }
        let number = if part.keys_are_numbers() || n > 8 { "  ".to_owned() } else { format!("{} ", n + 1) };
        let mark = match line {
            Choosable::Option(n) if part.is_multiple() => {
                if part.marked.contains(&n) {
                    "[x] "
                } else {
                    "[ ] "
                }
            }
            _ => "",
        };
        let head = format!("{}{number}{mark}", if is_chosen { "> " } else { "  " });
        let before = lines.len();
        match line {
            Choosable::Yes => lines.push(Line::from(format!("{head}yes"))),
            Choosable::No => lines.push(Line::from(format!("{head}no"))),
            Choosable::Option(n) => lines.extend(of_option(part, n, &head, keys, columns)),
            Choosable::Words if part.part.options.is_empty() => lines.push(dim(cut(&question_text::kind(&part.part), columns))),
            Choosable::Words => lines.push(Line::from(cut(&format!("{head}your own words"), columns))),
        }
        if is_chosen && line != Choosable::Words {
            for line in &mut lines[before..] {
                line.style = Style::default().add_modifier(Modifier::REVERSED);
            }
        }
        if line == Choosable::Words {
            let typed = part.typed();
            if is_chosen {
                let needed = wrapped(&typed, columns.saturating_sub(4)).len() + 1;
                rows_of_words = needed.clamp(2, 8);
            } else if !typed.trim().is_empty() {
                lines.push(dim(cut(&format!("    {typed}"), columns)));
            }
        }
    }
    Below { lines, at, rows_of_words }
}

fn of_option(part: &PartDraft, n: usize, head: &str, keys: usize, columns: usize) -> Vec<Line<'static>> {
    let Some(choice) = part.part.options.0.get(n) else { return Vec::new() };
    let key = format!("{head}{}  ", padded(&cut(&choice.key, keys.max(1)), keys));
    let indent = width(&key);
    let mut described = wrapped(&choice.description, columns.saturating_sub(indent).max(8)).into_iter();
    let mut first = described.next().unwrap_or_default();
    first.spans.insert(0, Span::raw(key));
    let mut lines = vec![first];
    lines.extend(described.map(|line| indented(line, indent)));
    for preview in choice.preview.iter().flat_map(|preview| preview.lines()) {
        lines.push(dim(cut(&format!("{}│ {preview}", " ".repeat(head.chars().count())), columns)));
    }
    lines
}

fn of_meant(meant: &Meant, opened: &Opened, columns: usize) -> Vec<Line<'static>> {
    let typed = opened.draft.part().map(PartDraft::typed).unwrap_or_default();
    let mut rows: Vec<String> = meant.near.iter().map(|choice| format!("{}  {}", choice.key, choice.description)).collect();
    rows.push(format!("my own words: {typed}"));
    rows.push("write it again".into());
    let mut lines = vec![Line::from("What do you mean?").style(bold())];
    for (n, row) in rows.into_iter().enumerate() {
        let line = Line::from(cut(&format!("{}{} {row}", if n == meant.at { "> " } else { "  " }, n + 1), columns));
        lines.push(if n == meant.at { line.style(Style::default().add_modifier(Modifier::REVERSED)) } else { line });
    }
    lines
}

fn review(opened: &Opened, columns: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (n, part) in opened.draft.parts.iter().enumerate() {
        let given = part.given.as_ref().map_or_else(|| "not answered yet".to_owned(), AnswerValue::to_text);
        lines.extend(wrapped(&format!("{}. {}: {given}", n + 1, part.part.header.as_deref().unwrap_or(&part.part.question)), columns));
    }
    lines
}

/// The keys that do something while a question is open.
pub fn keys(opened: &Opened) -> String {
    if opened.meant.is_some() {
        return "enter that · esc write it again".into();
    }
    let Some(part) = opened.draft.part() else { return "enter send · shift-tab back · d decline · b ask back · esc later".into() };
    let send = if opened.draft.parts.len() > 1 { "enter next" } else { "enter send" };
    match part.chosen() {
        Some(Choosable::Words) => format!("{send} · esc later · ^e editor · ^n note · ^b ask · ^d decline"),
        _ if part.is_multiple() => format!("space mark · {send} · esc later · type words · n note · b ask · d decline"),
        _ => format!("1-9 choose · {send} · esc later · type words · n note · b ask · d decline"),
    }
}
