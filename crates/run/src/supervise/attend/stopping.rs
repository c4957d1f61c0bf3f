//! How a live agent is stopped: the request, the rungs of the interrupt ladder, the tool calls in flight, the agent's exit.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use uuid::Uuid;

use crate::attempt::ending::Ending;
use crate::attempt::failure::Class;
use crate::process::run_processes;
use crate::prompt::templates;
use crate::supervise::attend::limits::TimeLimit;
use crate::supervise::attend::live_run::LiveRun;
use crate::supervise::ladder::{Doing, Ladder, Rung, StopRequest};
use crate::supervise::stop;
use askbox_agent::claude;
use askbox_agent::events::EventKind;
use askbox_config::RunnerKind;
use askbox_mailbox::untrusted::Untrusted;
use askbox_mailbox::{QuestionId, time};

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
    /// The meaning of the stop for the round, once the run is to stop.
    pub(super) ending: Option<Ending>,
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

    /// Looks for `stop.json`.
    pub(super) fn check_stop_request(&mut self, live: &mut LiveRun<'_, '_>, doing: Doing) {
        match stop::read_request(&live.run.folder(live.mailbox)) {
            Ok(Some(stop)) => self.stop(live, doing, stop.request(live.config.limits.grace.0)),
            Ok(None) => {}
            Err(e) => live.log.note(format!("a request to stop cannot be read: {e}")),
        }
    }

    /// Stops the run because a limit on time has passed, `before_session` if the agent's session had not begun.
    pub(super) fn stop_at_time_limit(&mut self, live: &mut LiveRun<'_, '_>, doing: Doing, limit: TimeLimit, before_session: bool) {
        let limits = &live.config.limits;
        let (why, class) = match limit {
            TimeLimit::Run => (format!("it ran longer than limits.run_time = {}", time::human(limits.run_time.0)), None),
            TimeLimit::Tree => {
                let limit = time::human(limits.tree_time.0);
                (format!("its whole tree was at work for limits.tree_time = {limit}"), Some(Class::Tree))
            }
            TimeLimit::Silence => (format!("it was silent for limits.silence = {}", time::human(limits.silence.0)), None),
        };
        let why = match live.agent.unanswered() {
            Some(method) if before_session => format!("the agent did not answer `{method}`; {why}"),
            None if before_session => format!("the agent's session did not begin; {why}"),
            _ => why,
        };
        self.stop_at_limit(live, doing, Ending::Interrupted { why, class });
    }

    /// Stops the run because a limit has passed. `ending` is the ending of the round that follows from that.
    pub(super) fn stop_at_limit(&mut self, live: &mut LiveRun<'_, '_>, doing: Doing, ending: Ending) {
        let (Ending::Interrupted { why, .. } | Ending::Refused { why, .. }) = &ending else { return };
        let request = StopRequest { why: why.clone(), grace: live.config.limits.grace.0, report: false, now: false };
        self.stop_with(live, doing, request, ending, true);
    }

    /// Stops the run on request. A later request can only make it faster.
    pub(super) fn stop(&mut self, live: &mut LiveRun<'_, '_>, doing: Doing, request: StopRequest) {
        let ending = Ending::Interrupted { why: request.why.clone(), class: None };
        self.stop_with(live, doing, request, ending, false);
    }

    fn stop_with(&mut self, live: &mut LiveRun<'_, '_>, doing: Doing, request: StopRequest, ending: Ending, by_limit: bool) {
        let is_program = live.agent.kind == RunnerKind::Program;
        match &self.phase {
            Phase::Working => {
                live.log.note(format!("stopping: {}", request.why));
                self.ending = Some(ending);
            }
            Phase::Stopping(ladder) if request.now && ladder.rung == Rung::Boundary => {}
            // A program has the grace at SIGTERM, and an urgent request cuts it short.
            Phase::Stopping(ladder) if request.now && !ladder.request.now && is_program && ladder.rung == Rung::Terminate => {}
            Phase::Reporting(_) if request.now => {}
            Phase::Stopping(_) | Phase::Reporting(_) | Phase::Exiting(_) | Phase::Overdue(_) => return,
        }
        // The file makes our hooks end the turn after the tool calls in flight.
        if let Err(e) = stop::ensure_request(&live.run.folder(live.mailbox), &request.why, by_limit) {
            live.log.note(format!("the tool boundary cannot be asked for: {e}"));
        }
        let now = Instant::now();
        let ladder = match live.agent.kind {
            RunnerKind::Claude => Ladder::begin(request, doing, now),
            RunnerKind::Program => Ladder::of_program(request, now),
            RunnerKind::Acp => Ladder::of_acp(request, now),
        };
        self.begin(live, ladder);
    }

    /// Forces the end of a turn that was to end for a question: the agent does not end it. The question stays, and its answer is for the
    /// session. No request to stop is written, because the run is not stopped: it asks.
    pub(super) fn end_turn_for(&mut self, live: &mut LiveRun<'_, '_>, question: QuestionId) {
        let request =
            StopRequest { why: "it does not end its turn for its question".into(), grace: Duration::ZERO, report: false, now: true };
        live.log.note(format!("stopping: {}", request.why));
        self.ending = Some(Ending::Asking { question, cost_usd: None });
        self.begin(live, Ladder::on(Rung::Interrupt, request, Instant::now()));
    }

    fn begin(&mut self, live: &mut LiveRun<'_, '_>, ladder: Ladder) {
        let rung = ladder.rung;
        self.phase = Phase::Stopping(ladder);
        stand_on(live, rung);
    }

    /// Lets the agent exit after its turn, by closing its input.
    pub(super) fn let_it_exit(&mut self, live: &mut LiveRun<'_, '_>) {
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
    pub(super) fn climb(&mut self, live: &mut LiveRun<'_, '_>, doing: Doing, now: Instant) {
        let rung = match &mut self.phase {
            Phase::Working => None,
            Phase::Stopping(ladder) | Phase::Reporting(ladder) | Phase::Overdue(ladder) => ladder.climb(doing, now),
            Phase::Exiting(until) if now < *until => None,
            Phase::Exiting(_) => {
                let request = StopRequest { why: "it did not exit".into(), grace: Duration::ZERO, report: false, now: true };
                self.phase = Phase::Overdue(Ladder::on(Rung::Terminate, request, now));
                Some(Rung::Terminate)
            }
        };
        if let Some(rung) = rung {
            stand_on(live, rung);
        }
    }

    /// Sends the interrupt again, because it had no effect if it was sent before the turn began.
    pub(super) fn interrupt_again(&self, live: &mut LiveRun<'_, '_>) {
        if matches!(&self.phase, Phase::Stopping(ladder) if ladder.rung == Rung::Interrupt) {
            live.agent.say(&claude::interrupt("askbox-stop-begun"));
        }
    }

    /// Handles the end of a turn: asks for a report if the stop wants one, else lets the agent exit. `cut` is true if the stop ended
    /// the turn. Returns the text that the agent wrote before it was asked for a report.
    pub(super) fn turn_ended(&mut self, live: &mut LiveRun<'_, '_>, cut: bool) -> Option<Untrusted> {
        let can_report = live.agent.kind == RunnerKind::Claude;
        match &self.phase {
            Phase::Stopping(ladder) if cut && can_report && ladder.request.report && ladder.rung <= Rung::Interrupt => {
                let request = StopRequest { now: false, ..ladder.request.clone() };
                self.ask_for_report(live, request)
            }
            _ => {
                self.let_it_exit(live);
                None
            }
        }
    }

    /// Sends one more message to an agent that was stopped. The agent has the grace for its report; a tool call in it is refused.
    fn ask_for_report(&mut self, live: &mut LiveRun<'_, '_>, request: StopRequest) -> Option<Untrusted> {
        live.log.note("stopped; asking for a report");
        let before = match live.agent.interrupted("") {
            EventKind::Interrupted { text, .. } => Some(text),
            _ => None,
        };
        let uuid = Uuid::new_v5(&live.run.message_id, format!("report {}", live.run.attempt).as_bytes());
        live.agent.say(&claude::user_message(&uuid.to_string(), templates::REPORT));
        self.phase = Phase::Reporting(Ladder::report(request, Instant::now()));
        before
    }
}

