//! What people touch. These rooms only call the ones below.

pub mod answering;
pub mod args;
pub mod ask_user;
#[cfg(feature = "askbox")]
pub mod claude_md;
#[cfg(feature = "askbox")]
pub mod demo;
#[cfg(feature = "askbox")]
pub mod doctor;
pub mod edit;
#[cfg(feature = "inbox")]
pub mod inbox;
#[cfg(feature = "askbox")]
pub mod init;
pub mod listing;
pub mod posting;
pub mod program;
pub mod receipt;
#[cfg(feature = "relaunch")]
pub mod relaunch;
pub mod saving;
#[cfg(feature = "schema")]
pub mod schema;
pub mod show;
pub mod wait;
