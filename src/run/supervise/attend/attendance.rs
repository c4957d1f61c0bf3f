//! What the attending thread knows of the run.

use std::time::{Duration, Instant};

use crate::config::Config;
use crate::mailbox::Mailbox;
use crate::run::attempt::ending::Ending;
use crate::run::attempt::record::Run;
use crate::run::supervise::attend::deadlines::Deadlines;
use crate::run::supervise::attend::held_requests::HeldRequests;
use crate::run::supervise::attend::open_calls::OpenCalls;
use crate::run::supervise::event_log::EventLog;
use crate::run::supervise::ladder::Ladder;
use crate::run::supervise::start_agent::Started;
use crate::run::supervise::started_agent::Agent;
use crate::untrusted::Untrusted;

/// How far the run has come.
#[derive(Debug)]
pub(super) enum Phase {
    /// The agent works.
    Working,
    /// The agent is being stopped.
    Stopping(Ladder),
    /// The agent was stopped and asked for a report. Its input closes after that turn.
    Reporting(Ladder),
    /// The last turn is over and the agent's input is closed. It should exit by itself, until this time.
    Exiting(Instant),
    /// It did not exit in time.
    Overdue(Ladder),
}

/// A run that is being attended to.
pub(super) struct Attendance<'a, 'b> {
    pub(super) mailbox: &'a Mailbox,
    pub(super) config: &'a Config,
    pub(super) run: &'a Run,
    pub(super) log: &'a mut EventLog<'b>,
    pub(super) agent: Agent,
    pub(super) phase: Phase,
    pub(super) deadlines: Deadlines,
    /// The message with the answer, until the agent has said that it knows its role.
    pub(super) held_message: Option<String>,
    /// Whether the chosen session has begun.
    pub(super) began: bool,
    /// Whether the model was or will be shown the message with the answer.
    pub(super) message_seen: bool,
    /// The permission mode of a session that began and is not yet noted in the workflow's record.
    pub(super) unrecorded_session: Option<Untrusted>,
    /// How many answers the model has given, and how many it may give.
    pub(super) answers: u32,
    pub(super) max_answers: Option<u32>,
    /// The tool calls in flight.
    pub(super) tools: OpenCalls,
    /// Whether it was noted that the agent does not read what it is told.
    pub(super) unread_noted: bool,
    /// Whether a tool call was refused because the run is to stop.
    pub(super) tool_refused: bool,
    /// The last question that was recorded as posted.
    pub(super) posted: Option<String>,
    /// What waits for a person.
    pub(super) requests: HeldRequests,
    /// How long the API last asked to wait.
    pub(super) asked_to_wait: Option<Duration>,
    /// What the last turn means for the round.
    pub(super) turn_ending: Option<Ending>,
    /// What the stop means for the round, once the run is to stop.
    pub(super) stop_ending: Option<Ending>,
    /// What the agent wrote in the turn that was stopped, if it was asked for a report after it.
    pub(super) text_before_report: Option<Untrusted>,
}

impl<'a, 'b> Attendance<'a, 'b> {
    /// Of an agent that has just received its first message. `tree_time`: how long the workflow's tree may still be at work.
    pub(super) fn new(
        mailbox: &'a Mailbox,
        config: &'a Config,
        run: &'a Run,
        started: Started,
        log: &'a mut EventLog<'b>,
        tree_time: Option<Duration>,
    ) -> Self {
        let Started { agent, held_message, max_turns } = started;
        Self {
            mailbox,
            config,
            run,
            log,
            agent,
            phase: Phase::Working,
            deadlines: Deadlines::new(&config.limits, tree_time, Instant::now()),
            held_message,
            began: false,
            message_seen: false,
            unrecorded_session: None,
            answers: 0,
            max_answers: max_turns,
            tools: OpenCalls::default(),
            unread_noted: false,
            tool_refused: false,
            posted: None,
            requests: HeldRequests::default(),
            asked_to_wait: None,
            turn_ending: None,
            stop_ending: None,
            text_before_report: None,
        }
    }

    pub(super) fn is_working(&self) -> bool {
        matches!(self.phase, Phase::Working)
    }
}
