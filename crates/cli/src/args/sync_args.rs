//! `askbox sync`'s arguments.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};

use crate::args::value_parsers;

/// `askbox sync`
#[derive(Debug, Subcommand)]
pub enum SyncCommand {
    /// Serve this machine: tell the database its questions, and decide the answers that people offer there
    ///
    /// The database is `sync.database` in the configuration; its role is the name of this host. The process needs no rights but those of that
    /// role, and runs until it is ended. While the database is away, everything on this machine goes on.
    ///
    /// Of a mailbox and its copy, the one whose process started last is the host. The other process ends with status 4, and does not begin
    /// again before --take-over says that it is the host.
    #[command(after_help = "Examples:
  $ askbox sync run
  $ askbox sync run --take-over        after this mailbox was restored from a backup")]
    Run(SyncRun),
    /// Make or update the schema of the database, and the partitions of the next weeks
    ///
    /// Run it as the role that owns the schema; the first time it makes the roles askbox_host and askbox_person, which takes the right to make
    /// roles. Everything happens in one transaction. A database of another major version is refused.
    #[command(after_help = "Examples:
  $ PGUSER=postgres askbox sync migrate
  $ askbox sync migrate --print | less")]
    Migrate(SyncMigrate),
    /// Print the statements that make the role of a host or of a person
    ///
    /// A host's role writes its own rows and decides its own offers. A person's role reads all questions and offers answers. Neither deletes,
    /// nor changes the schema.
    #[command(after_help = "Examples:
  $ askbox sync roles --host laptop --host build --person ann | psql askbox")]
    Roles(SyncRoles),
    /// Remove old rounds from the database, and make the partitions of the next weeks
    ///
    /// What is over goes a week at a time; a question that is open stays, and so does an offer that no host has decided. Nothing is removed
    /// from any mailbox. Run it as the role that owns the schema, once a week.
    #[command(after_help = "Examples:
  $ PGUSER=postgres askbox sync prune --keep 30d")]
    Prune(SyncPrune),
}

/// Which database.
#[derive(Debug, Args)]
pub struct InDatabase {
    /// The database, as a URL or as key=value pairs [default: sync.database, else the variables of libpq]
    #[arg(long, value_name = "ADDRESS")]
    pub database: Option<String>,
}

/// `askbox sync run`
#[derive(Debug, Args)]
pub struct SyncRun {
    /// Be this host even if the database knows another mailbox as it
    #[arg(long)]
    pub take_over: bool,
    /// End once everything is told, and every offer is decided that waits now
    #[arg(long)]
    pub once: bool,
    #[command(flatten)]
    pub database: InDatabase,
    /// The mailbox folder [default: $ASKBOX_DIR, else ~/.claude/questions]
    #[arg(long, value_name = "DIR")]
    pub mailbox: Option<PathBuf>,
}

/// `askbox sync migrate`
#[derive(Debug, Args)]
pub struct SyncMigrate {
    /// Print all statements, and connect to nothing
    #[arg(long)]
    pub print: bool,
    #[command(flatten)]
    pub database: InDatabase,
}

/// `askbox sync roles`
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("who").args(["host", "person"]).required(true).multiple(true)))]
pub struct SyncRoles {
    /// The name of a host, up to 32 of a-z, 0-9, - and _
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,
    /// The name of a person, or of a hub that several people use
    #[arg(long, value_name = "NAME")]
    pub person: Vec<String>,
}

/// `askbox sync prune`
#[derive(Debug, Args)]
pub struct SyncPrune {
    /// How long rounds stay that are over
    #[arg(long, value_name = "DURATION", default_value = "30d", value_parser = value_parsers::duration)]
    pub keep: Duration,
    #[command(flatten)]
    pub database: InDatabase,
}
