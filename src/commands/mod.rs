//! The commands of `askbox` that no crate of their own holds.

pub mod agents;
pub mod args;
pub mod claude_md;
pub mod complete;
pub mod count;
pub mod demo;
pub mod doctor;
pub mod gc;
pub mod history;
pub mod hook;
pub mod init;
pub mod keygen;
pub mod notify;
pub mod once;
pub mod service;
pub mod sessions;
pub mod setup;
pub mod surfaces;
pub mod tree;
pub mod trial;
