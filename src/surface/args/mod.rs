//! The arguments of the programs. Their help texts are documentation; completions and man pages are made from them.

// Help texts are written for terminals: `<ID>` is no HTML there.
#![allow(rustdoc::invalid_html_tags)]

pub mod ask_answer;
pub mod ask_post;
#[cfg(feature = "askbox")]
pub mod askbox;
pub mod checkpoint;
#[cfg(feature = "relaunch")]
pub mod relaunch;
