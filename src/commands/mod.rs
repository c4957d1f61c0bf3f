//! The commands of `askbox` that no crate of their own holds.

pub mod agents;
pub mod args;
pub mod claude_md;
pub mod complete;
pub mod conformance;
pub mod count;
pub mod demo;
pub mod doctor;
pub mod gc;
pub mod history;
pub mod hook;
pub mod init;
pub mod keygen;
pub mod live;
pub mod notify;
pub mod once;
pub mod schema;
pub mod service;
pub mod sessions;
pub mod setup;
#[cfg(feature = "sync")]
pub mod sync;
pub mod tree;
pub mod trial;
