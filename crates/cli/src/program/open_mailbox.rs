//! The mailbox that the flags of a program name.

use crate::args::common::Common;
use crate::program::{self, Context};
use askbox_mailbox::{Error, Mailbox, Result};

impl Common {
    /// Opens the mailbox, which must exist.
    pub fn open(&self) -> Result<Mailbox> {
        Mailbox::open(Mailbox::locate(self.mailbox.as_deref())?).map(say_tightened)
    }

    /// Opens the mailbox to list its content. If its folder does not exist yet, there is nothing to list, and standard error says that.
    ///
    /// An agent's run has a mailbox from the start, so a missing mailbox is an error there.
    pub fn open_if_there(&self) -> Result<Option<Mailbox>> {
        self.open_or(|message, hint| program::say(&format!("{message}: {hint}\n")))
    }

    /// [`Self::open_if_there`], but silent if the folder does not exist yet.
    pub fn open_if_made(&self) -> Result<Option<Mailbox>> {
        self.open_or(|_, _| {})
    }

    fn open_or(&self, missing: impl FnOnce(&str, &str)) -> Result<Option<Mailbox>> {
        let path = Mailbox::locate(self.mailbox.as_deref())?;
        match self.open() {
            Err(Error::NotFound { message, hint }) if program::env("ASKBOX_RUN").is_none() && path.symlink_metadata().is_err() => {
                missing(&message, &hint);
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// Opens the mailbox for a surface that also answers questions of other machines. If the configuration names other machines, a missing
    /// mailbox is created as in [`Self::open_or_create`], because a machine that only answers has never asked anything. Otherwise the
    /// mailbox must exist.
    pub fn open_to_answer(&self, context: &Context) -> Result<Mailbox> {
        match self.open() {
            Err(Error::NotFound { .. }) if program::env("ASKBOX_RUN").is_none() && context.names_other_machines() => {
                let mailbox = self.open_or_create()?;
                program::say(&format!("note: an empty mailbox was made: {}\n", mailbox.root().display()));
                Ok(mailbox)
            }
            other => other,
        }
    }

    /// Opens the mailbox, and creates it if it does not exist. An agent's run has a mailbox from the start. If that one is missing now, it
    /// was moved, and a new one in its place would hide it, so this is then an error.
    pub fn open_or_create(&self) -> Result<Mailbox> {
        let path = Mailbox::locate(self.mailbox.as_deref())?;
        if self.mailbox.is_some() || program::env("ASKBOX_RUN").is_none() {
            return Mailbox::open_or_create(path).map(say_tightened);
        }
        Mailbox::open(path).map(say_tightened).map_err(|e| match e {
            Error::NotFound { message, .. } => Error::not_found(
                format!("{message}: it was there when this run began, so it was moved, removed or unmounted"),
                "bring it back, or name its new place with --mailbox DIR",
            ),
            other => other,
        })
    }
}

fn say_tightened(mailbox: Mailbox) -> Mailbox {
    if let Some(said) = mailbox.tightened() {
        program::say(&format!("note: {said}\n"));
    }
    mailbox
}
