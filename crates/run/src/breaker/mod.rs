//! The times when no run, or only one, may be launched.
//!
//! | file | idea |
//! |---|---|
//! | [`state_machine`] | the breaker: failures pause the queue, one run is tried, a delivery opens the queue again. It does no I/O |
//! | [`shared_file`] | the breaker as all watchers share it: `breaker.json` under `locks/breaker` |

pub mod shared_file;
pub mod state_machine;
