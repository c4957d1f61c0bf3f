//! The arguments of the commands of `askbox`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::args::common::Common;
use crate::args::value_parsers;
use askbox_config::{ArchiveAfter, ToolRule, Way};
use askbox_mailbox::dialogs::Program;
use askbox_mailbox::{Address, Policy, PublicKey, RoundId, WorkflowId};

/// `askbox keygen`
#[derive(Debug, Args)]
pub struct Keygen {
    /// The new file for the secret key [default: answer.key beside the configuration file]
    pub file: Option<PathBuf>,
    /// The name that stands beside the public key [default: $USER]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Make no key: print the public half of the key in this file
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub public: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long)]
    pub json: bool,
}

/// `askbox inbox`
#[derive(Debug, Args)]
pub struct Inbox {
    /// The question that is open first
    pub id: Option<Address>,
    /// The name of the person who answers [default: $USER]
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct Mcp {
    /// The mailbox folder [default: $ASKBOX_DIR, else ~/.claude/questions]
    #[arg(long, value_name = "DIR")]
    pub mailbox: Option<PathBuf>,
    /// Another name of the tool `ask_user`, for a client that has a tool of its own by that name
    #[arg(long, value_name = "NAME")]
    pub ask_as: Option<String>,
}

#[derive(Debug, Args)]
pub struct Hook {
    /// A rule of `[approvals] ask` (given by the supervisor)
    #[arg(long, hide = true, value_name = "RULE")]
    pub ask: Vec<ToolRule>,
    /// A rule of `[approvals] refuse` (given by the supervisor)
    #[arg(long, hide = true, value_name = "RULE")]
    pub refuse: Vec<ToolRule>,
    /// A way of `[answers] accept` (given by the supervisor, if not all are accepted)
    #[arg(long, hide = true, value_name = "WAY")]
    pub accept: Vec<Way>,
    /// `[answers] permits_by_file` (given by the supervisor, if it is set)
    #[arg(long, hide = true)]
    pub permits_by_file: bool,
    /// A key of `[answers] trusted_keys` (given by the supervisor, if answers must be signed)
    #[arg(long, hide = true, value_name = "KEY", value_parser = |key: &str| PublicKey::try_from(key.to_owned()))]
    pub trusted_key: Vec<PublicKey>,
    /// Close this round once the session has taken its answer (given by the hook beside a dialog)
    #[arg(long, hide = true, value_name = "ROUND", value_parser = round)]
    pub receipt: Option<RoundId>,
    /// Withdraw what the hook of this workflow has left, once it has ended (given by the hook beside a dialog)
    #[arg(long, hide = true, value_name = "ID", requires = "ended")]
    pub left: Option<WorkflowId>,
    /// How the dialog of that hook has ended
    #[arg(long, hide = true, value_name = "HOW", requires = "left")]
    pub ended: Option<String>,
    /// Take an event of this program, whose dialogs are told as news: `[live] news`
    #[arg(long, value_name = "PROGRAM", value_parser = value_parsers::news_program(), conflicts_with_all = ["ask", "refuse", "receipt", "left"])]
    pub from: Option<Program>,
}

fn round(word: &str) -> Result<RoundId, String> {
    RoundId::from_file_name(&format!("{word}.json")).ok_or_else(|| "it names no round".into())
}

impl Hook {
    /// Returns the rules that an answer must meet to count.
    pub fn policy(&self) -> Policy {
        let any = Policy::default().accept;
        let accept = if self.accept.is_empty() { any } else { self.accept.iter().cloned().map(Way::into).collect() };
        let signed_by = Some(self.trusted_key.clone()).filter(|keys| !keys.is_empty());
        Policy { accept, signed_by, permits_by_file: self.permits_by_file }
    }
}

#[derive(Debug, Args)]
pub struct Live {
    /// The program of the sessions
    #[arg(value_enum)]
    pub program: LiveProgram,
}

/// A program whose dialogs `askbox live` holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LiveProgram {
    /// opencode, by the plugin that `askbox setup --opencode` writes
    Opencode,
    /// GitHub's Copilot (an experiment), by the extension that `askbox setup --copilot` writes
    Copilot,
}

