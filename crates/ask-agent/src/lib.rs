//! `ask-agent`: a small agent over the Messages API. It is made to be read.
//!
//! **The transcript is the state, and the next step is a function of it.** The program may die at any moment. The next start reads
//! the transcript and does whatever comes next:
//!
//! | end of the transcript | next step |
//! |---|---|
//! | a message or a tool result for the model | ask the model |
//! | a tool call without a result | make the call |
//! | a tool call that was begun and has no result | end what still runs of it; tell the model that the outcome is unknown |
//! | a reply that was cut, refused or empty | tell the model, once |
//! | a call that asks a person, without a result | look into the mailbox: take the answer, or exit |
//! | the model's last words | the turn is over |
//!
//! Read the files in this order:
//!
//! | file | idea |
//! |---|---|
//! | `transcript`, `history` | the file that only grows; the same as messages and calls |
//! | `step` | the function from the history to the next step; why a turn is over |
//! | `conversation` | the loop: takes one step after another, for the agent and for each of its subagents |
//! | `calls`, `outcome` | one tool call, from its hooks and rules to its result |
//! | `place` | where a call's file lies: found once, for the decision and for the tool |
//! | `tools`, `tool_names`, `process` | the tools: shell, files, todo list |
//! | `task` | the tool that starts a subagent: its own transcript, its own messages, only its conclusion returns |
//! | `person` | the mailbox: asks a person, and takes the answer |
//! | `rules` | hooks, and whether a call needs a person |
//! | `settings` | the operator's settings files |
//! | `model` | the Messages API: a request, its streamed reply, HTTP |
//! | `host` | the surroundings of all conversations: input, signals, output, settings |
//! | `events` | the lines on standard output, in Claude Code's form, so that `relaunch` reads them |
//! | `program` | the program |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod calls;
mod conversation;
mod events;
mod history;
mod host;
mod model;
mod outcome;
mod person;
mod place;
mod process;
mod program;
mod rules;
mod settings;
mod step;
mod task;
mod tool_names;
mod tools;
mod transcript;

pub use program::run;
