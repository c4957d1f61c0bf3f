//! How a live agent is stopped: the request, the rungs of the interrupt ladder, the agent's exit.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use uuid::Uuid;

use crate::agent::claude;
use crate::agent::events::EventKind;
use crate::run::attempt::ending::Ending;
use crate::run::attempt::failure::Class;
use crate::run::process::run_processes;
use crate::run::prompt::templates;
use crate::run::supervise::attend::deadlines::TimeLimit;
use crate::run::supervise::attend::live::Live;
use crate::run::supervise::ladder::{Doing, Ladder, Request, Rung};
use crate::run::supervise::stop::stop_request;
use crate::time;
use crate::untrusted::Untrusted;

/// How long an agent may take to exit after its last result, once its input is closed.
pub(super) const EXIT_GRACE: Duration = Duration::from_secs(10);

/// How far the run has come.
#[derive(Debug, Default)]
enum Phase {
    /// The agent works.
    #[default]
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

/// The stop of a run, and the exit of its agent.
#[derive(Debug, Default)]
pub(super) struct Stopping {
    phase: Phase,
    /// What the stop means for the round, once the run is to stop.
    ending: Option<Ending>,
}

impl Stopping {
    pub(super) fn is_working(&self) -> bool {
        matches!(self.phase, Phase::Working)
    }

    /// True if the run is to stop, or was stopped.
    pub(super) fn has_begun(&self) -> bool {
        self.ending.is_some()
    }

    /// True if the agent was asked for a report.
    pub(super) fn is_reporting(&self) -> bool {
        matches!(self.phase, Phase::Reporting(_))
    }

    /// Returns the meaning of the stop for the round, if the run was to stop.
    pub(super) fn into_ending(self) -> Option<Ending> {
        self.ending
    }

    /// Looks for `stop.json`.
    pub(super) fn check_stop_request(&mut self, live: &mut Live<'_, '_>, doing: Doing) {
        match stop_request::read(&live.run.folder(live.mailbox)) {
            Ok(Some(stop)) => self.stop(live, doing, stop.request(live.config.limits.grace.0)),
            Ok(None) => {}
            Err(e) => live.log.note(format!("a request to stop cannot be read: {e}")),
        }
    }

    /// Stops the run because a limit on time has passed.
    pub(super) fn stop_at_time_limit(&mut self, live: &mut Live<'_, '_>, doing: Doing, limit: TimeLimit) {
        let limits = &live.config.limits;
        let (why, class) = match limit {
            TimeLimit::Run => (format!("it ran longer than limits.run_time = {}", time::human(limits.run_time.0)), None),
            TimeLimit::Tree => {
                let limit = time::human(limits.tree_time.0);
                (format!("its whole tree was at work for limits.tree_time = {limit}"), Some(Class::Tree))
            }
            TimeLimit::Silence => (format!("it was silent for limits.silence = {}", time::human(limits.silence.0)), None),
        };
        self.stop_at_limit(live, doing, Ending::Interrupted { why, class });
    }

    /// Stops the run because a limit has passed; `ending` is how the round ends by that.
    pub(super) fn stop_at_limit(&mut self, live: &mut Live<'_, '_>, doing: Doing, ending: Ending) {
        let (Ending::Interrupted { why, .. } | Ending::Refused { why, .. }) = &ending else { return };
        let request = Request { why: why.clone(), grace: live.config.limits.grace.0, report: false, now: false };
        self.stop_with(live, doing, request, ending);
    }

    /// Stops the run on request. A later request can only make it faster.
    pub(super) fn stop(&mut self, live: &mut Live<'_, '_>, doing: Doing, request: Request) {
        let ending = Ending::Interrupted { why: request.why.clone(), class: None };
        self.stop_with(live, doing, request, ending);
    }

