//! The supervisor: the process that owns one run, from its launch to its end.

pub(crate) mod agent;
pub(crate) mod attend;
pub(crate) mod event_log;
pub mod ladder;
pub mod ownership;
pub mod run_message;
pub(crate) mod start;
pub mod stop;
pub mod supervisor;
