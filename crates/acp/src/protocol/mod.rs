//! Speaks the Agent Client Protocol (ACP, version 1) with an agent: JSON-RPC, one object a line, in both directions.
//!
//! The agent's lines become [`Item`]s. The requests that are used are few:
//! `initialize`, `session/new`, `session/resume`, `session/load`, `session/set_mode`, `session/prompt`, `session/cancel` and
//! `session/close`. Every other request of the agent is answered with an error, so that it waits for nothing.
//!
//! | file | idea |
//! |---|---|
//! | `client` | the two sides of the conversation: our requests out, the agent's lines in |
//! | `replies` | the agent's replies to our requests, and what an agent can do |
//! | `envelope` | one line of JSON-RPC, within limits |
//! | `turn` | the updates between our prompt and its result, as events |
//! | `open_calls` | the tool calls of a turn |
//! | `unread` | messages that were not read, and the calls that they may be about |
//! | `tool` | the name and the input of a tool call, as the rules of the configuration spell them |
//! | `forms` | a question of the agent to its user, as a form, and its reply |
//! | `own_server` | askbox's tools, as an MCP server that the agent starts |
//! | `requests` | the requests that wait for a person |
//! | `permission` | a request for a permission, and the option that answers it |
//! | `verdict` | how a turn ended; signs that a turn failed although the agent says that it ended well |
//! | `replay` | the search for messages and calls in the history that an agent plays back |
//! | `item` | what the client returns |

mod client;
mod envelope;
mod forms;
mod item;
mod open_calls;
mod own_server;
mod permission;
mod replay;
mod replies;
mod requests;
mod tool;
mod turn;
mod unread;
mod verdict;

pub use client::{Client, SessionPlace};
pub use item::{Item, Permission};
pub use own_server::OwnServer;
pub use permission::Choice;
pub use replay::PlayedBack;
pub use replies::{AgentInfo, AgentReply, Asked, NO_SESSION, NOT_LOGGED_IN, Opened};

#[cfg(test)]
mod tests;
