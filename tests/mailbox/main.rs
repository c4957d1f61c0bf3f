//! What lies in the mailbox: who writes it, who reads it, in which order it reaches the disk, and what is removed from it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation fails the test")]

#[path = "../support/mod.rs"]
mod support;

mod audit_texts;
mod brought_back;
mod checkpoint_proof;
mod clocks;
mod conformance;
mod gc;
mod held_rounds;
mod large_mailbox;
mod links;
mod names;
mod newer_versions;
mod offers;
mod older_versions;
mod other_rounds;
mod races;
mod sizes;
mod strangers;
mod strangers_files;
mod threads;
mod time;
mod undo;
mod who_decides;
mod write_order;
