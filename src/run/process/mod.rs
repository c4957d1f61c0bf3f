//! The agent as a process: how it is launched, spoken with and ended.

pub mod detach;
pub mod launch;
pub mod lookout;
pub mod pipes;
pub mod processes;
pub mod prompt;
pub mod role;
