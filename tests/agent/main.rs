//! `ask-agent` against a scripted Messages API on loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation fails the test")]

extern crate askbox_testkit as support;

mod background;
mod figures;
mod killed;
mod listings;
mod questions;
mod relaunched;
mod rules;
mod scene;
mod stops;
mod trouble;