#[derive(Debug, Args)]
pub struct Agents {
    #[command(subcommand)]
    pub what: WhatOfAgents,
    /// The folder that an agent would work in [default: the current folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum WhatOfAgents {
    /// List the agents, and the files that cannot be read
    ///
    /// Looks at `.claude/agents/**/*.md` of the project and of the user, as claude does: the nearest folder up to the
    /// repository's root wins, and the project wins over the user. Problems go to standard error, as FILE:LINE: problem,
    /// each with a hint. The exit status is 5 if a file cannot be read; the other agents are listed all the same.
    /// Claude reads some files that are not valid YAML; they are problems here. Built-in agents and those of plugins are not
    /// listed.
    #[command(after_help = "Examples:
  $ askbox agents list
  $ askbox agents list --json | jq -r '.problems[] | \"\\(.file): \\(.problem)\"'")]
    List,
    /// Show one agent: its description, its tools, its file, its system prompt
    #[command(after_help = "Examples:
  $ askbox agents show reviewer
  $ askbox agents show reviewer --json | jq -r .prompt")]
    Show {
        /// The agent's name
        name: String,
    },
    /// Print the description of a Task tool that names the agents to a model
    ///
    /// With --json, the whole tool is printed, as the Messages API takes it. Descriptions over 8 KiB are cut.
    #[command(after_help = "Examples:
  $ askbox agents describe
  $ askbox agents describe --json | jq .description")]
    Describe,
}

#[derive(Debug, Args)]
pub struct Demo {
    /// Answer automatically; this is the default where there is no terminal
    #[arg(long)]
    pub auto: bool,
    /// Keep the temporary folder
    #[arg(long)]
    pub keep: bool,
}

#[derive(Debug, Args)]
pub struct Doctor {
    /// Check only the files of this workflow: its documents, rounds, runs and waits
    pub id: Option<WorkflowId>,
    /// Check every closed round. Without it, only the newest ones and their workflows are checked
    #[arg(long)]
    pub all_rounds: bool,
    /// The age from which an unanswered question is stale, such as 12h or 3d
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = value_parsers::duration)]
    pub stale: Duration,
    /// Also print every value of the configuration in force, and where it comes from
    #[arg(long, conflicts_with = "id")]
    pub config: bool,
    /// Run no check, but list them: what each reads, and the kinds of problem that it names
    #[arg(long, conflicts_with_all = ["id", "config"])]
    pub checks: bool,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct Tree {
    /// The workflow to show, with everything below it
    pub id: Option<WorkflowId>,
    /// Include the trees that are over
    #[arg(long, conflicts_with = "id")]
    pub all: bool,
    /// Keep the view up to date until Ctrl-C; with --json, print one object for every change
    #[arg(short, long)]
    pub follow: bool,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct History {
    /// Only the rounds of this workflow
    pub id: Option<WorkflowId>,
    /// How many rounds to show; 0 shows all [default: 20, and with --json all]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Only rounds that changed in this time, such as 2d
    #[arg(long, value_name = "DURATION", value_parser = value_parsers::duration)]
    pub since: Option<Duration>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct Gc {
    /// Archive rounds that ended longer ago, such as 30d, or `never` [default: history.archive]
    #[arg(long, value_name = "DURATION")]
    pub archive: Option<ArchiveAfter>,
    /// How long history is kept, such as 1y [default: history.keep]
    #[arg(long, value_name = "DURATION", value_parser = value_parsers::duration)]
    pub keep: Option<Duration>,
    /// Print what would be archived and removed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub common: Common,
}

/// `askbox notify`
#[derive(Debug, Subcommand)]
pub enum NotifyCommand {
    /// Send a code to each target, and ask for it: that a server took a message does not say that it arrived
    ///
    /// The exit status is 1 if the arrival of one was not confirmed. `askbox doctor` shows when each target was last told and confirmed.
    #[command(after_help = "Examples:
  $ askbox notify test
  $ askbox notify test phone
  phone: sent. Type the code that arrived at your phone (enter: nothing arrived): 4711
  phone: confirmed")]
    Test(NotifyTest),
}

/// `askbox notify test`
#[derive(Debug, Args)]
pub struct NotifyTest {
    /// The targets [default: all]
    #[arg(value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Do not ask whether it arrived
    #[arg(long)]
    pub send_only: bool,
    /// The mailbox folder [default: $ASKBOX_DIR, else ~/.claude/questions]
    #[arg(long, value_name = "DIR")]
    pub mailbox: Option<PathBuf>,
}

/// `askbox trial`
#[derive(Debug, Default, Args)]
pub struct Trial {
    /// How long to wait for your answer, such as 90s [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = value_parsers::duration)]
    pub wait: Option<Duration>,
    /// The mailbox folder [default: $ASKBOX_DIR, else ~/.claude/questions]
    #[arg(long, value_name = "DIR")]
    pub mailbox: Option<PathBuf>,
}

/// `askbox count`
#[derive(Debug, Args)]
pub struct Count {
    /// For the status line of Claude Code: reads what it sends, and prints a line if a question waits
    ///
    /// It also names the agents of this session that wait in the background, and how long they still wait. Claude Code shows no dialog for
    /// them meanwhile.
    #[arg(long, conflicts_with = "json")]
    pub status_line: bool,
    #[command(flatten)]
    pub common: Common,
}

/// A person's word about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Was {
    /// It was made.
    Made,
    /// It was not made.
    NotMade,
}

/// `askbox fence`
#[derive(Debug, Args)]
pub struct Fence {
    #[command(flatten)]
    pub common: Common,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub command: Vec<String>,
}

/// `askbox once`
#[derive(Debug, Args)]
pub struct Once {
    /// The call, in words of the program's own: 1 to 1024 bytes
    #[arg(required_unless_present = "of")]
    pub call: Option<String>,
    /// Say how the calls of this workflow ended that an attempt which failed has marked, or only CALL
    #[arg(long, value_name = "ID", requires = "was")]
    pub of: Option<String>,
    /// The end: made, so that no later attempt makes it again, or not-made, so that one may
    #[arg(long, requires = "of")]
    pub was: Option<Was>,
    #[command(flatten)]
    pub common: Common,
}

/// `askbox conformance`
#[derive(Debug, Args)]
pub struct Conformance {
    /// Only these checks
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Print the checks, and run none
    #[arg(long)]
    pub list: bool,
    /// How many races there are for each check of a race
    #[arg(long, value_name = "N", default_value = "50")]
    pub races: usize,
    /// How many processes are killed for each check of a kill
    #[arg(long, value_name = "N", default_value = "12")]
    pub kills: usize,
    /// How long one request may take
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = value_parsers::duration)]
    pub limit: Duration,
    /// Print JSON, for programs
    #[arg(long)]
    pub json: bool,
    /// The command of the harness, with its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "list")]
    pub command: Vec<String>,
}

