//! One run, from claim to final state.
//!
//! ```text
//! claim       answered/ID.json → running/ID.QID.json, then runs/ID/QID/1/run.json with the session id chosen
//! supervisor  holds runs/ID/QID/lock, launches the agent, turns its stream into events.jsonl
//! ending      delivered → closed/    failed → a later attempt    used up → parked/
//! recovery    a claimed round whose lock is free: its old processes are made sure to be gone, then the next attempt
//! ```

pub mod attempt;
pub mod claim;
pub mod delegated;
pub mod money;
pub mod on_demand;
pub mod process;
pub mod recovery;
pub mod supervise;
pub mod task;
pub mod view;
