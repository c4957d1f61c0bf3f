//! The arguments of `askbox setup`.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// `askbox setup`
#[derive(Debug, Args)]
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
    /// A variable that the service needs, such as ANTHROPIC_API_KEY; its value is asked for, or read from a pipe
    #[arg(long, value_name = "NAME", conflicts_with = "remove")]
    pub credential: Option<String>,
}

/// A part of a setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The configuration file
    Config,
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
    /// All parts, in the order in which they are set up.
    pub const ALL: [Self; 6] = [Self::Config, Self::Service, Self::Credentials, Self::Plugin, Self::ClaudeMd, Self::Permissions];

    /// The part as a heading.
    #[must_use]
    pub fn heading(self) -> &'static str {
        match self {
            Self::Config => "Configuration",
            Self::Service => "Service",
            Self::Credentials => "Credentials of the service",
            Self::Plugin => "Plugin of Claude Code",
            Self::ClaudeMd => "Section of CLAUDE.md",
            Self::Permissions => "Permissions in Claude Code",
        }
    }
}

impl Setup {
    /// The parts that the flags are about.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let is_chosen = |part: &Part| (self.only.is_empty() || self.only.contains(part)) && !self.without.contains(part);
        let mut chosen: Vec<_> = Part::ALL.into_iter().filter(is_chosen).collect();
        // An agent that reads the same twice pays for it twice.
        if !self.remove && !self.only.contains(&Part::ClaudeMd) && chosen.contains(&Part::Plugin) {
            chosen.retain(|part| *part != Part::ClaudeMd);
        }
        chosen
    }
}
