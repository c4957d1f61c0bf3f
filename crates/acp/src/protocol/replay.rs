//! The history that an agent plays back when it loads a session, and the search in it for messages and for the calls behind them.
//!
//! Each message that askbox sends begins with a marker that names its round and attempt. If the marker is in the history, the agent got
//! the message. If it is not, that proves nothing: some agents write their history late. The same is true of calls.

use std::collections::{HashMap, VecDeque};

use agent_client_protocol_schema::v1::{ToolCallId, ToolCallStatus};

use askbox_agent::events::CallEnd;
use askbox_agent::stream::bounded::{NAME, head};

/// The most bytes of one message that are searched for a marker.
const SEARCHED: usize = 4 << 10;
/// The most calls that are remembered.
const MOST_CALLS: usize = 1 << 14;

/// The history so far.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// The markers, and whether each has been seen.
    markers: Vec<(String, bool)>,
    /// The beginning of the message that is being played back.
    message: String,
    /// The place of the marker of the last message that has one.
    behind: Option<usize>,
    /// The calls, in order: the place of the marker in front of each, its id, its end.
    calls: Vec<(usize, String, CallEnd)>,
    pub(super) has_history: bool,
}

/// The calls that an agent has played back behind some messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlayedBack(HashMap<String, VecDeque<CallEnd>>);

impl PlayedBack {
    /// Takes out the first call with this id, and returns its end. `None` if there is no such call left.
    pub fn take(&mut self, id: &str) -> Option<CallEnd> {
        self.0.get_mut(without_turn(id))?.pop_front()
    }
}

impl Replay {
    /// If a message has several of the markers, the first of them counts.
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
        self.behind = self.markers.iter().position(|(marker, _)| self.message.contains(marker.as_str())).or(self.behind);
    }

    /// Takes in a call, or an update about one.
    pub(super) fn called(&mut self, id: &ToolCallId, status: Option<ToolCallStatus>) {
        self.other();
        let Some(behind) = self.behind else { return };
        let id = without_turn(head(&id.0, NAME));
        let end = match status {
            Some(ToolCallStatus::Completed) => CallEnd::Done,
            Some(ToolCallStatus::Failed) => CallEnd::Failed,
            _ => CallEnd::Unseen,
        };
        match self.calls.iter().rposition(|call| call.0 == behind && call.1 == id) {
            Some(at) if end != CallEnd::Unseen => self.calls[at].2 = end,
            Some(_) => {}
            None if self.calls.len() < MOST_CALLS => self.calls.push((behind, id.to_owned(), end)),
            None => {}
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

    pub(super) fn calls_behind(&self, markers: &[String]) -> PlayedBack {
        let mut found = PlayedBack::default();
        for (behind, id, end) in &self.calls {
            if self.markers.get(*behind).is_some_and(|(marker, _)| markers.contains(marker)) {
                found.0.entry(id.clone()).or_default().push_back(*end);
            }
        }
        found
    }
}

/// The id of a call without the number of the turn in front of it: kimi numbers the turns anew when it plays them back.
fn without_turn(id: &str) -> &str {
    match id.split_once(':') {
        Some((turn, rest)) if !turn.is_empty() && turn.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => id,
    }
}
