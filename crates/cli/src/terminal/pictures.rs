//! Standard output for the pictures of a screen, while the screen belongs to this process.
#![allow(clippy::disallowed_methods, reason = "the screen itself controls the terminal, and filters what it shows")]

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;

use crate::terminal::foreground::is_foreground;

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