/// `askbox web`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Web {
    #[command(subcommand)]
    pub command: Option<WebCommand>,
    /// Where to listen: a loopback address, or unix:PATH [default: web.listen, else 127.0.0.1:8347]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Subcommand)]
pub enum WebCommand {
    /// Print a link with which one device signs in, once, within ten minutes; on a terminal also as a QR code
    ///
    /// The device's name is recorded with each answer that it gives. What opens the link is shown a button; only the button signs in.
    #[command(after_help = "Examples:
  $ askbox web link
  $ askbox web link \"ann's phone\"
  $ askbox web link --url http://localhost:9000")]
    Link(Link),
    /// List the devices that are signed in
    #[command(after_help = "Examples:
  $ askbox web sessions
  ann's phone  since 2026-11-22 11:15 +01:00, last seen today")]
    Sessions,
    /// Sign devices out
    #[command(after_help = "Examples:
  $ askbox web revoke \"ann's phone\"
  $ askbox web revoke --all")]
    Revoke(Revoke),
    /// Say where the page is and what is wrong with it, as JSON (for `askbox doctor`)
    #[command(hide = true)]
    About,
}

/// `askbox web link`
#[derive(Debug, Args)]
pub struct Link {
    /// The name of the device [default: it is asked for when the device signs in]
    pub device: Option<String>,
    /// How the device reaches the page [default: the first of web.hosts, else the address at which it listens]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

/// `askbox web revoke`
#[derive(Debug, Args)]
pub struct Revoke {
    /// The names of the devices
    #[arg(value_name = "DEVICE", required_unless_present = "all")]
    pub devices: Vec<String>,
    /// All devices, and all links that nobody has used
    #[arg(long, conflicts_with = "devices")]
    pub all: bool,
}

/// `askbox setup`
#[derive(Debug, Clone, Args)]
pub struct Setup {
    /// Take back what setups wrote: new files go, other files become what they were
    #[arg(long)]
    pub remove: bool,
    /// Only show what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Do it without asking
    #[arg(short, long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Show the whole text of each new file too
    #[arg(long, conflicts_with = "remove")]
    pub contents: bool,
    /// Only these parts
    #[arg(long, value_name = "PART", value_enum, value_delimiter = ',')]
    pub only: Vec<Part>,
    /// All parts but these
    #[arg(long, value_name = "PART", value_enum, value_delimiter = ',')]
    pub without: Vec<Part>,
    /// Let the dialogs of your sessions wait in the mailbox as well: sets live.enabled
    #[arg(long, conflicts_with = "remove")]
    pub live: bool,
    /// The same for the sessions of Codex: sets live.codex
    #[arg(long, conflicts_with = "remove")]
    pub codex: bool,
    /// The same for the sessions of opencode: sets live.opencode, and writes the plugin for opencode
    #[arg(long, conflicts_with = "remove")]
    pub opencode: bool,
    /// An experiment, the same for Copilot's permissions: sets live.experimental_copilot, and writes an extension for Copilot
    #[arg(long, conflicts_with = "remove")]
    pub copilot: bool,
    /// A variable that the service needs, such as ANTHROPIC_API_KEY; its value is asked for, or read from a pipe
    #[arg(long, value_name = "NAME", conflicts_with = "remove")]
    pub credential: Option<String>,
}

/// A part of a setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The mailbox, if there is none yet
    Mailbox,
    /// The configuration file
    Config,
    /// The keys of `[live]` in the configuration file, and the plugins of opencode and Copilot; only with --live, --codex, --opencode or --copilot, or if you agree
    Live,
    /// The watcher as a service of systemd
    Service,
    /// The variable that --credential names, in a file that the service reads
    Credentials,
    /// The plugin of Claude Code
    Plugin,
    /// The section of CLAUDE.md, which takes the place of a plugin that is left out
    ClaudeMd,
    /// Rules in Claude Code's settings.json, so that asking and looking need no approval
    Permissions,
}

