//! The history that an agent plays back when it loads a session, and the search for a message in it.
//!
//! Each message that askbox sends begins with a marker that names its round. If the marker is in the history, the agent got the message.
//! If it is not, that proves nothing: some agents write their history late.

/// The most bytes of one message that are searched for the marker.
const SEARCHED: usize = 4 << 10;

/// The history so far.
#[derive(Debug, Default)]
pub(super) struct Replay {
    marker: String,
    /// The beginning of the message that is being played back.
    message: String,
    pub(super) has_marker: bool,
    pub(super) has_history: bool,
}

impl Replay {
    pub(super) fn looking_for(marker: &str) -> Self {
        Self { marker: marker.to_owned(), ..Self::default() }
    }

    /// Takes in a piece of a message to the agent.
    pub(super) fn told(&mut self, piece: &str) {
        self.has_history = true;
        if self.message.len() < SEARCHED {
            self.message.push_str(piece);
        }
        self.has_marker |= !self.marker.is_empty() && self.message.contains(&self.marker);
    }

    /// Takes in anything else.
    pub(super) fn other(&mut self) {
        self.has_history = true;
        self.message.clear();
    }
}
