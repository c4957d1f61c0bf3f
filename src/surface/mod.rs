//! What people touch. These rooms only call the ones below.

pub mod program;
#[cfg(feature = "relaunch")]
pub mod relaunch;
