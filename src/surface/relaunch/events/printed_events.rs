//! Events on standard output, whose reader may be slow or go away.

use std::time::Duration;

use crate::agent::events::Event;
use crate::error::{IoContext, Result};
use crate::surface::program;
use crate::surface::relaunch::event_words::{Clock, words};

/// After a stopped run, the program ends once the reader has taken nothing for this long.
pub(in crate::surface::relaunch) const STUCK_READER_LIMIT: Duration = Duration::from_secs(5);

/// Prints one event. An error means that the reader is gone.
pub(in crate::surface::relaunch) fn print_event(line: &str, event: &Event, json: bool, clock: Clock) -> Result<()> {
    let written = if json { program::write_json(line) } else { program::write(&words(event, clock)) };
    written.io("write to", "standard output")
}