    fn stop_with(&mut self, live: &mut Live<'_, '_>, doing: Doing, request: Request, ending: Ending) {
        match &self.phase {
            Phase::Working => {
                live.log.note(format!("stopping: {}", request.why));
                self.ending = Some(ending);
            }
            Phase::Stopping(ladder) if request.now && ladder.rung() == Rung::Boundary => {}
            Phase::Reporting(_) if request.now => {}
            Phase::Stopping(_) | Phase::Reporting(_) | Phase::Exiting(_) | Phase::Overdue(_) => return,
        }
        // The file makes our hooks end the turn behind the tool calls in flight.
        if let Err(e) = stop_request::ensure(&live.run.folder(live.mailbox), &request.why) {
            live.log.note(format!("the tool boundary cannot be asked for: {e}"));
        }
        let ladder = Ladder::begin(request, doing, Instant::now());
        let rung = ladder.rung();
        self.phase = Phase::Stopping(ladder);
        stand_on(live, rung);
    }

    /// The turn is over: closing the agent's input lets it exit.
    pub(super) fn let_it_exit(&mut self, live: &mut Live<'_, '_>) {
        live.agent.close_input();
        if !matches!(self.phase, Phase::Exiting(_) | Phase::Overdue(_)) {
            self.phase = Phase::Exiting(Instant::now() + EXIT_GRACE);
        }
    }

    /// When [`climb`](Self::climb) has something to do; `None` if nothing is due.
    pub(super) fn next_rung(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Working => None,
            Phase::Stopping(ladder) | Phase::Reporting(ladder) | Phase::Overdue(ladder) => ladder.deadline(),
            Phase::Exiting(until) => Some(*until),
        }
    }

    /// Goes to the next rung if it is due.
    pub(super) fn climb(&mut self, live: &mut Live<'_, '_>, doing: Doing, now: Instant) {
        let rung = match &mut self.phase {
            Phase::Working => None,
            Phase::Stopping(ladder) | Phase::Reporting(ladder) | Phase::Overdue(ladder) => ladder.climb(doing, now),
            Phase::Exiting(until) if now < *until => None,
            Phase::Exiting(_) => {
                let request = Request { why: "it did not exit".into(), grace: Duration::ZERO, report: false, now: true };
                self.phase = Phase::Overdue(Ladder::terminate(request, now));
                Some(Rung::Terminate)
            }
        };
        if let Some(rung) = rung {
            stand_on(live, rung);
        }
    }

    /// An interrupt that was sent before the turn began had no effect: sends it again.
    pub(super) fn interrupt_again(&self, live: &mut Live<'_, '_>) {
        if matches!(&self.phase, Phase::Stopping(ladder) if ladder.rung() == Rung::Interrupt) {
            live.agent.say(&claude::interrupt("askbox-stop-begun"));
        }
    }

    /// The turn is over: asks for a report if the stop wants one, else lets the agent exit. `cut`: the stop ended the turn. Returns what the agent
    /// wrote before it was asked for a report.
    pub(super) fn turn_ended(&mut self, live: &mut Live<'_, '_>, cut: bool) -> Option<Untrusted> {
        match &self.phase {
            Phase::Stopping(ladder) if cut && ladder.request.report && ladder.rung() <= Rung::Interrupt => {
                let request = Request { now: false, ..ladder.request.clone() };
                self.ask_for_report(live, request)
            }
            _ => {
                self.let_it_exit(live);
                None
            }
        }
    }

    /// Sends one more message to an agent that was stopped. Its report may take the grace; a tool call in it is refused.
    fn ask_for_report(&mut self, live: &mut Live<'_, '_>, request: Request) -> Option<Untrusted> {
        live.log.note("stopped; asking for a report");
        let before = match live.agent.interrupted("") {
            EventKind::Interrupted { text, .. } => Some(text),
            _ => None,
        };
        let uuid = Uuid::new_v5(&live.run.plan.message_id, format!("report {}", live.run.attempt).as_bytes());
        live.agent.say(&claude::user_message(&uuid.to_string(), templates::REPORT));
        self.phase = Phase::Reporting(Ladder::report(request, Instant::now()));
        before
    }
}

fn stand_on(live: &mut Live<'_, '_>, rung: Rung) {
    live.log.note(format!("ladder: {}", rung.word()));
    match rung {
        Rung::Boundary => {}
        Rung::Interrupt => live.agent.say(&claude::interrupt("askbox-stop")),
        Rung::Terminate => live.agent.signal(Signal::TERM),
        Rung::Kill => {
            let token = live.run.token();
            let _ = run_processes::end(|t| t == token, Duration::ZERO);
            live.agent.signal(Signal::KILL);
        }
    }
}