fn stand_on(live: &mut LiveRun<'_, '_>, rung: Rung) {
    live.log.note(format!("ladder: {}", rung.word()));
    live.was_signalled |= matches!(rung, Rung::Terminate | Rung::Kill);
    match rung {
        Rung::Boundary => {}
        Rung::Interrupt => {
            live.agent.say(&claude::interrupt("askbox-stop"));
        }
        Rung::Terminate if live.agent.kind != RunnerKind::Claude => {
            // A shell that waits for its command would react only once that has ended, and many an agent leaves its tools behind.
            let token = live.run.token();
            run_processes::signal(|t| t == token, Signal::TERM);
        }
        Rung::Terminate => live.agent.signal(Signal::TERM),
        Rung::Kill => {
            let token = live.run.token();
            let _ = run_processes::end(|t| t == token, Duration::ZERO);
            live.agent.signal(Signal::KILL);
        }
    }
}

/// The most calls that are remembered. This limits the memory if an agent never reports the end of its calls. The oldest is forgotten
/// first.
const REMEMBERED: usize = 256;

/// The tool calls in flight, by id.
#[derive(Debug, Default)]
pub(super) struct OpenCalls(VecDeque<Untrusted>);

impl OpenCalls {
    pub(super) fn begin(&mut self, id: &Untrusted) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(id.clone());
    }

    pub(super) fn end(&mut self, id: &Untrusted) {
        self.0.retain(|open| open != id);
    }

    pub(super) fn end_all(&mut self) {
        self.0.clear();
    }

    /// Says if the agent writes or waits for a tool call.
    pub(super) fn doing(&self) -> Doing {
        if self.0.is_empty() { Doing::Writing } else { Doing::ToolCall }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_without_an_end_take_bounded_memory() {
        let mut calls = OpenCalls::default();
        let id = |n: usize| Untrusted::from(format!("t{n}"));
        (0..10_000).for_each(|n| calls.begin(&id(n)));
        assert_eq!(calls.0.len(), REMEMBERED);
        (10_000 - REMEMBERED..10_000).for_each(|n| calls.end(&id(n)));
        assert_eq!(calls.doing(), Doing::Writing);
    }
}
