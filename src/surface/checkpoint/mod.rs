//! `checkpoint`.
//!
//! - `checkpoint_commands`: runs each command
//! - `saving`: puts a checkpoint together for `save`
//! - `checkpoint_text`, `checkpoint_list`: checkpoints as people read them

mod checkpoint_commands;
mod checkpoint_list;
pub mod checkpoint_text;
mod saving;

pub use checkpoint_commands::run;
