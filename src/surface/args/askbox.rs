//! `askbox`'s arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::quick::Quick;
use crate::surface::program::{Common, EXIT_CODES};

/// Try askbox, set it up, find what is wrong with it, and prune its history
///
///   $ askbox demo
///
///   $ askbox init
///
///   $ askbox doctor
///
///   $ askbox gc
///
/// The work itself is done by four small programs: ask-post, ask-answer, checkpoint and relaunch.
#[derive(Debug, Parser)]
#[command(name = "askbox", version, after_help = EXIT_CODES, disable_help_subcommand = true, verbatim_doc_comment)]
pub struct Askbox {
    #[allow(missing_docs)]
    #[command(subcommand)]
    pub command: Command,
}

impl Quick for Askbox {}

#[allow(missing_docs)]
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the whole job on this machine, step by step: an agent asks, you answer, a watcher relaunches it
    ///
    /// Everything happens in a temporary mailbox, with the real programs; only the agent is a script that speaks claude's
    /// protocol, so that neither claude nor a network is needed.
    ///
    ///   $ askbox demo
    ///
    ///   $ askbox demo --auto --keep
    Demo(Demo),
    /// Find everything that is stuck, parked, stale, half done or unsafe, each with the command that mends it
    ///
    /// Prints the configuration in force as well, and from where each value comes. Ends with 1 where there is something to
    /// mend, with 0 where all is well. Changes nothing.
    ///
    ///   $ askbox doctor
    ///
    ///   $ askbox doctor --json | jq -r '.findings[].mend'
    Doctor(Doctor),
    /// Prune history: rounds that have been over for long, their runs, and all of workflows of which nothing else is left
    ///
    /// How long it is kept the configuration says (history.keep), or --keep; without either, everything is. What is pending,
    /// answered, running, parked or awaited always stays, and what it leans on; so does, of a workflow that goes on, what is
    /// needed to go on. Safe at any time, beside watchers and other gcs.
    ///
    ///   $ askbox gc --keep 90d --dry-run
    ///
    ///   $ askbox gc --keep 90d
    ///   12 rounds that had been over for 90d went, with 9 workflows of which nothing is left and 3 checkpoints; 1.4 MiB are free again.
    #[command(verbatim_doc_comment)]
    Gc(Gc),
    /// Write the configuration file, with every key explained; or shell completions, or man pages
    ///
    ///   $ askbox init
    ///   /home/ann/.config/askbox/config.toml
    ///
    ///   $ eval "$(askbox init --completions bash)"
    ///
    ///   $ askbox init --man ~/.local/share/man/man1
    ///
    ///   $ askbox init --service && systemctl --user enable --now askbox
    #[command(verbatim_doc_comment)]
    Init(Init),
    /// Write the JSON Schemas of all documents into a folder
    #[cfg(feature = "schema")]
    #[command(hide = true)]
    Schema {
        /// The folder
        dir: PathBuf,
    },
}

#[allow(missing_docs)]
#[derive(Debug, Args)]
pub struct Demo {
    /// Answer by itself; so it does where nobody sits at a terminal
    #[arg(long)]
    pub auto: bool,
    /// Leave the temporary mailbox there, to look at
    #[arg(long)]
    pub keep: bool,
}

#[allow(missing_docs)]
#[derive(Debug, Args)]
pub struct Doctor {
    /// After how long an unanswered question is stale, such as 12h or 3d
    #[arg(long, value_name = "DURATION", default_value = "7d")]
    pub stale: String,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

#[allow(missing_docs)]
#[derive(Debug, Args)]
pub struct Gc {
    /// How long what is over is kept, such as 30d; otherwise history.keep
    #[arg(long, value_name = "DURATION")]
    pub keep: Option<String>,
    /// Say what would go, and leave it there
    #[arg(long)]
    pub dry_run: bool,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

#[allow(missing_docs)]
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("what").args(["print", "completions", "man", "claude_md"])))]
#[command(group(clap::ArgGroup::new("kind").args(["print", "completions", "man", "service", "claude_md"])))]
pub struct Init {
    /// Print the configuration file instead of writing it
    #[arg(long)]
    pub print: bool,
    /// Write it even where there is one; the old one is kept beside it
    #[arg(long, conflicts_with = "what")]
    pub force: bool,
    /// Print the completions of all programs for a shell, to be evaluated by it
    #[arg(long, value_name = "SHELL")]
    pub completions: Option<clap_complete::Shell>,
    /// Write the service that runs `relaunch watch` for you: a systemd user unit, on macOS a launchd property list
    #[arg(long)]
    pub service: bool,
    /// Write the man pages of all programs into a folder
    #[arg(long, value_name = "DIR")]
    pub man: Option<PathBuf>,
    /// Print a section for a CLAUDE.md: how agents start each other, ask, and end their turns
    #[arg(long)]
    pub claude_md: bool,
}
