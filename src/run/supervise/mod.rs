//! The supervisor: the process that owns one run, from its launch to its end.

pub mod attend;
pub mod ladder;
pub mod stop;
pub mod supervisor;
