//! The outcomes of a round's earlier attempts. They are read from the records, so counts and back-off survive a restart.
//!
//! The tool calls of a round's earlier attempts, as their events tell them, without those that the session surely knows. A session that has
//! no transcript of those attempts knows nothing about them.
//!
//! A call that was refused, or whose permission nobody had given yet, was not made. It is left out.

use std::collections::VecDeque;

use serde_json::Value;

use crate::attempt::failure::{Class, Failure};
use crate::attempt::record::{self, Run, RunState};
use askbox_agent::events::{self, CallEnd};
use askbox_agent::{Event, EventKind};
use askbox_mailbox::{Mailbox, Result, RoundId, Time, Untrusted, time};

/// The counts of a round's attempts before a given one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EarlierAttempts {
    /// Attempts that count against `relaunch.attempts`: all but those that were throttled, were stopped, or reached a limit.
    pub counted: u32,
    /// How many of the last attempts were throttled in a row.
    pub throttled: u32,
    /// When the first of those ended. `None` if that date is ahead of now, because the clock was set back.
    pub throttled_since: Option<Time>,
    /// The signatures of the last failures, the newest first, up to the first that was not the agent's.
    signatures: Vec<String>,
}

impl EarlierAttempts {
    /// Reads the records of all attempts before `run`.
    pub fn before(mailbox: &Mailbox, run: &Run) -> Result<Self> {
        let round = run.round();
        let before = record::attempts(mailbox, &round)?.into_iter().rev().filter(|attempt| *attempt < run.attempt);
        let earlier = record::read_those(mailbox, &round, before).collect::<Result<Vec<_>>>()?;
        Ok(Self::count(&earlier))
    }

    /// Counts these attempts, the newest first.
    pub fn count(newest_first: &[Run]) -> Self {
        let now = time::now();
        let class = |run: &Run| run.failure.as_ref().map(|f| f.class);
        let is_throttled = |run: &&Run| run.state == RunState::Failed && class(run).is_some_and(Class::waits);
        let throttled = || newest_first.iter().take_while(is_throttled);
        let others =
            || newest_first.iter().filter(|r| r.state != RunState::Interrupted && !class(r).is_some_and(|c| c.waits() || c.is_limit()));
        let is_its_own = |f: &&Failure| matches!(f.class, Class::Agent | Class::Program);
        let signature = |run: &Run| run.failure.as_ref().filter(is_its_own).map(|f| f.signature.clone());
        Self {
            counted: u32::try_from(others().count()).unwrap_or(u32::MAX),
            throttled: u32::try_from(throttled().count()).unwrap_or(u32::MAX),
            throttled_since: throttled().filter_map(|r| r.ended_at).filter(|at| *at <= now).last(),
            signatures: others().map_while(signature).collect(),
        }
    }

    /// How many of the last failures in a row have this signature.
    pub fn same(&self, signature: &str) -> u32 {
        u32::try_from(self.signatures.iter().take_while(|s| *s == signature).count()).unwrap_or(u32::MAX)
    }
}

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
    /// The end that the session knows of. `None` if the session does not have the call.
    known_as: Option<CallEnd>,
    /// True if a person is to decide about the call.
    waits: bool,
}

impl EarlierCalls {
    /// Reads the events of all attempts before `run`.
    pub fn before(mailbox: &Mailbox, run: &Run) -> Result<Self> {
        let earlier = record::attempts(mailbox, &run.round())?.into_iter().filter(|attempt| *attempt < run.attempt);
        Ok(Self::of(mailbox, &run.round(), earlier.map(|attempt| (attempt, |_: &str| None))))
    }

    /// Reads the events of these attempts of a round. The function of each says how the session knows the next call with an id to have
    /// ended; `None` if the session does not have it. An attempt whose events cannot be read has made no call that is known.
    pub fn of(mailbox: &Mailbox, round: &RoundId, attempts: impl IntoIterator<Item = (u32, impl FnMut(&str) -> Option<CallEnd>)>) -> Self {
        let mut calls = Self::default();
        for (attempt, known) in attempts {
            if let Ok(events) = events::read(&record::folder(mailbox, round, attempt).join("events.jsonl")) {
                calls.read_attempt(events, known);
            }
        }
        calls
    }

    fn read_attempt(&mut self, events: impl Iterator<Item = Event>, mut known: impl FnMut(&str) -> Option<CallEnd>) {
        let mut of_attempt = Self::default();
        for event in events {
            match event.kind {
                EventKind::ToolCall { id, name, input, .. } => {
                    let known_as = known(id.raw());
                    if known_as != Some(CallEnd::Done) {
                        of_attempt.add(EarlierCall { id, tool: name, input, end: CallEnd::Unseen, known_as, waits: false });
                    }
                }
                EventKind::ToolResult { id, is_error, .. } => {
                    let end = if is_error { CallEnd::Failed } else { CallEnd::Done };
                    // An agent may write down as failed what it did not see the end of.
                    of_attempt.keep(&id, |call| {
                        (call.end, call.waits) = (end, call.waits && is_error);
                        call.known_as != Some(end)
                    });
                }
                EventKind::Permission { id: Some(id), decision, .. } => of_attempt.keep(&id, |call| {
                    call.waits = decision == "wait";
                    decision != "deny" && decision != "decline"
                }),
                _ => {}
            }
        }
        let before = of_attempt.last.len();
        of_attempt.last.retain(|call| !call.waits);
        of_attempt.calls -= (before - of_attempt.last.len()) as u64;
        self.attempts += u32::from(of_attempt.calls > 0);
        self.calls += of_attempt.calls - of_attempt.last.len() as u64;
        of_attempt.last.into_iter().for_each(|call| self.add(call));
    }

