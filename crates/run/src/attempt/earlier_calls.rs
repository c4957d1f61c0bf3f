//! The tool calls of a round's earlier attempts, as their events tell them. A session that has no transcript of those attempts knows
//! nothing about them.

use std::collections::VecDeque;

use crate::attempt::record::{self, Run};
use askbox_agent::events::{self, Event, EventKind};
use askbox_mailbox::Mailbox;
use askbox_mailbox::error::Result;
use askbox_mailbox::id::RoundId;
use askbox_mailbox::untrusted::Untrusted;
use serde_json::Value;

/// The number of calls that are kept: the last ones.
const KEPT: usize = 10;

/// The tool calls of a round's earlier attempts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EarlierCalls {
    /// The number of attempts that called a tool.
    pub attempts: u32,
    /// The number of all calls.
    pub calls: u64,
    /// The last calls, the newest last.
    pub last: VecDeque<EarlierCall>,
}

/// A tool call of an earlier attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierCall {
    id: Untrusted,
    /// The tool.
    pub tool: Untrusted,
    /// The input; long strings in it are shortened.
    pub input: Value,
    /// The end of the call.
    pub end: CallEnd,
}

/// The end of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    /// It succeeded.
    Done,
    /// It failed, or was refused.
    Failed,
    /// None was seen.
    Unseen,
}

impl EarlierCalls {
    /// Reads the events of all attempts before `run`.
    pub fn before(mailbox: &Mailbox, run: &Run) -> Result<Self> {
        let earlier = record::attempts(mailbox, &run.round())?.into_iter().filter(|attempt| *attempt < run.attempt);
        Ok(Self::of(mailbox, &run.round(), earlier))
    }

    /// Reads the events of these attempts of a round. An attempt whose events cannot be read has made no call that is known.
    #[must_use]
    pub fn of(mailbox: &Mailbox, round: &RoundId, attempts: impl IntoIterator<Item = u32>) -> Self {
        let mut calls = Self::default();
        for attempt in attempts {
            if let Ok(events) = events::read(&record::folder(mailbox, round, attempt).join("events.jsonl")) {
                calls.read_attempt(events);
            }
        }
        calls
    }

    fn read_attempt(&mut self, events: impl Iterator<Item = Event>) {
        let before = self.calls;
        for event in events {
            match event.kind {
                EventKind::ToolCall { id, name, input, .. } => {
                    self.calls += 1;
                    if self.last.len() == KEPT {
                        self.last.pop_front();
                    }
                    self.last.push_back(EarlierCall { id, tool: name, input, end: CallEnd::Unseen });
                }
                EventKind::ToolResult { id, is_error, .. } => {
                    let call = self.last.iter_mut().rev().find(|call| call.id == id);
                    call.into_iter().for_each(|call| call.end = if is_error { CallEnd::Failed } else { CallEnd::Done });
                }
                _ => {}
            }
        }
        self.attempts += u32::from(self.calls > before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_agent::events::Events;

    #[test]
    fn the_last_calls_of_all_attempts_are_kept_with_their_ends() {
        let mut calls = EarlierCalls::default();
        let event = |fields: &str| format!(r#"{{"seq":1,"at":"2026-01-01T00:00:00Z",{fields}}}"#) + "\n";
        let call = |id: &str| event(&format!(r#""type":"tool_call","id":"{id}","name":"Bash","input":{{"command":"{id}"}}"#));
        let result =
            |id: &str, failed: bool| event(&format!(r#""type":"tool_result","id":"{id}","is_error":{failed},"text":"","bytes":0"#));
        let first: String = (0..12).map(|n| call(&format!("t{n}"))).collect();
        calls.read_attempt(Events::of(first.as_bytes()));
        calls.read_attempt(Events::of(event(r#""type":"text","text":"hm""#).as_bytes()));
        let last = [call("a"), result("a", false), call("b"), result("b", true), call("c"), "torn".into()].concat();
        calls.read_attempt(Events::of(last.as_bytes()));
        assert_eq!((calls.attempts, calls.calls, calls.last.len()), (2, 15, KEPT));
        let last: Vec<_> = calls.last.iter().rev().take(4).map(|c| (c.input["command"].as_str().unwrap(), c.end)).collect();
        assert_eq!(last, [("c", CallEnd::Unseen), ("b", CallEnd::Failed), ("a", CallEnd::Done), ("t11", CallEnd::Unseen)]);
    }
}
