//! What wakes a channel.

use crate::channel::ntfy::Stream;
use askbox_watch::news::lines::ToChannel;

/// What wakes a channel.
pub(super) enum Event {
    /// A line of the watcher.
    Line(ToChannel),
    /// The watcher has closed the input.
    Leave,
    /// The call of the notice with this id has ended.
    Told(String, Result<(), String>),
    /// Something came from the topic for replies.
    Stream(Stream),
}
