//! The arguments of the programs. Help texts, completions and man pages are made from them.

// Help texts are written for terminals, where `<ID>` is not HTML.
#![allow(rustdoc::invalid_html_tags)]

pub mod ask_agent_args;
pub mod ask_answer_args;
pub mod ask_post_args;
pub mod askbox_args;
pub mod checkpoint_args;
pub mod common;
pub mod relaunch_args;
pub mod seen_round;
pub mod sync_args;
pub mod value_parsers;
