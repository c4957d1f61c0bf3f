//! The dialogs of Codex's sessions as questions of the mailbox.
//!
//! Each terminal with `codex` is a client of one daemon, and so is this bridge. The daemon sends each request for an approval or an answer
//! to every client of the session, and the first reply counts. A client that connects later gets the requests that still wait. So one
//! thread of the watcher serves all sessions, without a hook and without a process for each dialog. A closed terminal changes nothing.
//!
//! | file | idea |
//! |---|---|
//! | [`home`] | Codex's own folder, the socket of its daemon, and whether Codex is used here |
//! | [`sessions`] | the sessions that the daemon has loaded, for people who look |
//! | `wire` | the messages of the daemon that matter here, and those that it is sent |
//! | `client` | one connection: WebSocket over the daemon's Unix socket |
//! | `request` | a request of the daemon, as the call that a person is shown |
//! | `threads` | what is known of the daemon's sessions |
//! | `question` | the question that a request becomes |
//! | `reply` | a person's answer as the reply to the daemon |
//! | [`untold`] | why a session is not told of its answer, for people who look |
//! | `news` `telling` `waking` | the news for a session, which gets one turn with them |
//! | `asker` | the daemon as a program that asks |
//! | `bridge` | all requests of one connection |
//! | `service` | the thread of the watcher: connects, and connects again |
//!
//! A reply that the daemon does not understand *denies* the call and takes the dialog away (measured with Codex 0.169). So a request that
//! is not known is never replied to, not even with an error, and only the decisions `accept`, `decline` and `cancel` are sent.

mod asker;
mod bridge;
mod client;
#[doc(hidden)]
pub mod fuzzed;
pub mod home;
mod news;
mod question;
mod reply;
mod request;
pub(crate) mod service;
pub mod sessions;
mod telling;
mod threads;
pub mod untold;
mod waking;
mod wire;
