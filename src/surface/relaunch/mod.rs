//! The commands of `relaunch`, one file a command or group of commands. A file here reads the environment and standard input, calls
//! the library, and prints.
//!
//! | file | commands |
//! |---|---|
//! | [`watch`] | `relaunch watch` |
//! | [`run_now`] | `relaunch ID`, `run`, `retry` |
//! | [`stop_run`] | `stop`, `stop --tree` |
//! | [`logs`] | `logs`, `events` |
//! | [`status`] | `status`, `status -f`, `status --summary` |
//! | [`spawn_resume`] | `spawn`, `resume` |
//! | [`wait`] | `wait` |
//! | [`take_prompt`] | `prompt`, `done` |
//! | [`hold_queue`] | `pause`, `go` |
//! | [`approve`] | `approve` |
//! | [`supervise`] | the hidden `supervise` |
//!
//! Shared by several commands: [`foreground`] (a run in the foreground), [`to_the_end`] (what it does after its first attempt),
//! [`stop_signals`], [`event_words`], `printed_events` and [`refusals`].

pub mod approve;
pub mod event_words;
pub mod foreground;
pub mod hold_queue;
pub mod logs;
mod printed_events;
pub mod refusals;
pub mod run_now;
pub mod spawn_resume;
pub mod status;
pub mod stop_run;
pub mod stop_signals;
pub mod supervise;
pub mod take_prompt;
pub mod to_the_end;
pub mod wait;
pub mod watch;
