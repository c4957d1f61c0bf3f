//! The files beside a question, as lines below its text.

use ratatui::style::Style;
use ratatui::text::Line;

use crate::draw::pieces::{accent, bad, bold, clean, dim, good, indented, styled};
use crate::sender::ShownQuestion;
use askbox_cli::ask_answer::diff_lines::Says;
use askbox_cli::ask_answer::shown_files::{self, ShownFile};
use askbox_cli::terminal::fitted;
use askbox_mailbox::{Mailbox, text};

/// The most lines of one file that the screen shows. Every keypress draws them, and `ask-answer show` prints all.
const MOST_LINES: usize = 5000;

/// The lines of all files. `mailbox` is `None` for a question of another machine.
pub fn lines(mailbox: Option<&Mailbox>, shown: &ShownQuestion, columns: usize) -> Vec<Line<'static>> {
    let files = shown_files::read(mailbox, &shown.round.id, shown.question());
    files.iter().flat_map(|file| one(file, shown, columns)).collect()
}

fn one(file: &ShownFile, shown: &ShownQuestion, columns: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    lines.extend(styled(&file.head(), columns, if file.is_damaged() { bad() } else { bold() }));
    let address = shown.address();
    if file.is_image() {
        let command = format!("to see it: ask-answer show {address} --attachment {} > FILE", text::shell_quote(&file.about.name));
        lines.extend(styled(&command, columns, accent()));
    }
    let all = file.lines();
    for (says, line) in all.iter().take(MOST_LINES) {
        let style = match says {
            Says::Nothing => Style::default(),
            Says::Added => good(),
            Says::Removed => bad(),
            Says::Hunk => accent(),
        };
        let rows = fitted::wrapped(&clean(line), columns.saturating_sub(2));
        let rows = if rows.is_empty() { vec![String::new()] } else { rows };
        lines.extend(rows.into_iter().map(|row| indented(Line::from(row).style(style), 2)));
    }
    if all.len() > MOST_LINES {
        lines.push(dim(format!("{} more lines: ask-answer show {address}", all.len() - MOST_LINES)));
    }
    lines
}
