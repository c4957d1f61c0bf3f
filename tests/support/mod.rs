//! What the tests share. Each test file uses its own part of it, hence the `dead_code` allowances.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
pub mod api;
#[allow(dead_code)]
pub mod claude;
#[allow(dead_code)]
mod http;
#[allow(dead_code)]
pub mod live;
mod program;
#[allow(dead_code)]
mod script;
#[cfg(feature = "relaunch")]
#[allow(dead_code)]
pub mod service;
