//! `relaunch`: its arguments, and a room for each group of its commands.

pub mod chain;
pub mod deliver;
pub mod follow;
pub mod foreground;
pub mod monitor;
pub mod service;
pub mod table;
pub mod view;
