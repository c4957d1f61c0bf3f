//! `checkpoint`.
//!
//! - `commands`: runs each command
//! - `saving`: puts a checkpoint together for `save`
//! - `checkpoint_text`, `checkpoint_list`: checkpoints as people read them

mod checkpoint_list;
mod checkpoint_text;
mod commands;
mod saving;

pub use commands::run;
