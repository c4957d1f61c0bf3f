//! `askbox-acp`: stands between a supervisor of askbox and an agent that speaks the Agent Client Protocol. The supervisor starts it in
//! place of the agent.
//!
//! It hears from the supervisor what `claude` would hear (`command`), and tells it the items that askbox reads out of any agent's stream
//! (`out`). The session, the round's message and what follows a turn are its own: it reads the records of the attempt in the mailbox, and
//! writes one, `acp.json`.
//!
//! | file | idea |
//! |---|---|
//! | `adapter` | one attempt: the agent's process, and everything that happens to it |
//! | `talk` | the conversation up to the round's message and between turns |
//! | `opening` | the session to open, and the round's message in its forms |
//! | `words` | the other messages, and the marker in front of each; the words about work that a session does not have |
//! | `session` | the record of a session, and what the session may lack |
//! | `command` | what the supervisor says, and what it hears |
//! | `about` | what an agent can do |
//! | [`protocol`] | the Agent Client Protocol |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod about;
mod adapter;
mod command;
mod opening;
pub mod protocol;
mod session;
mod talk;
mod words;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use askbox_cli::{Context, program};
use askbox_config::{self as config, Config};
use askbox_mailbox::{Error, Mailbox, QuestionId, Result, RoundId, WorkflowId};

/// Talks with an agent that speaks the Agent Client Protocol, for a run of askbox
///
/// The supervisor of a run starts this program in place of the agent.
#[derive(Debug, Parser)]
#[command(name = "askbox-acp", version)]
pub struct Args {
    /// The operator's configuration file. Without it, the defaults count
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[allow(missing_docs)]
    #[command(subcommand)]
    pub work: Work,
}

#[allow(missing_docs)]
#[derive(Debug, Subcommand)]
pub enum Work {
    /// Talk with the agent of an attempt, for the supervisor that has just launched it
    Run {
        /// The mailbox
        #[arg(long)]
        mailbox: PathBuf,
        workflow: WorkflowId,
        question: QuestionId,
        attempt: u32,
    },
    /// Ask the agent of a runner what it can do, without a model
    About {
        /// The runner, as the configuration names it
        runner: String,
    },
}

/// Does the work. Returns the exit status, which is the agent's for [`Work::Run`].
///
/// # Errors
/// If the configuration, the mailbox or the environment is not that of a run, or if nobody reads what is said.
pub fn run(args: Args, _: &Context) -> Result<u8> {
    let config = args.config.as_deref().map_or(Ok(Config::default()), |file| config::load_file(file).map(|loaded| loaded.config))?;
    match args.work {
        Work::Run { mailbox, workflow, question, attempt } => {
            let (mailbox, round) = (Mailbox::open(mailbox)?, RoundId { workflow, question });
            let (_, nonce) = program::run_and_nonce()
                .ok_or_else(|| Error::usage("this process is no run of askbox", "relaunch starts it by itself: kind = \"acp\""))?;
            adapter::run(&mailbox, &config, &round, attempt, nonce)
        }
        Work::About { runner } => {
            let (_, runner) = config.runner.find(Some(&runner))?;
            program::print_json(&about::ask(&runner)?).map(|()| 0)
        }
    }
}
