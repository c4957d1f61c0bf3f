//! The product's main job with the real `claude`: a question that was answered relaunches its agent, once, with the answer.
//! What the API received is the proof.
#![cfg(feature = "relaunch")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod costs;
mod faults;
mod fresh;
mod resume;
mod surface;
