//! The files beside a question, as lines below its text.

use ratatui::style::Style;
use ratatui::text::Line;

use crate::draw::pieces::{accent, bad, bold, clean, dim, good, indented, styled};
use crate::sender::ShownQuestion;
use askbox_cli::ask_answer::diff_lines::Says;
use askbox_cli::ask_answer::shown_files::{self, Room, ShownFile};
use askbox_cli::terminal::fitted;
use askbox_mailbox::{Mailbox, text};

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
    lines.extend(styled(&file.head(), columns, if file.is_damaged() { bad() } else { bold() }));
    let address = shown.address();
    if file.is_image() {
        let command = format!("to see it: ask-answer show {address} --attachment {} > FILE", text::path_word(&file.about.name));
        lines.extend(styled(&command, columns, accent()));
    }
    let beginning = file.beginning(&room);
    for (says, line) in &beginning.lines {
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
    if let Some(left_out) = beginning.left_out() {
        lines.push(dim(format!("{left_out}: ask-answer show {address}")));
    }
    lines
}
