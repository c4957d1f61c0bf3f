//! The programs of askbox: a filesystem mailbox through which coding agents ask their user, and a watcher that relaunches them with the
//! answer.
//!
//! A program that asks, answers or waits by itself embeds the crate [`askbox_mailbox`], which this one is built on. This crate holds the
//! commands of `askbox`, and names the crates below it for its tests.
//!
//! An arrow only points down: `askbox` → [`askbox_inbox`], `askbox_web` → [`askbox_peers`] → [`askbox_watch`] →
//! [`askbox_cli`] → [`askbox_run`] → [`askbox_config`] → [`askbox_agent`] → [`askbox_mailbox`]. `docs/dev/architecture.md` says why each is
//! a crate of its own.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

#[cfg(feature = "askbox")]
pub mod commands;

pub use askbox_cli as cli;
pub use askbox_config as config;
pub use askbox_mailbox as mailbox;
pub use askbox_mailbox::{Error, Result, address, disk, document, error, id, platform, spelling, text, thread, time, untrusted};
pub use askbox_run as run;
pub use askbox_run::{chain, gc, log};

#[cfg(feature = "acp")]
pub use askbox_acp as acp;
#[cfg(feature = "askbox")]
pub use askbox_agent as agent;
#[cfg(feature = "agents")]
pub use askbox_definitions as definitions;
#[cfg(feature = "askbox")]
pub use askbox_inbox as inbox;
#[cfg(feature = "live")]
pub use askbox_live as live;
#[cfg(feature = "mcp")]
pub use askbox_mcp as mcp;
#[cfg(feature = "outgoing")]
pub use askbox_outgoing as outgoing;
#[cfg(feature = "askbox")]
pub use askbox_peers as peers;
#[cfg(feature = "sync")]
pub use askbox_peers::sync;
#[cfg(feature = "relaunch")]
pub use askbox_watch as watch;
#[cfg(feature = "web")]
pub use askbox_web as web;
