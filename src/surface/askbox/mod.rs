//! `askbox`.

pub mod agents;
mod ask_user_call;
pub mod claude_md;
pub mod complete;
pub mod count;
pub mod demo;
pub mod doctor;
pub mod gc;
pub mod history_view;
pub mod hook;
pub mod inbox;
pub mod init;
pub mod keygen;
pub mod machines;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod notify_test;
#[cfg(feature = "schema")]
pub mod schema;
pub mod service_files;
mod service_variables;
pub mod setup;
#[cfg(feature = "sync")]
pub mod sync;
pub mod tree_view;
#[cfg(feature = "web")]
pub mod web;
