//! `askbox doctor`: the configuration in force, and every problem found, each with a command that solves it.
//!
//! The checks read the mailbox with the same code as the programs, and change nothing.
//!
//! - `report`: runs every check and prints what was found
//! - `checkup`: what the checks share: what they look at, what they have found
//! - `in_force`: the configuration in force, and where each value comes from
//! - `setup`: programs, configuration, folders outside the mailbox; `agent_version`: the version of `claude`
//! - `files`, `leftovers`: owners, modes, links and names in the mailbox; temporary files of killed programs
//! - `targets`: where people are told, and when that last worked
//! - `sync`: the process that brings the questions into a database
//! - `documents`: every document, by way of `open_questions`, `runs` and `quarantined`
//! - `one_workflow`: the same for one workflow; `progress`: how far the doctor has come
//! - `held`: what holds everything up; `waits`: workflows that wait for others

mod agent_version;
mod checkup;
mod documents;
mod files;
mod held;
mod in_force;
mod leftovers;
mod one_workflow;
mod open_questions;
mod progress;
mod quarantined;
mod report;
mod runs;
mod setup;
#[cfg(feature = "sync")]
mod sync;
mod targets;
mod waits;

pub use report::run;
