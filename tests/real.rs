//! What askbox does with the real programs of others: the real `claude`, other agents, Python and Node.js. `tests/run` fetches them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation fails the test")]

extern crate askbox_testkit as support;

mod acp;
mod claude;
mod clients;
