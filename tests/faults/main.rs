//! Processes are killed, disks are full, system calls fail and agents misbehave: no answer is lost and no agent is launched twice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation fails the test")]

extern crate askbox_testkit as support;

mod agent_faults;
mod agent_growth;
mod chains_killed;
mod cleared_environment;
mod crashes;
mod defiant_agent;
mod event_killed;
mod file_size_limit;
mod full_disk;
mod held_call_killed;
mod held_stripe;
mod hostile_words;
#[cfg(feature = "askbox")]
mod killed_archiving;
mod killed_at_every_syscall;
#[cfg(feature = "askbox")]
mod killed_calls;
#[cfg(feature = "mcp")]
mod killed_mcp;
#[cfg(feature = "askbox")]
mod killed_setup;
mod lists_killed;
mod power_cut;
#[cfg(feature = "askbox")]
mod program_killed;
mod refusal_killed;
mod shortages;
mod stopped_processes;
mod storm;
mod supervisor_ends_at_once;
mod syscalls;
mod watcher_log;
