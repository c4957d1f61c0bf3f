//! `askbox mcp`: the mailbox as tools of an agent, by the Model Context Protocol on standard input and output.
//!
//! The layers below do the work. This folder only knows the protocol and the words for the asker. The SDK, `rmcp`, speaks both eras of the
//! protocol: 2026-07-28 (`server/discover`) and the earlier ones (`initialize`). This is the only place with an async runtime.
//!
//! | file | idea |
//! |---|---|
//! | `lines` | the client's lines, so that each request has a reply |
//! | `server` | requests of the client in, replies out |
//! | `receipts` | an answer is given once the reply that carries it is written |
//! | `tools` | the tools' names, arguments and descriptions |
//! | `desk` | the shared state of the tools: the mailbox, and the questions that this process has asked |
//! | `ask_user` | the tool that asks, and the tool that looks for the answer |
//! | `task` | the question of a client that knows tasks, so that no call has to wait |
//! | `form` | a waiting question as a form for the client's user |
//! | `question_state` | the state of a question, and the words for its asker |
//! | `other_tools` | the other tools: checkpoints, the list of questions, runs, answering |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod ask_user;
mod desk;
mod form;
mod lines;
mod other_tools;
mod question_state;
mod receipts;
mod server;
mod task;
mod tools;

use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;

use askbox_cli::args::askbox_args::Mcp;
use askbox_cli::program::Context;
use askbox_mailbox::{Error, Result, thread};
use desk::Desk;
use receipts::{Receipted, Receipts};
use server::Server;

/// Runs `askbox mcp` until the client closes standard input; returns the exit status.
pub fn run(args: Mcp, context: &Context) -> Result<u8> {
    let config = context.config()?.mcp;
    let failed = |what: &str, e: String| Error::failed(format!("{what}: {e}"), "start it again; a client does that by itself");
    // The runtime's first thread reads standard input. If the system refuses to start that thread, the runtime panics, so starting one is
    // tried here first. The runtime waits by itself for later threads.
    let _ = thread::start(|| ())?.join();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|e| failed("cannot start", e.to_string()))?;
    let ended = runtime.block_on(async {
        let receipts = Receipts::begin();
        let (stdin, stdout) = rmcp::transport::stdio();
        let (stdin, reading) = lines::readable(stdin);
        tokio::spawn(reading);
        let transport = Receipted::new(AsyncRwTransport::new(stdin, stdout), receipts.clone());
        let service = match Server::new(Desk::new(args.mailbox, config, context.clone()), receipts, args.ask_as).serve(transport).await {
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(QuitReason::Closed),
            other => other.map_err(|e| failed("cannot begin to talk to the client", e.to_string()))?,
        };
        service.waiting().await.map_err(|e| failed("ended early", e.to_string()))
    });
    // A thread may still read standard input, or wait for an answer although nobody is left to receive it.
    runtime.shutdown_background();
    ended.map(|_| 0)
}
