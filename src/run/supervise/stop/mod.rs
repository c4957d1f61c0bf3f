//! How a live run is asked to stop, from another process.
//!
//! | file | idea |
//! |---|---|
//! | `stop_request` | the request itself, `stop.json` |
//! | `wake_up` | the FIFO that wakes the supervisor, so that it reads the request |
//! | `wait_for_end` | waiting until the run has ended, for a bounded time |
//! | `hooks` | the agent's own hooks, which see the request and end the turn at a tool boundary |

pub mod hooks;
pub mod stop_request;
pub mod wait_for_end;
pub mod wake_up;
