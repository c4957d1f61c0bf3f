//! Relaunching: watchers, the limits on runs and on money, and chains of scripted agents.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation fails the test")]

extern crate askbox_testkit as support;

mod acp;
mod agent_version;
mod any_program;
mod asked_within;
mod budget;
mod chains;
mod codex;
mod codex_woken;
mod forged;
mod hangup;
mod limits;
mod long_workflow;
mod moved;
mod namespaces;
mod news;
mod no_proc;
mod notifiers;
mod one_look;
mod operator;
mod partial;
mod pause;
mod read_only;
mod reminded;
mod told;
mod traces;
mod trusted;
mod umask;
mod unreadable;
mod until;
mod upgrade;
mod watchers;
