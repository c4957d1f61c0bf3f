//! The spans of rounds, for a collector of OpenTelemetry: asked → answered → launched → ended. Without `[traces]` nothing here runs.
//!
//! One thread of the watcher sends them, by `curl`. The spans of a round are made from its files when it has ended, and their ids follow from
//! the round, so a span that is sent twice has the same id. No round ever waits for this thread. It drops what a collector does not take in
//! time, and counts it.
//!
//! | file | idea |
//! |---|---|
//! | `exporter` | the thread: which rounds have ended, and the requests |
//! | `queue` | the rounds that wait to be sent, and when the next request is due |
//! | `spans` | the spans of one round |
//! | `otlp` | spans as OTLP in JSON |
//! | [`tally`] | how many rounds were sent and lost, on disk |
//!
//! # Limitations
//! The thread misses a round that ended while no watcher ran. It also misses a round without a launch that ended before the thread had
//! looked at it.

#[cfg(feature = "traces")]
pub(crate) mod exporter;
#[cfg(not(feature = "traces"))]
#[path = "without_exporter.rs"]
pub(crate) mod exporter;
#[cfg(feature = "traces")]
mod otlp;
#[cfg(feature = "traces")]
mod queue;
#[cfg(feature = "traces")]
mod spans;
pub mod tally;
