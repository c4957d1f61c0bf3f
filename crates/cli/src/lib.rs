//! What the programs of askbox share, and what the three smallest of them do.
//!
//! | file | idea |
//! |---|---|
//! | `args` | the arguments of all programs |
//! | `program` | how programs start, print, read and end |
//! | `terminal` | tables, the screen, views that stay up to date |
//! | `person` | what the inbox of a terminal and the page have in common |
//! | `ask_post`, `ask_answer`, `checkpoint` | the three programs |
//! | `ask_user_call` | a question that an agent asks by the MCP tool `ask_user` |
//! | `live_view` | a view that stays up to date until Ctrl-C |
//! | `hangup` | a command ends when its terminal does |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod args;
pub mod ask_answer;
pub mod ask_post;
pub mod ask_user_call;
pub mod checkpoint;
pub mod hangup;
pub mod live_view;
pub mod person;
pub mod program;
pub mod terminal;

pub use args::common::Common;
pub use args::seen_round::SeenRound;
pub use ask_answer::{answering, question_text};
pub use person::{AtStake, PersonsDecision};
pub use program::Context;
pub use terminal::{columns, fitted, screen};

/// musl's own allocator asks the kernel for most allocations, which costs a small program more than its work.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;
