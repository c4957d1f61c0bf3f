//! The spans of rounds, for a collector of OpenTelemetry: asked → answered → launched → ended. Without `[traces]` nothing here runs.
//!
//! This process sends them, by `curl`; the watcher tells it where to look. The spans of a round are made from its files when it has ended, and their ids follow from
//! the round, so a span that is sent twice has the same id. No round ever waits for it. It drops what a collector does not take in
//! time, and counts it.
//!
//! | file | idea |
//! |---|---|
//! | [`exporter`] | which rounds have ended, and the requests |
//! | `spans` | the spans of one round |
//!
//! # Limitations
//! A round that ended while no watcher ran is missed, and so is a round without a launch that ended before anybody had looked at it.

pub mod exporter;
mod spans;
