//! `askbox-acp`: talks with an agent that speaks ACP. The supervisor of a run starts this program in place of the agent.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

fn main() -> ExitCode {
    askbox_cli::program::main(askbox_acp::run)
}
