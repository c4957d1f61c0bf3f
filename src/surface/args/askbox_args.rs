//! `askbox`'s arguments.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::id::WorkflowId;
use crate::surface::args::common::{Common, EXIT_CODES};
use crate::surface::args::values;

/// Try askbox, set it up, look at its trees of workflows, find what is wrong with it, and prune its history
///
///   $ askbox demo
///
///   $ askbox init
///
///   $ askbox doctor
///
///   $ askbox tree
///
///   $ askbox agents list
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
    /// Show every workflow under the one that started it: its state, its age, its cost, its open question
    ///
    /// Without an ID it shows the trees in which something is not over, finished children included; with one that workflow and
    /// everything below it. The cost is that of all runs that ended, with everything below.
    ///
    ///   $ askbox tree
    ///
    ///   $ askbox tree -f
    ///
    ///   $ askbox tree docs-42 --json | jq -r 'select(.state == "pending").workflow_id'
    ///
    /// A state is a word of `relaunch status --help`; of what is over it is how it ended: finished, failed, cancelled or expired.
    Tree(Tree),
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
    /// List the agents that are defined for claude, and the files that cannot be read
    ///
    ///   $ askbox agents list
    ///
    ///   $ askbox agents show reviewer
    #[command(verbatim_doc_comment)]
    Agents(Agents),
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
pub struct Agents {
    #[allow(missing_docs)]
    #[command(subcommand)]
    pub what: WhatOfAgents,
    /// The folder that an agent would work in; the current one where it is left out
    #[arg(long, global = true, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub json: bool,
}

#[allow(missing_docs)]
#[derive(Debug, Subcommand)]
pub enum WhatOfAgents {
    /// List the agents, and the files that cannot be read
    ///
    /// Looks at `.claude/agents/**/*.md` of the project and of the user, as claude does: the nearest folder up to the
    /// repository's root wins, and the project wins over the user. Problems go to standard error, as FILE:LINE: problem,
    /// each with a hint. The exit status is 5 if a file cannot be read; the other agents are listed all the same.
    /// Claude reads some files that are not valid YAML; they are problems here. Built-in agents and those of plugins are not
    /// listed.
    ///
    ///   $ askbox agents list
    ///
    ///   $ askbox agents list --json | jq -r '.problems[] | "\(.file):\(.line): \(.problem)"'
    List,
    /// Show all of one agent: what it is for, what it may, its file, its system prompt
    ///
    ///   $ askbox agents show reviewer
    ///
    ///   $ askbox agents show reviewer --json | jq -r .prompt
    Show {
        /// Its name
        name: String,
    },
    /// Print the description of the Task tool that makes a model know the agents
    ///
    /// With --json, the whole tool as the Messages API takes it. Descriptions over 8 KiB are cut.
    ///
    ///   $ askbox agents describe
    ///
    ///   $ askbox agents describe --json | jq .description
    Describe,
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
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = values::duration)]
    pub stale: Duration,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

#[allow(missing_docs)]
#[derive(Debug, Args)]
pub struct Tree {
    /// The workflow to show, with everything below it
    pub id: Option<WorkflowId>,
    /// Trees that are over as well
    #[arg(long, conflicts_with = "id")]
    pub all: bool,
    /// Keep the view up to date until Ctrl-C; with --json, one object for every change
    #[arg(short, long)]
    pub follow: bool,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

#[allow(missing_docs)]
#[derive(Debug, Args)]
pub struct Gc {
    /// How long what is over is kept, such as 30d; otherwise history.keep
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub keep: Option<Duration>,
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
