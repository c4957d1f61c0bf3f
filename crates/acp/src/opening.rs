//! The session to open, and the round's message in its forms.

use crate::protocol::{Asked, Client, Opened};
use crate::session::{self, Unsure};
use crate::words;
use crate::words::Lost;
use askbox_config::Config;
use askbox_mailbox::{Mailbox, Question, Result, RoundId};
use askbox_run::Run;
use askbox_run::approval::permit;
use askbox_run::attempt::acp_session::{self, AcpSession};
use askbox_run::attempt::record::Begin;
use askbox_run::prompt::message;

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
pub(crate) struct Opening {
    /// The session to continue. `None` begins a new one.
    pub(crate) session: Option<AcpSession>,
    /// Whether it has the round's message.
    pub(crate) heard: Heard,
    /// The attempts whose work it may lack, the newest first.
    pub(crate) unsure: Vec<Unsure>,
}

impl Opening {
    /// Finds the session to continue: an earlier attempt of the round has opened it, or the plan names it.
    pub(crate) fn of(mailbox: &Mailbox, run: &Run) -> Self {
        let round = run.round();
        let earlier: Vec<(u32, AcpSession)> =
            (1..run.attempt).rev().filter_map(|n| Some((n, acp_session::of_attempt(mailbox, &round, n)?))).collect();
        let (session, heard) = match (earlier.first(), &run.begin) {
            (Some((_, last)), _) => {
                let mut same = earlier.iter().filter(|(_, session)| session.session == last.session);
                let is_heard = same.any(|(n, _)| session::last_heard(mailbox, &round, *n).is_some());
                (Some(last.clone()), if is_heard { Heard::Yes } else { Heard::Unknown })
            }
            (None, Begin::Fork { from, of: None }) => (acp_session::find(mailbox, &run.workflow_id, *from), Heard::No),
            (None, Begin::Fork { of: Some(_), .. } | Begin::Fresh) => (None, Heard::No),
        };
        let unsure = session.as_ref().map(|session| session::unsure(mailbox, run, &session.session)).unwrap_or_default();
        Self { session, heard, unsure }
    }

    /// True if the session's history is to be searched for messages, if the agent can play it back.
    pub(crate) fn looks_for_messages(&self) -> bool {
        self.heard == Heard::Unknown || self.unsure.iter().any(|unsure| unsure.heard.is_some())
    }

    /// The markers to look for in the session's history.
    pub(crate) fn markers(&self, round: &RoundId) -> Vec<String> {
        self.unsure.iter().flat_map(markers).chain([words::marker_of_round(round)]).collect()
    }

    /// The attempts whose work the session lacks, or may lack, the newest first. The history ends in the last one that is in it: what
    /// the ones before had lost, was told in that one.
    pub(crate) fn lost(&self, opened: &Opened, client: &Client) -> Vec<Lost> {
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
    (1..=unsure.heard.unwrap_or(1)).map(|number| words::marker(&unsure.id, number)).collect()
}

/// The round's message in its forms.
pub(crate) struct Messages {
    /// For a session that knows nothing.
    pub(crate) in_new_session: String,
    /// For the session that asked.
    pub(crate) continued: String,
    /// True if the call that the answer allows was let through before.
    pub(crate) may_be_done: bool,
}

impl Messages {
    pub(crate) fn of(mailbox: &Mailbox, config: &Config, question: &Question, run: &Run) -> Result<Self> {
        let fresh = Run { begin: Begin::Fresh, ..run.clone() };
        let in_new_session = message::first_message(mailbox, config, question, &fresh)?;
        let continued = message::round_message(mailbox, config, question, run)? + &message::renamed_folder(question, run);
        let continued = format!("{}{}", continued.trim_end(), words::about_cut_call(question));
        let may_be_done = question.approval.is_some() && permit::is_used(mailbox, &run.round());
        Ok(Self { in_new_session, continued, may_be_done })
    }
}
