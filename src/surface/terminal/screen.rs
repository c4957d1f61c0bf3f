//! The alternate screen of the terminal on standard output.
#![allow(clippy::disallowed_methods, reason = "the screen itself controls the terminal, and filters what it shows")]

use std::io::{self, Write};

use crossterm::style::Print;
use crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, queue};

use crate::error::{Error, Result};
use crate::surface::terminal::columns;
pub use crate::surface::terminal::size::{Size, columns, size};
use crate::text;

/// The terminal's alternate screen, without a cursor. Dropping it restores what was shown before.
#[derive(Debug)]
pub struct Screen(());

impl Screen {
    /// Switches to the alternate screen.
    pub fn enter() -> Result<Self> {
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide).map_err(|e| terminal_failed(&e))?;
        Ok(Self(()))
    }

    /// Replaces what is shown with `text`, cut to the terminal's size and without control characters.
    pub fn draw(&self, text: &str) -> Result<()> {
        let size = size().unwrap_or(Size { rows: 24, columns: 80 });
        frame(&text::printable(text), size)
            .and_then(|frame| io::stdout().lock().write_all(&frame).and_then(|()| io::stdout().flush()))
            .map_err(|e| terminal_failed(&e))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = execute!(io::stdout(), cursor::Show, LeaveAlternateScreen);
    }
}

fn frame(text: &str, size: Size) -> io::Result<Vec<u8>> {
    let mut frame = Vec::new();
    queue!(frame, cursor::MoveTo(0, 0))?;
    let lines: Vec<&str> = text.lines().collect();
    // The last row stays empty: a line break in it would scroll the screen.
    let room = size.rows - 1;
    let (shown, more) = if lines.len() > room { (room - 1, Some(lines.len() + 1 - room)) } else { (lines.len(), None) };
    let more = more.map(|n| format!("… {n} more lines"));
    for line in lines.iter().take(shown).copied().chain(more.as_deref()) {
        queue!(frame, Print(columns::cut(line, size.columns)), Clear(ClearType::UntilNewLine), Print("\r\n"))?;
    }
    queue!(frame, Clear(ClearType::FromCursorDown))?;
    Ok(frame)
}

fn terminal_failed(e: &io::Error) -> Error {
    Error::failed(format!("cannot write to the terminal: {e}"), "check that the terminal is still open")
}
