//! The sessions of agent programs on this machine, for people who look: what each of them does, what was said in it, and what it offers. A
//! page or an inbox knows no agent. Reading changes nothing.
//!
//! | file | idea |
//! |---|---|
//! | `session` | a session, and the words for what it does and offers |
//! | `list` | the sessions of all agents, and what was said in one |
//! | `of_claude`, `of_codex`, `of_opencode` | the sessions of this agent |
//! | `of_runs` | the runs of askbox that are at work |
//! | [`codex`] | what `askbox-live` finds out from the daemon of Codex |
//! | `opencode` | the lines between askbox and its plugin in processes of opencode |
//! | [`request`] | the requests of people about sessions, from this or another machine, and the replies |
//! | [`given`] | what people give to sessions, and how far that has come, for a page and an inbox |
//! | [`prompting`] | sends the next prompts of people to sessions, as soon as these are idle |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod codex;
pub mod given;
mod list;
mod of_claude;
mod of_codex;
mod of_opencode;
mod of_runs;
mod opencode;
pub mod prompting;
pub mod request;
mod session;

pub use list::{folders, project};
pub use of_claude::file as file_of_claude;
pub use of_codex::{all as of_codex, file as file_of_codex};
pub use of_opencode::all as of_opencode;
pub use request::{Asked, Listed, Look, Reply, Request, View};
pub use session::{Offers, Said, Session, SessionAt};
