//! The interrupt ladder: it stops a run with as little loss as possible. Each rung is tried for some time before the next one. A pure
//! state machine: it says which rung is due, and its caller acts.
//!
//! | rung | what happens | what is lost | how long it is tried |
//! |---|---|---|---|
//! | boundary | the agent's hooks refuse new tool calls and end the turn after those in flight | nothing | while a tool call is in flight: the request's grace. While the agent writes or thinks: half a second, or five after a tool call |
//! | interrupt | an interrupt message on the agent's stdin; skipped while a tool call is in flight, because it would cut that too | the text being written | five seconds |
//! | terminate | SIGTERM to the agent, which ends its tools | the tool call in flight | [`TERM_GRACE`], five seconds |
//! | kill | all processes of the run are ended with SIGSTOP and SIGKILL | the tool call in flight | the last rung |
//!
//! An urgent request (`now`) skips the boundary. A report that was asked for gets the whole grace.
//!
//! A plain program has no tool boundary, and it takes no messages. So its ladder begins with SIGTERM to all of its processes. They have
//! the request's grace to end.

use std::time::{Duration, Instant};

use crate::process::run_processes::TERM_GRACE;

/// How long the agent may take to end its turn after an interrupt message. It usually takes less than a tenth of a second.
pub(super) const INTERRUPT_GRACE: Duration = Duration::from_secs(5);
/// How long an agent that speaks ACP may take to end its turn after it was cancelled.
const CANCEL_GRACE: Duration = Duration::from_secs(10);
/// How long the agent may go on writing before it is interrupted. A tool call that began just before the request is seen within this
/// time, and is then not cut.
const NO_CALL_BEGAN: Duration = Duration::from_millis(500);
/// [`NO_CALL_BEGAN`] after a tool call: there the hook ends the turn by itself, as quickly as the machine starts a shell.
const AFTER_A_TOOL: Duration = Duration::from_secs(5);

/// A request to stop a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopRequest {
    /// The person or the limit that stops the run.
    pub why: String,
    /// How long the tool call in flight may take to finish.
    pub grace: Duration,
    /// True if the agent is asked for a report before it ends.
    pub report: bool,
    /// True if the tool call in flight is cut instead of waited for: skips the boundary.
    pub now: bool,
}

/// The agent's activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// A tool call is in flight.
    ToolCall,
    /// It writes or thinks.
    Writing,
}

/// One rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// Wait for the tool call in flight.
    Boundary,
    /// The in-band interrupt.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// All processes of the run are killed.
    Kill,
}

impl Rung {
    /// The word for the rung in events.
    pub fn word(self) -> &'static str {
        match self {
            Self::Boundary => "boundary: the tool call in flight finishes, then the turn ends",
            Self::Interrupt => "in-band interrupt",
            Self::Terminate => "SIGTERM",
            Self::Kill => "the whole tree is killed",
        }
    }
}

/// A climb in progress.
#[derive(Debug, Clone)]
pub struct Ladder {
    /// The request.
    pub request: StopRequest,
    /// The current rung.
    pub rung: Rung,
    /// When to interrupt the agent, while it writes or thinks on the boundary.
    interrupt_at: Option<Instant>,
    /// True if text gets the whole grace too, because it is the report that was asked for.
    wants_text: bool,
    /// When the next rung is due at the latest; `None` on the last rung.
    until: Option<Instant>,
}

impl Ladder {
    /// Begins to climb. The first rung, [`Ladder::rung`], depends on the request and on the agent's activity.
    pub fn begin(request: StopRequest, doing: Doing, now: Instant) -> Self {
        let rung = match (doing, request.now) {
            (Doing::Writing, true) => Rung::Interrupt,
            (Doing::ToolCall, true) => Rung::Terminate,
            (_, false) => Rung::Boundary,
        };
        let mut ladder = Self::on(rung, request, now);
        ladder.interrupt_at = Some(now + NO_CALL_BEGAN).filter(|_| doing == Doing::Writing);
        ladder
    }

    /// A ladder that begins with the wait for a report.
    pub fn report(request: StopRequest, now: Instant) -> Self {
        Self { wants_text: true, ..Self::on(Rung::Boundary, request, now) }
    }

    /// A ladder for a plain program. It has no boundary and takes no message, so the grace is for its reaction to SIGTERM.
    pub fn of_program(request: StopRequest, now: Instant) -> Self {
        let grace = if request.now { TERM_GRACE } else { request.grace };
        Self { until: Some(now + grace), ..Self::on(Rung::Terminate, request, now) }
    }

    /// A ladder for an agent that speaks ACP. It has no boundary, and its interrupt ends a tool call with its processes, which SIGTERM does
    /// not. So the ladder begins with the interrupt.
    pub fn of_acp(request: StopRequest, now: Instant) -> Self {
        Self { until: Some(now + CANCEL_GRACE), ..Self::on(Rung::Interrupt, request, now) }
    }

