//! How a live agent is stopped: the request, the rungs of the interrupt ladder, the agent's exit.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::agent::claude;
use crate::run::attempt::ending::Ending;
use crate::run::attempt::failure::Class;
use crate::run::process::run_processes;
use crate::run::supervise::attend::attendance::{Attendance, Phase};
use crate::run::supervise::attend::deadlines::TimeLimit;
use crate::run::supervise::ladder::{Doing, Ladder, Request, Rung};
use crate::run::supervise::stop::stop_request;
use crate::time;

/// How long an agent may take to exit after its last result, once its input is closed.
const EXIT_GRACE: Duration = Duration::from_secs(10);

impl Attendance<'_, '_> {
    /// Looks for `stop.json`.
    pub(super) fn check_stop_request(&mut self) {
        match stop_request::read(&self.run.folder(self.mailbox)) {
            Ok(Some(stop)) => self.stop(stop.request(self.config.limits.grace.0)),
            Ok(None) => {}
            Err(e) => self.log.note(format!("a request to stop cannot be read: {e}")),
        }
    }

    /// A limit on time has passed: the run stops. If it waits for a person, about a call or for an MCP server, it ends for that question instead, and goes on
    /// once they have decided.
    pub(super) fn time_is_over(&mut self, limit: TimeLimit, now: Instant) {
        if self.requests.ends_for.is_some() || !self.ends_for_held_request() {
            return self.stop_at_time_limit(limit);
        }
        // The agent program ends the turn at once. If it does not, the run stops then.
        self.deadlines.put_off(now + EXIT_GRACE);
    }

    fn stop_at_time_limit(&mut self, limit: TimeLimit) {
        let limits = &self.config.limits;
        let (why, class) = match limit {
            TimeLimit::Run => (format!("it ran longer than limits.run_time = {}", time::human(limits.run_time.0)), None),
            TimeLimit::Tree => {
                let limit = time::human(limits.tree_time.0);
                (format!("its whole tree was at work for limits.tree_time = {limit}"), Some(Class::Tree))
            }
            TimeLimit::Silence => (format!("it was silent for limits.silence = {}", time::human(limits.silence.0)), None),
        };
        self.stop_at_limit(Ending::Interrupted { why, class });
    }

    /// Stops the run because a limit has passed; `ending` is how the round ends by that.
    pub(super) fn stop_at_limit(&mut self, ending: Ending) {
        let (Ending::Interrupted { why, .. } | Ending::Refused { why, .. }) = &ending else { return };
        let request = Request { why: why.clone(), grace: self.config.limits.grace.0, report: false, now: false };
        self.stop_with(request, ending);
    }

    /// Stops the run on request. A later request can only make it faster.
    pub(super) fn stop(&mut self, request: Request) {
        let ending = Ending::Interrupted { why: request.why.clone(), class: None };
        self.stop_with(request, ending);
    }

    fn stop_with(&mut self, request: Request, ending: Ending) {
        match &self.phase {
            Phase::Working => {
                self.log.note(format!("stopping: {}", request.why));
                self.stop_ending = Some(ending);
            }
            Phase::Stopping(ladder) if request.now && ladder.rung() == Rung::Boundary => {}
            Phase::Reporting(_) if request.now => {}
            Phase::Stopping(_) | Phase::Reporting(_) | Phase::Exiting(_) | Phase::Overdue(_) => return,
        }
        // The file makes our hooks end the turn behind the tool calls in flight.
        if let Err(e) = stop_request::ensure(&self.run.folder(self.mailbox), &request.why) {
            self.log.note(format!("the tool boundary cannot be asked for: {e}"));
        }
        let ladder = Ladder::begin(request, self.doing(), Instant::now());
        let rung = ladder.rung();
        self.phase = Phase::Stopping(ladder);
        self.stand_on(rung);
    }

    /// The turn is over: closing the agent's input lets it exit.
    pub(super) fn let_it_exit(&mut self) {
        self.agent.close_input();
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
    pub(super) fn climb(&mut self, now: Instant) {
        let doing = self.doing();
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
            self.stand_on(rung);
        }
    }

    fn stand_on(&mut self, rung: Rung) {
        self.log.note(format!("ladder: {}", rung.word()));
        match rung {
            Rung::Boundary => {}
            Rung::Interrupt => self.agent.say(&claude::interrupt("askbox-stop")),
            Rung::Terminate => self.agent.signal(Signal::TERM),
            Rung::Kill => {
                let token = self.run.token();
                let _ = run_processes::end(|t| t == token, Duration::ZERO);
                self.agent.signal(Signal::KILL);
            }
        }
    }

    fn doing(&self) -> Doing {
        if self.tools.is_empty() { Doing::Writing } else { Doing::ToolCall }
    }
}
