//! The commands of `relaunch`, one file a command or group of commands. A file here reads the environment and standard input, calls
//! the library, and prints.
//!
//! | file | commands |
//! |---|---|
//! | [`watch`] | `relaunch watch` |
//! | [`run_now`] | `relaunch ID`, `run`, `retry` |
//! | [`stop_run`] | `stop`, `stop --tree` |
//! | `events` | `logs`, `events`, and how other commands print events |
//! | [`status`] | `status`, `status -f`, `status --summary` |
//! | [`spawn_resume`] | `spawn`, `resume` |
//! | [`wait`] | `wait` |
//! | [`take_prompt`] | `prompt`, `done` |
//! | [`hold_queue`] | `pause`, `go` |
//! | [`approve`] | `approve` |
//! | [`supervise`] | the hidden `supervise` |
//! | `in_foreground` | shared by `relaunch ID`, `run`, `retry`, `spawn`, `resume`, `wait`: a run of this process |

pub mod approve;
mod events;
pub mod hold_queue;
mod in_foreground;
pub mod run_now;
pub mod spawn_resume;
pub mod status;
pub mod stop_run;
pub mod supervise;
pub mod take_prompt;
pub mod wait;
pub mod watch;

pub use events::{event_words, logs};
pub use in_foreground::{foreground, refusals, stop_signals, to_the_end};
