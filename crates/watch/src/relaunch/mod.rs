//! The commands of `relaunch`. Each file here holds one command or a group of commands: it reads the environment and standard input, calls
//! the library, and prints.
//!
//! | file | commands |
//! |---|---|
//! | [`watch`] | `relaunch watch`; `exec` |
//! | [`run_now`] | `relaunch ID`, `run`, `retry` |
//! | [`stop_run`] | `stop`, `stop --tree` |
//! | [`logs`] | `logs`, `events`, and how other commands print events |
//! | [`event_words`] | one event in words |
//! | [`status`] | `status`, `status -f`, `status --summary` |
//! | [`spawn_resume`] | `spawn`, `resume` |
//! | [`wait`] | `wait` |
//! | [`take_prompt`] | `prompt`, `done` |
//! | [`hold_queue`] | `pause`, `go` |
//! | [`approve`] | `approve` |
//! | [`supervise`] | the hidden `supervise` |
//! | [`foreground`] | shared by `relaunch ID`, `run`, `retry`: a run of this process, and what it does after its first attempt |
//! | `starting_session` | the user's session that runs such a command, and is woken by the result |
//! | [`refusals`] | errors when nothing can be claimed |

pub mod approve;
pub mod event_words;
pub mod foreground;
pub mod hold_queue;
pub mod logs;
pub mod refusals;
pub mod run_now;
pub mod spawn_resume;
mod starting_session;
pub mod status;
pub mod stop_run;
pub mod supervise;
pub mod take_prompt;
pub mod wait;
pub mod watch;
