//! The terminal on standard output: its size, and its alternate screen.
//!
//! Standard output for the pictures of a screen, while the screen belongs to this process.
//!
//! Job control: a program in the background must not change its terminal. The kernel stops it (SIGTTOU) if it tries, and stops it again
//! after each SIGCONT. A program that has caught SIGTERM would then never come to its end.

#![allow(clippy::disallowed_methods, reason = "the screen itself controls the terminal, and filters what it shows")]

use std::cell::Cell;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crossterm::style::Print;
use crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute, queue};
use rustix::process::{Signal, getpgrp, kill_current_process_group};

use crate::terminal::columns;
use askbox_mailbox::{Error, Result, text};

/// The terminal's alternate screen, with a hidden cursor. Dropping it restores what was shown before.
pub struct Screen {
    takes_keys: bool,
}

impl Screen {
    /// Switches to the alternate screen. With `takes_keys`, the terminal hands over each key at once.
    pub fn enter(takes_keys: bool) -> Result<Self> {
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide).map_err(|e| terminal_failed(&e))?;
        let screen = Self { takes_keys };
        if takes_keys {
            enable_raw_mode().map_err(|e| terminal_failed(&e))?;
        }
        Ok(screen)
    }

    /// Replaces what is shown with `text`, cut to the terminal's size and without control characters. The first `from` lines are scrolled
    /// past the top. Returns the number of lines that really are, because the last line stays on the screen.
    ///
    /// Draws nothing in the background, where the screen belongs to another program.
    pub fn draw(&self, text: &str, from: usize) -> Result<usize> {
        let size = size().unwrap_or(Size { rows: 24, columns: 80 });
        let (frame, from) = frame(&text::printable(text), size, from).map_err(|e| terminal_failed(&e))?;
        let written = if self.takes_keys {
            Pictures::default().write_all(&frame)
        } else {
            io::stdout().lock().write_all(&frame).and_then(|()| io::stdout().flush())
        };
        written.map(|()| from).map_err(|e| terminal_failed(&e))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // In the background it is the shell's terminal, and the shell has restored it.
        if self.takes_keys && !is_foreground() {
            return;
        }
        if self.takes_keys {
            let _ = disable_raw_mode();
        }
        let _ = execute!(io::stdout(), cursor::Show, LeaveAlternateScreen);
    }
}

fn frame(text: &str, size: Size, from: usize) -> io::Result<(Vec<u8>, usize)> {
    let mut frame = Vec::new();
    queue!(frame, cursor::MoveTo(0, 0))?;
    let lines: Vec<&str> = text.lines().collect();
    // The last row stays empty: a line break in it would scroll the screen.
    let room = size.rows - 1;
    // A line that says how many lines are below takes the last row, except at the end.
    let is_long = lines.len() > room;
    let from = if is_long { from.min(lines.len() - room) } else { 0 };
    let below = lines.len() - from > room;
    let shown = if below { room - 1 } else { room };
    let more = below.then(|| format!("… {} more lines", lines.len() - from - shown));
    for line in lines.iter().skip(from).take(shown).copied().chain(more.as_deref()) {
        queue!(frame, Print(columns::cut(line, size.columns)), Clear(ClearType::UntilNewLine), Print("\r\n"))?;
    }
    queue!(frame, Clear(ClearType::FromCursorDown))?;
    Ok((frame, from))
}

fn terminal_failed(e: &io::Error) -> Error {
    Error::failed(format!("cannot write to the terminal: {e}"), "check that the terminal is still open")
}

/// Rows and columns of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Lines.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
}

/// The size of the terminal on standard output, or `None` if standard output is not a terminal.
pub fn size() -> Option<Size> {
    size_of(io::stdout())
}

fn size_of(output: impl AsFd) -> Option<Size> {
    let size = rustix::termios::tcgetwinsize(output).ok().filter(|s| s.ws_row > 1 && s.ws_col > 1)?;
    Some(Size { rows: usize::from(size.ws_row), columns: usize::from(size.ws_col) })
}

/// The number of columns of the terminal on standard output, or `None` if standard output is not a terminal.
pub fn columns() -> Option<usize> {
    size().map(|size| size.columns)
}

/// The number of columns of the terminal on standard error, or `None` if standard error is not a terminal.
pub fn columns_of_messages() -> Option<usize> {
    size_of(io::stderr()).map(|size| size.columns)
}

/// Standard output for pictures. A picture that was begun in the foreground may be ready after the process has come to the background: it is
/// dropped then.
#[derive(Debug, Default)]
pub struct Pictures {
    /// True if something was dropped since [`Dropped::take`].
    dropped: Dropped,
}

/// Tells whether a picture was dropped, so that what the terminal shows is unknown.
#[derive(Debug, Clone, Default)]
pub struct Dropped(Rc<Cell<bool>>);

impl Dropped {
    /// True if a picture was dropped since the last call.
    pub fn take(&self) -> bool {
        self.0.take()
    }
}

impl Pictures {
    /// Tells whether a picture was dropped.
    pub fn dropped(&self) -> Dropped {
        self.dropped.clone()
    }
}

impl Write for Pictures {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if is_foreground() {
            let mut output = io::stdout().lock();
            output.write_all(bytes)?;
            output.flush()?;
        } else {
            self.dropped.0.set(true);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The time within which the signal stops every thread of this process.
const STOPS_WITHIN: Duration = Duration::from_millis(20);
/// The signal is ignored, or nobody could continue the process, if it did not stop this many times.
const TRIES: u32 = 3;

/// True if this process may use the terminal on standard input. True as well if that is not this process's own terminal, because the
/// kernel then stops nothing.
pub fn is_foreground() -> bool {
    rustix::termios::tcgetpgrp(std::io::stdin()).map_or(true, |foreground| foreground == getpgrp())
}

/// Stops this process's job while it is in the background, as a shell expects it: the shell says so, and `fg` continues the job. Call it
/// before SIGTERM is caught, so that SIGTERM ends the stopped job.
///
/// # Errors
/// [`Error::Usage`] if the job is in the background and cannot be stopped.
pub fn wait_for_foreground() -> Result<()> {
    let mut without_stop = 0;
    while !is_foreground() {
        if without_stop == TRIES {
            let hint = "start it in the foreground, without `&`";
            return Err(Error::usage("this program needs the terminal, and runs in the background", hint));
        }
        let at = Instant::now();
        let _ = kill_current_process_group(Signal::TTOU);
        std::thread::sleep(STOPS_WITHIN);
        without_stop = if at.elapsed() < 2 * STOPS_WITHIN { without_stop + 1 } else { 0 };
    }
    Ok(())
}