    /// A ladder that begins with this rung.
    pub fn on(rung: Rung, request: StopRequest, now: Instant) -> Self {
        let mut ladder = Self { request, rung, interrupt_at: None, wants_text: false, until: None };
        ladder.wait(now);
        ladder
    }

    /// When the next rung is due; `None` on the last one.
    pub fn deadline(&self) -> Option<Instant> {
        let interrupt_at = self.interrupt_at.filter(|_| self.rung == Rung::Boundary);
        self.until.map(|until| interrupt_at.map_or(until, |at| at.min(until)))
    }

    /// Goes to the next rung if it is due, and returns it. Call it at the deadline and whenever the agent's activity may have changed.
    pub fn climb(&mut self, doing: Doing, now: Instant) -> Option<Rung> {
        self.interrupt_at = match doing {
            Doing::Writing if !self.wants_text => self.interrupt_at.or(Some(now + AFTER_A_TOOL)),
            _ => None,
        };
        if self.deadline().is_none_or(|at| now < at) {
            return None;
        }
        self.rung = match (self.rung, doing) {
            // An interrupt would cut a tool call as SIGTERM does, but not end its processes.
            (Rung::Boundary, Doing::Writing) => Rung::Interrupt,
            (Rung::Boundary | Rung::Interrupt, _) => Rung::Terminate,
            (Rung::Terminate | Rung::Kill, _) => Rung::Kill,
        };
        self.wait(now);
        Some(self.rung)
    }

    fn wait(&mut self, now: Instant) {
        self.until = match self.rung {
            Rung::Boundary => Some(now + self.request.grace),
            Rung::Interrupt => Some(now + INTERRUPT_GRACE),
            Rung::Terminate => Some(now + TERM_GRACE),
            Rung::Kill => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(now: bool) -> StopRequest {
        StopRequest { why: "test".into(), grace: Duration::from_secs(30), report: false, now }
    }

    #[test]
    fn a_tool_in_flight_gets_its_grace_before_the_interrupt() {
        let start = Instant::now();
        let mut ladder = Ladder::begin(request(false), Doing::ToolCall, start);
        assert_eq!(ladder.rung, Rung::Boundary);
        assert_eq!(ladder.climb(Doing::ToolCall, start + Duration::from_secs(29)), None);
        assert_eq!(ladder.climb(Doing::ToolCall, start + Duration::from_secs(30)), Some(Rung::Terminate));
        assert_eq!(ladder.climb(Doing::ToolCall, start + Duration::from_secs(36)), Some(Rung::Kill));
        assert_eq!(ladder.deadline(), None);
    }

    #[test]
    fn words_are_interrupted_once_no_tool_call_can_have_begun() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut ladder = Ladder::begin(request(false), Doing::Writing, start);
        assert_eq!((ladder.rung, ladder.deadline()), (Rung::Boundary, Some(at(500))));
        assert_eq!(ladder.clone().climb(Doing::Writing, at(500)), Some(Rung::Interrupt));
        // A call that began just before the request gets the grace, and after it the hook gets its time.
        assert_eq!(ladder.climb(Doing::ToolCall, at(200)), None);
        assert_eq!(ladder.climb(Doing::ToolCall, at(600)), None);
        assert_eq!(ladder.climb(Doing::Writing, at(9_000)), None);
        assert_eq!(ladder.climb(Doing::Writing, at(14_000)), Some(Rung::Interrupt));
        assert_eq!(ladder.climb(Doing::Writing, at(19_000)), Some(Rung::Terminate));
    }

    #[test]
    fn a_report_gets_the_whole_grace_and_is_then_interrupted() {
        let start = Instant::now();
        let mut ladder = Ladder::report(request(false), start);
        assert_eq!(ladder.climb(Doing::Writing, start + Duration::from_secs(29)), None);
        assert_eq!(ladder.climb(Doing::Writing, start + Duration::from_secs(30)), Some(Rung::Interrupt));
    }

    #[test]
    fn a_program_gets_its_grace_after_sigterm() {
        let start = Instant::now();
        let mut ladder = Ladder::of_program(request(false), start);
        assert_eq!((ladder.rung, ladder.deadline()), (Rung::Terminate, Some(start + Duration::from_secs(30))));
        assert_eq!(ladder.climb(Doing::Writing, start + Duration::from_secs(29)), None);
        assert_eq!(ladder.climb(Doing::Writing, start + Duration::from_secs(30)), Some(Rung::Kill));
        assert_eq!(Ladder::of_program(request(true), start).deadline(), Some(start + TERM_GRACE));
    }

    #[test]
    fn an_urgent_request_does_not_wait_for_a_tool() {
        assert_eq!(Ladder::begin(request(true), Doing::ToolCall, Instant::now()).rung, Rung::Terminate);
        assert_eq!(Ladder::begin(request(true), Doing::Writing, Instant::now()).rung, Rung::Interrupt);
    }
}
