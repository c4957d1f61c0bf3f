//! How an attended run is brought to its end: the request, the rungs, the leave.

use std::time::{Duration, Instant};

use crate::agent::claude;
use crate::run::process::processes;
use crate::run::supervise::attend::{Attendance, EXIT_GRACE, Phase};
use crate::run::supervise::ladder::{Ladder, Request, Rung};
use crate::run::supervise::stop;

impl Attendance<'_, '_> {
    pub(crate) fn limit(&mut self, why: String) {
        self.stop(Request { why, grace: self.config.limits.grace.0, report: false, now: false });
    }

    /// Begins to climb. A second request can only make it faster.
    pub(crate) fn stop(&mut self, request: Request) {
        let now = Instant::now();
        match &self.phase {
            Phase::Working => {
                self.log.note(format!("stopping: {}", request.why));
                self.stopped = Some(request.why.clone());
            }
            Phase::Stopping(ladder) if request.now && ladder.rung() == Rung::Boundary => {}
            Phase::Reporting(_) if request.now => {}
            Phase::Stopping(_) | Phase::Reporting(_) | Phase::Leaving(_) | Phase::Pushed(_) => return,
        }
        // Our hooks end the turn behind the tool in flight.
        if let Err(e) = stop::mark(&self.run.folder(self.mailbox), &request.why) {
            self.log.note(format!("the tool boundary cannot be asked for: {e}"));
        }
        let ladder = Ladder::begin(request, self.doing(), now);
        let rung = ladder.rung();
        self.phase = Phase::Stopping(ladder);
        self.stand_on(rung);
    }

    /// The turn is over: closing its input lets the agent go.
    pub(crate) fn leave(&mut self) {
        self.agent.input = None;
        if !matches!(self.phase, Phase::Leaving(_) | Phase::Pushed(_)) {
            self.phase = Phase::Leaving(Instant::now() + EXIT_GRACE);
        }
    }

    pub(crate) fn next_rung(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Working => None,
            Phase::Stopping(ladder) | Phase::Reporting(ladder) | Phase::Pushed(ladder) => ladder.deadline(),
            Phase::Leaving(until) => Some(*until),
        }
    }

    pub(crate) fn climb(&mut self, now: Instant) {
        let doing = self.doing();
        let rung = match &mut self.phase {
            Phase::Working => None,
            Phase::Stopping(ladder) | Phase::Reporting(ladder) | Phase::Pushed(ladder) => ladder.climb(doing, now),
            Phase::Leaving(until) if now < *until => None,
            Phase::Leaving(_) => {
                let request = Request { why: "it did not go".into(), grace: Duration::ZERO, report: false, now: true };
                self.phase = Phase::Pushed(Ladder::terminate(request, now));
                Some(Rung::Terminate)
            }
        };
        if let Some(rung) = rung {
            self.stand_on(rung);
        }
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(process) = &self.agent.process {
            process.signal(signal);
        }
    }

    fn stand_on(&mut self, rung: Rung) {
        self.log.note(format!("ladder: {}", rung.word()));
        match rung {
            Rung::Boundary => {}
            Rung::Interrupt => self.say(claude::interrupt("askbox-stop")),
            Rung::Terminate => self.signal(rustix::process::Signal::TERM),
            Rung::Kill => {
                let token = self.run.token();
                let _ = processes::end(|t| t == token, Duration::ZERO);
                self.signal(rustix::process::Signal::KILL);
            }
        }
    }
}