impl Part {
    /// All parts, in the order of their setup.
    pub const ALL: [Self; 8] =
        [Self::Mailbox, Self::Config, Self::Live, Self::Service, Self::Credentials, Self::Plugin, Self::ClaudeMd, Self::Permissions];

    /// The part as a heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Mailbox => "Mailbox",
            Self::Config => "Configuration",
            Self::Live => "Dialogs of live sessions",
            Self::Service => "Service",
            Self::Credentials => "Credentials of the service",
            Self::Plugin => "Plugin of Claude Code",
            Self::ClaudeMd => "Section of CLAUDE.md",
            Self::Permissions => "Permissions in Claude Code",
        }
    }
}

impl Setup {
    /// The parts that the flags select.
    pub fn parts(&self) -> Vec<Part> {
        let is_live = self.live || self.codex || self.opencode || self.copilot;
        let is_wanted = |part: &Part| self.only.is_empty() || self.only.contains(part) || (is_live && *part == Part::Live);
        // It shows the dialogs of all sessions, so the person has to agree.
        let is_agreed = |part: &Part| *part != Part::Live || is_live || self.remove || self.only.contains(part);
        let is_chosen = |part: &Part| is_wanted(part) && is_agreed(part) && !self.without.contains(part);
        let mut chosen: Vec<_> = Part::ALL.into_iter().filter(is_chosen).collect();
        // The plugin teaches agents the same as the CLAUDE.md section, and an agent that reads it twice pays for it twice.
        if !self.remove && !self.only.contains(&Part::ClaudeMd) && chosen.contains(&Part::Plugin) {
            chosen.retain(|part| *part != Part::ClaudeMd);
        }
        chosen
    }

    /// True if files for live sessions may be written.
    pub fn allows_live(&self) -> bool {
        !self.without.contains(&Part::Live)
    }

    /// True if the files that an earlier setup wrote for live sessions are brought up to date.
    pub fn updates_live(&self) -> bool {
        self.allows_live() && (self.only.is_empty() || self.only.contains(&Part::Live))
    }
}
