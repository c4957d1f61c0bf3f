//! Several machines: mailboxes of their own, whose questions are seen and answered elsewhere. PostgreSQL is a cluster that the tests start
//! themselves, on a socket in a temporary folder.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation fails the test")]

extern crate askbox_testkit as support;

mod inbox;
#[cfg(feature = "sync")]
mod postgres;
#[cfg(feature = "sync")]
mod soak;
mod ssh;
