//! The agent as an operating-system process: found, called, started, listened to, and ended with all that it started.
//!
//! | file | idea |
//! |---|---|
//! | `programs` | where the `relaunch` program and the agent program are |
//! | `launch` | whether the agent begins, resumes or forks its session, its arguments and environment, and its start |
//! | `permitted` | checks the folders of questions and records against the permitted ones |
//! | `own_programs` | whether the agent's shell finds the programs of askbox |
//! | `pipes` | the agent's standard input, output and error |
//! | `poll_thread` | one thread that waits for many descriptors |
//! | `agent_exit` | the agent's exit, and orphans that it leaves behind |
//! | `agent_lock` | the lock that the agent's own process holds, which is seen from other PID namespaces too |
//! | `signals` | the signals that a program starts with |
//! | `run_processes` | all processes of a run: found by their environment, and ended |

pub mod agent_exit;
pub mod agent_lock;
pub mod launch;
pub mod own_programs;
pub mod permitted;
pub mod pipes;
pub mod poll_thread;
pub mod programs;
pub mod run_processes;
mod signals;
