//! What is shown on a terminal.
//!
//! - `columns`: tables and lines that align, measured in terminal columns
//! - `wrapped`: text broken into lines at its words
//! - `screen`: the terminal's size, and its alternate screen
//! - `live_view`: a view that stays up to date until Ctrl-C

pub mod columns;
#[cfg(feature = "relaunch")]
pub mod live_view;
#[cfg(feature = "relaunch")]
pub mod screen;
#[cfg(feature = "askbox")]
pub mod wrapped;