    fn add(&mut self, call: EarlierCall) {
        self.calls += 1;
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(call);
    }

    /// Leaves the call with this id out unless it is to be kept.
    fn keep(&mut self, id: &Untrusted, is_kept: impl FnOnce(&mut EarlierCall) -> bool) {
        let Some(at) = self.last.iter().rposition(|call| call.id == *id) else { return };
        if !is_kept(&mut self.last[at]) {
            self.last.remove(at);
            self.calls -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::failure::Failure;
    use crate::task::{self, Task};
    use askbox_config::Config;
    use chrono::TimeDelta;

    #[test]
    fn the_first_throttled_attempt_is_not_from_a_clock_ahead() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let begun = task::begin(&mailbox, &Config::default(), Task::new("w".parse().unwrap(), "do it")).unwrap();
        let (now, hour) = (time::now(), TimeDelta::hours(1));
        let failure = || Some(Failure::new(Class::Throttled, "529", &begun.workflow_id));
        let throttled = |ended_at: Time| Run { state: RunState::Failed, ended_at: Some(ended_at), failure: failure(), ..begun.clone() };
        let since = |dates: &[Time]| EarlierAttempts::count(&dates.iter().copied().map(throttled).collect::<Vec<_>>()).throttled_since;
        assert_eq!(since(&[now - hour, now - hour * 2]), Some(now - hour * 2));
        assert_eq!(since(&[now - hour, now + hour * 100_000]), Some(now - hour));
        assert_eq!(since(&[now + hour]), None);
    }
}

#[cfg(test)]
mod tests_of_earlier_calls {
    use super::*;
    use askbox_agent::events::Events;
    use std::collections::HashMap;

    #[test]
    fn the_last_calls_of_all_attempts_are_kept_with_their_ends() {
        let mut calls = EarlierCalls::default();
        let event = |fields: &str| format!(r#"{{"seq":1,"at":"2026-01-01T00:00:00Z",{fields}}}"#) + "\n";
        let call = |id: &str| event(&format!(r#""type":"tool_call","id":"{id}","name":"Bash","input":{{"command":"{id}"}}"#));
        let result =
            |id: &str, failed: bool| event(&format!(r#""type":"tool_result","id":"{id}","is_error":{failed},"text":"","bytes":0"#));
        let first: String = (0..12).map(|n| call(&format!("t{n}"))).collect();
        calls.read_attempt(Events::of(first.as_bytes()), |_: &str| None);
        calls.read_attempt(Events::of(event(r#""type":"text","text":"hm""#).as_bytes()), |_: &str| None);
        let last = [call("a"), result("a", false), call("b"), result("b", true), call("c"), "torn".into()].concat();
        calls.read_attempt(Events::of(last.as_bytes()), |_: &str| None);
        assert_eq!((calls.attempts, calls.calls, calls.last.len()), (2, 15, KEPT));
        let last: Vec<_> = calls.last.iter().rev().take(4).map(|c| (c.input["command"].as_str().unwrap(), c.end)).collect();
        assert_eq!(last, [("c", CallEnd::Unseen), ("b", CallEnd::Failed), ("a", CallEnd::Done), ("t11", CallEnd::Unseen)]);
    }
    #[test]
    fn calls_that_the_session_has_or_were_not_made_are_left_out() {
        let mut ends =
            HashMap::from([("done", CallEnd::Done), ("cut", CallEnd::Failed), ("failed", CallEnd::Failed), ("open", CallEnd::Unseen)]);
        let event = |fields: String| format!(r#"{{"seq":1,"at":"2026-01-01T00:00:00Z",{fields}}}"#) + "\n";
        let call = |id: &str| event(format!(r#""type":"tool_call","id":"{id}","name":"Bash","input":{{}}"#));
        let ended = |id: &str, failed: bool| event(format!(r#""type":"tool_result","id":"{id}","is_error":{failed},"text":"","bytes":0"#));
        let permission =
            |id: &str, decision: &str| event(format!(r#""type":"permission","id":"{id}","tool":"Bash","decision":"{decision}","why":"""#));
        let lines = [
            call("done") + &ended("done", false),
            call("cut"),
            call("failed") + &ended("failed", true),
            call("open"),
            call("lost"),
            call("refused") + &permission("refused", "deny") + &ended("refused", true),
            call("waiting") + &permission("waiting", "wait"),
            call("allowed") + &permission("allowed", "wait") + &permission("allowed", "allow"),
        ];
        let mut calls = EarlierCalls::default();
        calls.read_attempt(Events::of(lines.concat().as_bytes()), |id: &str| ends.remove(id));
        let left: Vec<_> = calls.last.iter().map(|call| call.id.raw()).collect();
        assert_eq!(left, ["cut", "open", "lost", "allowed"]);
        assert_eq!((calls.attempts, calls.calls), (1, 4));
    }
}
