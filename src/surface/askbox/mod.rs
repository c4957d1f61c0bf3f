//! `askbox`.

mod ask_user_call;
pub mod complete;
pub mod demo;
pub mod doctor;
pub mod gc;
pub mod hook;
pub mod inbox;
pub mod init;
pub mod keygen;
pub mod machines;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod notify;
#[cfg(feature = "schema")]
pub mod schema;
pub mod service;
pub mod setup;
#[cfg(feature = "sync")]
pub mod sync;
pub mod teaching;
pub mod views;
#[cfg(feature = "web")]
pub mod web;
