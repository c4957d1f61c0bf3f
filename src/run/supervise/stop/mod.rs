//! How a live run is asked to stop, from another process.
//!
//! | file | idea |
//! |---|---|
//! | `stop_request` | the request itself, `stop.json` |
//! | `wake_up` | the FIFO that wakes the supervisor, so that it reads the request |
//! | `hooks` | the agent's own hooks, which see the request and end the turn at a tool boundary |

pub mod hooks;
pub mod stop_request;
pub mod wake_up;
