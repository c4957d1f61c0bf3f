//! `askbox mcp`: the mailbox as tools of an agent, by the Model Context Protocol on standard input and output.
//!
//! Everything is done by the rooms below; what this folder knows is the protocol, and what an asker is told. The SDK, `rmcp`, speaks both
//! eras of the protocol: 2026-07-28 (`server/discover`) and the earlier ones (`initialize`). This is the only place with an async runtime.
//!
//! | file | idea |
//! |---|---|
//! | `server` | requests of the client in, replies out |
//! | `receipts` | an answer counts as delivered once the reply that carries it is written |
//! | `tools` | what the tools are called, what they take, and what they are for |
//! | `desk` | what the tools work with: the mailbox, and what this process has asked |
//! | `ask_user` | the tool that asks, and the one that looks for the answer |
//! | `task` | the question of a client that knows tasks, which waits for nothing |
//! | `became` | what became of a question, and how its asker is told |
//! | `at_hand` | the other tools: checkpoints, the list of questions, runs, answering |

mod ask_user;
mod at_hand;
mod became;
mod desk;
mod receipts;
mod server;
mod task;
mod tools;

use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;

use crate::error::{Error, Result};
use crate::surface::args::askbox_args::Mcp;
use crate::surface::program::Context;
use crate::thread;
use desk::Desk;
use receipts::{Receipted, Receipts};
use server::Server;

/// Runs `askbox mcp` until the client closes standard input; returns the exit status.
pub fn run(args: Mcp, context: &Context) -> Result<u8> {
    let config = context.config()?.mcp;
    let failed = |what: &str, e: String| Error::failed(format!("{what}: {e}"), "start it again; a client does that by itself");
    // Its first thread reads standard input. Where the system refuses that one, the runtime panics; it waits for a later one by itself.
    let _ = thread::start(|| ())?.join();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|e| failed("cannot start", e.to_string()))?;
    let ended = runtime.block_on(async {
        let receipts = Receipts::default();
        let (stdin, stdout) = rmcp::transport::stdio();
        let transport = Receipted::new(AsyncRwTransport::new(stdin, stdout), receipts.clone());
        let service = match Server::new(Desk::new(args.mailbox, config, context.clone()), receipts).serve(transport).await {
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(QuitReason::Closed),
            other => other.map_err(|e| failed("cannot begin to talk to the client", e.to_string()))?,
        };
        service.waiting().await.map_err(|e| failed("ended early", e.to_string()))
    });
    // A thread may still read standard input, or wait for an answer that nobody is there to be told.
    runtime.shutdown_background();
    ended.map(|_| 0)
}
