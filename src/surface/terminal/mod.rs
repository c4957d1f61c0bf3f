//! What is shown on a terminal.
//!
//! - `columns`: tables and lines that align, measured in terminal columns
//! - `wrapped`: text broken into lines at its words
//! - `fitted`: what a program prints, fitted to a terminal; unchanged elsewhere
//! - `size`: the terminal's size
//! - `screen`: the terminal's alternate screen
//! - `live_view`: a view that stays up to date until Ctrl-C

pub mod columns;
pub mod fitted;
#[cfg(feature = "relaunch")]
pub mod live_view;
#[cfg(feature = "relaunch")]
pub mod screen;
pub mod size;
pub mod wrapped;
