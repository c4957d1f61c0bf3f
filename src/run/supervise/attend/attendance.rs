//! The parts of a run that is being attended to.

use std::time::{Duration, Instant};

use crate::config::Config;
use crate::mailbox::Mailbox;
use crate::run::attempt::record::Run;
use crate::run::supervise::attend::conclusion::Outcome;
use crate::run::supervise::attend::deadlines::Deadlines;
use crate::run::supervise::attend::hold_requests::Requests;
use crate::run::supervise::attend::live::Live;
use crate::run::supervise::attend::model_answers::ModelAnswers;
use crate::run::supervise::attend::open_calls::OpenCalls;
use crate::run::supervise::attend::session::Session;
use crate::run::supervise::attend::stopping::Stopping;
use crate::run::supervise::event_log::EventLog;
use crate::run::supervise::start_agent::Started;

/// A run that is being attended to.
pub(super) struct Attendance<'a, 'b> {
    pub(super) live: Live<'a, 'b>,
    pub(super) stopping: Stopping,
    pub(super) deadlines: Deadlines,
    pub(super) session: Session,
    pub(super) answers: ModelAnswers,
    pub(super) tools: OpenCalls,
    pub(super) requests: Requests,
    pub(super) outcome: Outcome,
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
            live: Live::new(mailbox, config, run, log, agent),
            stopping: Stopping::default(),
            deadlines: Deadlines::new(&config.limits, tree_time, Instant::now()),
            session: Session::new(held_message),
            answers: ModelAnswers::new(max_turns),
            tools: OpenCalls::default(),
            requests: Requests::default(),
            outcome: Outcome::default(),
        }
    }
}
