//! The receipt of a delivered answer, found in the events of an attempt whose supervisor died before it acted on it.

use std::io::{BufRead, BufReader};

use crate::agent::events::{Event, EventKind};
use crate::disk;
use crate::document;
use crate::mailbox::Mailbox;
use crate::run::attempt::ending::Ending;
use crate::run::attempt::record::Run;
use crate::run::attempt::suspended_call;
use crate::run::supervise::stop::stop_request;

/// [`Ending::Delivered`] if the attempt's session began and its final result came; [`Ending::Asking`] if its turn waits for a question, or
/// waited with a call, or for the answer to a server, when the supervisor died.
pub(super) fn find(mailbox: &Mailbox, run: &Run) -> Option<Ending> {
    let events = BufReader::new(disk::open_to_read(&run.folder(mailbox).join("events.jsonl")).ok()?);
    let mut began = false;
    // The end of a turn that was stopped on request is not a final result.
    let stopped = stop_request::read(&run.folder(mailbox)).is_ok_and(|s| s.is_some());
    for line in events.split(b'\n').map_while(std::io::Result::ok) {
        match document::json::<Event>(&line).map(|e| e.kind) {
            Some(EventKind::Started { session_id, .. }) => began |= session_id == run.plan.session_id.to_string(),
            Some(EventKind::Result { is_error: false, text, terminal_reason: Some(reason), cost_usd, .. })
                if began && (reason == "completed" || (reason == "hook_stopped" && !stopped)) =>
            {
                return Some(Ending::Delivered { text, cost_usd });
            }
            Some(EventKind::Result { is_error: false, terminal_reason: Some(reason), cost_usd, .. }) if reason == "tool_deferred" => {
                let question = suspended_call::question_of_session(mailbox, run)?;
                return Some(Ending::Asking { question, cost_usd });
            }
            _ => {}
        }
    }
    let question = suspended_call::held_in_session(mailbox, run).filter(|_| began && !stopped)?;
    Some(Ending::Asking { question, cost_usd: None })
}
