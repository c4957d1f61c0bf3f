//! `askbox sync`: this machine's questions in a database, and the schema of that database.

use std::sync::mpsc;

use crate::sync::connection::Database;
use crate::sync::host::requests;
use crate::sync::host::service::{self, Start};
use crate::sync::migrate::{self, ALL};
use crate::sync::partitions;
use askbox_cli::args::sync_args::{InDatabase, SyncCommand, SyncRun};
use askbox_cli::{Context, program};
use askbox_config::Sync;
use askbox_mailbox::{Mailbox, Result, thread};
use askbox_run::log;
use askbox_watch::connection;
use askbox_watch::messages::Options;

/// Runs one of its commands.
///
/// # Errors
/// The errors of the command.
pub fn run(command: &SyncCommand, context: &Context) -> Result<u8> {
    match command {
        SyncCommand::Run(args) => serve(args, context)?,
        SyncCommand::Migrate(args) if args.print => {
            ALL.iter().try_for_each(|m| program::print(&format!("-- {m}, SHA-256 {}\n{}\n", m.sha256(), m.sql)))?;
        }
        SyncCommand::Migrate(args) => {
            let database = database(&args.database, context)?;
            let applied = migrate::migrate(&database)?;
            applied.iter().try_for_each(|m| program::print(&format!("applied {m}\n")))?;
            program::print(&format!("{} is up to date\n", database.shown))?;
        }
        SyncCommand::Roles(args) => program::print(&migrate::statements(&args.host, &args.person)?)?,
        SyncCommand::Prune(args) => {
            let pruned = partitions::prune(&database(&args.database, context)?, args.keep)?;
            program::print(&format!("removed {} partitions and {} rows\n", pruned.weeks, pruned.rows))?;
        }
    }
    Ok(0)
}

fn settings(at: &InDatabase, context: &Context) -> Result<Sync> {
    let sync = context.config()?.sync;
    Ok(Sync { database: at.database.clone().unwrap_or(sync.database), ..sync })
}

fn database(at: &InDatabase, context: &Context) -> Result<Database> {
    let settings = settings(at, context)?;
    Database::at(&settings.database, &settings.root_certificate)
}

fn serve(args: &SyncRun, context: &Context) -> Result<()> {
    let settings = settings(&args.database, context)?;
    log::to_stderr(false);
    let root = Mailbox::locate(args.mailbox.as_deref())?;
    let start = Start { once: args.once, take_over: args.take_over };
    let policy_now = || {
        context.reload();
        Ok(context.loaded()?.config.answers.policy())
    };
    let run = |mailbox: Mailbox| {
        if settings.sessions && !args.once {
            let (settings, mailbox, context) = (settings.clone(), mailbox.clone(), context.clone());
            thread::start(move || requests::serve(&settings, &mailbox, &context))?;
        }
        service::run(&mailbox.for_a_service(), &settings, start, &policy_now, &|database, epoch| {
            tracing::info!(event = "sync", "this mailbox is the host {} (epoch {}), by {}", database.user, epoch.number, database.shown);
        })
    };
    if args.once {
        return run(Mailbox::open(root)?);
    }
    let (sender, messages) = mpsc::channel();
    while let Some(mailbox) = connection::wait_for_mailbox(&root, &Options::default(), &messages, &sender, || ())? {
        match run(mailbox) {
            Err(e) if !root.exists() => log::error(&e),
            other => return other,
        }
    }
    Ok(())
}
