//! Real agents that speak ACP, against a scripted model API on loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation fails the test")]

extern crate askbox_testkit as support;

mod at_terminal;
mod attended_codex;
mod attended_copilot;
mod attended_opencode;
mod attended_qwen;
mod codex;
mod kimi;
mod listed;
mod more;
mod scene;
