//! The clients for Python and TypeScript, driven against the real programs. The scripts in `python/` and `node/` call the clients; most of
//! the expectations stand there, because they are about values of those languages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation fails the test")]

extern crate askbox_testkit as support;

mod client;
mod conformance;
mod crossing;
mod packages;
mod plain_post;
mod runs;
mod scripts;
mod sdks;
