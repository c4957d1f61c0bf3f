//! What people touch. These rooms only call the ones below; each program has one.

pub mod args;
pub mod ask_answer;
pub mod ask_post;
#[cfg(feature = "askbox")]
pub mod askbox;

#[cfg(feature = "relaunch")]
pub mod hangup;
#[cfg(feature = "relaunch")]
pub mod live;
pub mod program;
#[cfg(feature = "relaunch")]
pub mod relaunch;
pub mod saving;
