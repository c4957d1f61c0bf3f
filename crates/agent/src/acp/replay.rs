//! The history that an agent plays back when it loads a session, and the search for messages in it.
//!
//! Each message that askbox sends begins with a marker that names its round and attempt. If the marker is in the history, the agent got
//! the message. If it is not, that proves nothing: some agents write their history late.

/// The most bytes of one message that are searched for a marker.
const SEARCHED: usize = 4 << 10;

/// The history so far.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// The markers, and whether each has been seen.
    markers: Vec<(String, bool)>,
    /// The beginning of the message that is being played back.
    message: String,
    pub(super) has_history: bool,
}

impl Replay {
    pub(super) fn looking_for(markers: Vec<String>) -> Self {
        Self { markers: markers.into_iter().map(|marker| (marker, false)).collect(), ..Self::default() }
    }

    /// Takes in a piece of a message to the agent.
    pub(super) fn told(&mut self, piece: &str) {
        self.has_history = true;
        // Two messages follow each other if the agent said nothing in between.
        if self.markers.iter().any(|(marker, _)| piece.starts_with(marker)) {
            self.message.clear();
        }
        if self.message.len() < SEARCHED {
            self.message.push_str(piece);
        }
        for (marker, is_seen) in &mut self.markers {
            *is_seen |= self.message.contains(marker.as_str());
        }
    }

    /// Takes in anything else.
    pub(super) fn other(&mut self) {
        self.has_history = true;
        self.message.clear();
    }

    pub(super) fn has_seen(&self, marker: &str) -> bool {
        self.markers.iter().any(|(sought, is_seen)| *is_seen && sought == marker)
    }
}
