//! What is known of the conversation with an agent that speaks ACP: the session to open, the message, and what waits for its time.

use std::time::{Duration, Instant};

use crate::attempt::acp_session::{AcpSession, Unsure};
use crate::prompt::lost_work::Lost;
use crate::prompt::to_acp;
use askbox_agent::acp::{AgentInfo, Asked, Client, Opened};
use askbox_mailbox::RoundId;
use askbox_mailbox::disk::Lock;
use askbox_mailbox::documents::fields::asked_in::Nonce;

/// How long nothing may come before the history of a session counts as played back.
pub(super) const QUIET: Duration = Duration::from_millis(500);

/// Whether the session has this round's message from an earlier attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// No attempt has sent it.
    No,
    /// It was sent, and the agent worked on it.
    Yes,
    /// It was sent, and nothing shows whether the agent got it.
    Unknown,
}

/// The session to open.
#[derive(Debug)]
pub(crate) struct Opening {
    /// The session to continue. `None` begins a new one.
    pub(crate) session: Option<AcpSession>,
    /// Whether it has the round's message.
    pub(crate) heard: Heard,
    /// The attempts whose work it may lack, the newest first.
    pub(crate) unsure: Vec<Unsure>,
}

impl Opening {
    /// The markers to look for in the session's history.
    pub(super) fn markers(&self, round: &RoundId) -> Vec<String> {
        self.unsure.iter().flat_map(markers).chain([to_acp::marker_of_round(round)]).collect()
    }

    /// The attempts whose work the session lacks, or may lack, the newest first. The history ends in the last one that is in it: what
    /// the ones before had lost, was told in that one.
    pub(super) fn lost(&self, opened: &Opened, client: &Client) -> Vec<Lost> {
        let mut lost = Vec::new();
        for unsure in &self.unsure {
            let markers = markers(unsure);
            let is_seen = markers.last().is_some_and(|last| client.has_seen(last));
            if unsure.heard.is_some() {
                lost.push(Lost {
                    id: unsure.id.clone(),
                    // Nobody knows what a session has that is resumed without its history.
                    has_message: is_seen || opened.how == Asked::Resume,
                    played_back: client.calls_behind(&markers),
                });
            }
            if is_seen {
                break;
            }
        }
        lost
    }
}

/// The markers of the attempt's messages that the agent worked on, or of its first one. The last of them shows that the session has the
/// attempt.
fn markers(unsure: &Unsure) -> Vec<String> {
    (1..=unsure.heard.unwrap_or(1)).map(|number| to_acp::marker(&unsure.id, number)).collect()
}

/// The round's message in its forms.
#[derive(Debug)]
pub(crate) struct Messages {
    /// For a session that knows nothing.
    pub(crate) in_new_session: String,
    /// For the session that asked.
    pub(crate) continued: String,
    /// True if the call that the answer allows was let through before.
    pub(crate) may_be_done: bool,
}

/// Something that waits for its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// The message, once nothing has come for a while.
    Message(Instant),
    /// The loading of the session.
    Load(Instant),
}

/// The conversation with one agent process.
#[derive(Debug)]
pub(crate) struct AcpTalk {
    pub(super) opening: Opening,
    pub(super) messages: Messages,
    /// The mode to set; empty for none.
    pub(super) mode: String,
    /// True if a session that is loaded in the clock minute of its creation is lost.
    pub(super) loads_after_a_minute: bool,
    /// The secret of the attempt.
    pub(super) nonce: Nonce,
    pub(super) info: AgentInfo,
    pub(super) opened: Option<Opened>,
    pub(super) due: Option<Due>,
    pub(super) was_continued: bool,
    pub(super) further_messages: u32,
    /// How many messages the agent got in this attempt.
    pub(super) messages_sent: u32,
    /// Held as long as this process works on the session.
    _lock: Lock,
}

impl AcpTalk {
    pub(crate) fn new(opening: Opening, messages: Messages, mode: String, loads_after_a_minute: bool, nonce: Nonce, lock: Lock) -> Self {
        Self {
            opening,
            messages,
            mode,
            loads_after_a_minute,
            nonce,
            info: AgentInfo::default(),
            opened: None,
            due: None,
            was_continued: false,
            further_messages: 0,
            messages_sent: 0,
            _lock: lock,
        }
    }

    /// When something is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due.map(|due| match due {
            Due::Message(at) | Due::Load(at) => at,
        })
    }

    /// Notes that the agent has printed something: the history may go on.
    pub(super) fn heard_something(&mut self) {
        if let Some(Due::Message(at)) = &mut self.due {
            *at = Instant::now() + QUIET;
        }
    }

    /// True if the session's history is to be searched for messages.
    pub(super) fn looks_for_messages(&self) -> bool {
        let may_lack_work = self.opening.unsure.iter().any(|unsure| unsure.heard.is_some());
        (self.opening.heard == Heard::Unknown || may_lack_work) && self.info.can_load
    }
}
