//! The size of the terminal on standard output.
#![allow(clippy::disallowed_methods, reason = "nothing is written to it")]

use std::io;

/// Rows and columns of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Lines.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
}

/// The size of the terminal on standard output; `None` where standard output is not a terminal.
#[must_use]
pub fn size() -> Option<Size> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok().filter(|s| s.ws_row > 1 && s.ws_col > 1)?;
    Some(Size { rows: usize::from(size.ws_row), columns: usize::from(size.ws_col) })
}

/// The columns of the terminal on standard output; `None` where standard output is not a terminal.
#[must_use]
pub fn columns() -> Option<usize> {
    size().map(|size| size.columns)
}
