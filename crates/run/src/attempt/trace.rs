//! The ids of the spans of a round, and the trace that a run is given. Both follow from the round alone, so that every process names the
//! same spans.
//!
//! ```text
//! span of the asker            `trace` of the question
//!   span of the round          asked → ended
//!     span of the wait         asked → answered
//!     span of an attempt       launched → ended           TRACEPARENT of the run
//! ```

use crate::attempt::record::Run;
use askbox_config::Config;
use askbox_mailbox::documents::fields::trace::{SpanId, TraceId, TraceParent};
use askbox_mailbox::{AttemptId, Question, RoundId, Trace};

/// Returns the trace of a round. It is the asker's trace, or a trace of its own.
pub fn id(question: &Question, round: &RoundId) -> TraceId {
    question.trace.as_ref().map_or_else(|| TraceId::derived(&format!("trace of {round}")), |trace| trace.traceparent.trace())
}

/// Returns the span of an attempt to deliver a round.
pub fn span_of_attempt(attempt: &AttemptId) -> SpanId {
    SpanId::derived(&format!("attempt {attempt}"))
}

/// True if the spans of this round are sent. A round that belongs to a trace which is not recorded has none.
pub fn is_sent(config: &Config, question: &Question) -> bool {
    config.traces.are_sent() && question.trace.as_ref().is_none_or(|trace| trace.traceparent.is_sampled())
}

/// Returns the trace that a run is given. If the spans of the round are sent, whatever the run does lies below the span of its attempt.
/// Otherwise the asker's trace is passed on as it is.
pub fn of_run(config: &Config, question: &Question, run: &Run) -> Option<Trace> {
    if !is_sent(config, question) {
        return question.trace.clone();
    }
    let span = span_of_attempt(&run.id());
    Some(match &question.trace {
        Some(trace) => trace.below(span),
        None => Trace { traceparent: TraceParent::first(id(question, &run.round()), span), tracestate: None },
    })
}
