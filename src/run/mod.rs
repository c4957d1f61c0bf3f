//! One run, from claim to final state.
//!
//! ```text
//! claim       answered/ID.json → running/ID.QID.json, then runs/ID/QID/1/run.json with the session id chosen
//! supervisor  holds runs/ID/QID/lock, launches the agent, turns its stream into events.jsonl
//! ending      delivered → closed/    failed → a later attempt    used up → parked/
//! recovery    a claimed round whose lock is free: its old processes are made sure to be gone, then the next attempt
//! ```

mod attend;
pub mod budget;
pub mod claim;
pub mod costs;
pub mod detach;
pub mod ending;
pub use crate::agent::events;
pub mod failure;
pub mod history;
pub mod inline;
pub mod ladder;
pub mod launch;
pub mod live;
pub mod lookout;
mod pipes;
pub mod plan;
pub mod processes;
pub mod prompt;
pub mod record;
pub mod recovery;
mod role;
pub mod status;
pub mod stop;
pub mod stream;
pub mod supervisor;
pub mod tail;
pub mod task;
pub mod used;
