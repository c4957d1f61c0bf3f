//! What people and agents use: arguments, printed words, views. These rooms only call the rooms below.
//!
//! - `args`: the arguments of all programs
//! - `program`: what all programs share: how they start, print, read and end
//! - `terminal`: tables, the screen, views that stay up to date
//! - `person`: what the inbox of a terminal and the page have in common
//! - one room for each program: `ask_post`, `ask_answer`, `checkpoint`, `relaunch`, `askbox`

pub mod args;
pub mod ask_answer;
pub mod ask_post;
#[cfg(feature = "askbox")]
pub mod askbox;
pub mod checkpoint;
#[cfg(feature = "relaunch")]
pub mod hangup;
#[cfg(feature = "askbox")]
pub mod person;
pub mod program;
#[cfg(feature = "relaunch")]
pub mod relaunch;
pub mod terminal;
