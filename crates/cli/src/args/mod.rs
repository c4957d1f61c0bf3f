//! The arguments of the programs. Help texts, completions and man pages are made from them.
//!
//! | file | idea |
//! |---|---|
//! | `askbox_args` | the arguments of the commands of `askbox` |
//! | `sync_args` | the arguments of `askbox sync` |
//! | `relaunch_args` | the arguments of `relaunch` |
//! | `ask_agent_args` | the arguments of `ask-agent`, those of `claude` that `relaunch` uses |
//! | `ask_answer_args` | the arguments of `ask-answer` |
//! | `ask_post_args` | the arguments of `ask-post` |
//! | `checkpoint_args` | the arguments of `checkpoint` |
//! | `common` | the flags and the exit statuses that all programs share |
//! | `seen_round` | the round that a person names for an answer |
//! | `value_parsers` | values of arguments that are not plain text |

// Help texts are written for terminals, where `<ID>` is not HTML.
#![allow(rustdoc::invalid_html_tags, missing_docs, reason = "the help texts are the documentation")]

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

use std::ffi::OsString;

use clap::Parser;

/// Reads the arguments of this process.
///
/// # Errors
/// An error of clap. `program::main` turns it into an error with a hint.
pub fn parse<A: Parser>(args: &[OsString]) -> Result<A, clap::Error> {
    // The description of the arguments is never freed: freeing takes as long as building it, and the process ends soon.
    let command = Box::leak(Box::new(A::command()));
    let mut matches = command.try_get_matches_from_mut(args)?;
    A::from_arg_matches_mut(&mut matches).map_err(|e| e.format(command))
}
