//! The interrupt ladder: how a run is stopped without losing work. One rung after the other, never SIGKILL first.
//!
//! | rung | what happens | what it costs |
//! |---|---|---|
//! | boundary | the tool calls in flight finish, new ones are refused, the turn ends right behind them | nothing |
//! | interrupt | the in-band interrupt, only while the agent writes or thinks | the rest of a sentence |
//! | terminate | SIGTERM: the agent takes its running tools along | the tool call in flight |
//! | kill | the whole tree is frozen, every descendant killed, then the agent | the same; nothing lives on |

use std::time::{Duration, Instant};

use crate::run::process::processes::TERM_GRACE;

/// How long the in-band interrupt may take: it is answered within a tenth of a second.
const INTERRUPT_GRACE: Duration = Duration::from_secs(5);
/// How long words go on before they are interrupted: a tool call that slipped past our hook as the request came shows up within
/// that time, and is not cut.
const SETTLE: Duration = Duration::from_millis(500);
/// The same behind a tool call: there our hook ends the turn by itself, as quickly as the machine starts a shell.
const BEHIND_A_TOOL: Duration = Duration::from_secs(5);

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Who or what stops the run.
    pub why: String,
    /// How long the tool call in flight may take to finish.
    pub grace: Duration,
    /// Ask the agent what it has before it goes.
    pub report: bool,
    /// Skip the boundary: no patience with the tool call in flight.
    pub now: bool,
}

/// What the agent is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// A tool call is in flight: an interrupt would cut it.
    Tool,
    /// It writes or thinks.
    Words,
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
    /// Freeze and kill everything.
    Kill,
}

impl Rung {
    /// The word for it in events.
    #[must_use]
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
    /// What was asked for.
    pub request: Request,
    rung: Rung,
    /// On the first rung, while the agent only writes or thinks: when that has lasted long enough.
    settled: Option<Instant>,
    /// Words get the whole grace as well: they are what was asked for.
    wants_words: bool,
    /// When patience with this rung ends.
    until: Option<Instant>,
}

impl Ladder {
    /// Begins to climb; the first rung depends on what the agent is doing. Take [`Ladder::rung`] first.
    #[must_use]
    pub fn begin(request: Request, doing: Doing, now: Instant) -> Self {
        let rung = match (doing, request.now) {
            (Doing::Words, true) => Rung::Interrupt,
            (Doing::Tool, true) => Rung::Terminate,
            (_, false) => Rung::Boundary,
        };
        let mut ladder = Self::on(rung, request, now);
        ladder.settled = Some(now + SETTLE).filter(|_| doing == Doing::Words);
        ladder
    }

    /// A ladder that begins with the wait for a report.
    #[must_use]
    pub fn report(request: Request, now: Instant) -> Self {
        Self { wants_words: true, ..Self::on(Rung::Boundary, request, now) }
    }

    /// A ladder that begins with SIGTERM: for an agent that does not go after its last word.
    #[must_use]
    pub fn terminate(request: Request, now: Instant) -> Self {
        Self::on(Rung::Terminate, request, now)
    }

    fn on(rung: Rung, request: Request, now: Instant) -> Self {
        let mut ladder = Self { request, rung, settled: None, wants_words: false, until: None };
        ladder.wait(now);
        ladder
    }

    /// The rung it stands on.
    #[must_use]
    pub fn rung(&self) -> Rung {
        self.rung
    }

    /// When the next rung is due; `None` on the last one.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let settled = self.settled.filter(|_| self.rung == Rung::Boundary);
        self.until.map(|until| settled.map_or(until, |settled| settled.min(until)))
    }

    /// Climbs if it is time to. Returns the new rung. To be called whenever what the agent does may have changed.
    pub fn climb(&mut self, doing: Doing, now: Instant) -> Option<Rung> {
        self.settled = match doing {
            Doing::Words if !self.wants_words => self.settled.or(Some(now + BEHIND_A_TOOL)),
            _ => None,
        };
        if self.deadline().is_none_or(|at| now < at) {
            return None;
        }
        self.rung = match (self.rung, doing) {
            // An interrupt would cut a tool just as well, and without its exit.
            (Rung::Boundary, Doing::Words) => Rung::Interrupt,
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

    fn request(now: bool) -> Request {
        Request { why: "test".into(), grace: Duration::from_secs(30), report: false, now }
    }

    #[test]
    fn a_tool_in_flight_gets_its_grace_and_is_never_cut_by_the_interrupt() {
        let start = Instant::now();
        let mut ladder = Ladder::begin(request(false), Doing::Tool, start);
        assert_eq!(ladder.rung(), Rung::Boundary);
        assert_eq!(ladder.climb(Doing::Tool, start + Duration::from_secs(29)), None);
        assert_eq!(ladder.climb(Doing::Tool, start + Duration::from_secs(30)), Some(Rung::Terminate));
        assert_eq!(ladder.climb(Doing::Tool, start + Duration::from_secs(36)), Some(Rung::Kill));
        assert_eq!(ladder.deadline(), None);
    }

    #[test]
    fn words_are_interrupted_once_it_is_sure_that_no_tool_call_has_just_begun() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut ladder = Ladder::begin(request(false), Doing::Words, start);
        assert_eq!((ladder.rung(), ladder.deadline()), (Rung::Boundary, Some(at(500))));
        assert_eq!(ladder.clone().climb(Doing::Words, at(500)), Some(Rung::Interrupt));
        // A call that slipped past the hook gets its grace, and is given time again when it ends.
        assert_eq!(ladder.climb(Doing::Tool, at(200)), None);
        assert_eq!(ladder.climb(Doing::Tool, at(600)), None);
        assert_eq!(ladder.climb(Doing::Words, at(9_000)), None);
        assert_eq!(ladder.climb(Doing::Words, at(14_000)), Some(Rung::Interrupt));
        assert_eq!(ladder.climb(Doing::Words, at(19_000)), Some(Rung::Terminate));
    }

    #[test]
    fn a_report_is_waited_for_and_then_interrupted() {
        let start = Instant::now();
        let mut ladder = Ladder::report(request(false), start);
        assert_eq!(ladder.climb(Doing::Words, start + Duration::from_secs(29)), None);
        assert_eq!(ladder.climb(Doing::Words, start + Duration::from_secs(30)), Some(Rung::Interrupt));
    }

    #[test]
    fn now_means_no_patience_with_a_tool() {
        assert_eq!(Ladder::begin(request(true), Doing::Tool, Instant::now()).rung(), Rung::Terminate);
        assert_eq!(Ladder::begin(request(true), Doing::Words, Instant::now()).rung(), Rung::Interrupt);
    }
}
