//! A watcher's connection to its mailbox: the file events, the mark that the service runs, and the mailbox's identity.

use std::sync::mpsc::Sender;

use crate::disk::file_events::Hints;
use crate::error::{Error, Result};
use crate::mailbox::Mailbox;
use crate::mailbox::who::presence::{self, Presence};
use crate::watch::availability::{self, Identity};
use crate::watch::messages::{Left, Options, WatchMessage};

/// A watcher's connection to its mailbox. It ends when it is dropped.
pub(super) struct Connection {
    identity: Identity,
    /// `None` for a watcher that polls.
    hints: Option<Hints>,
    /// Only the service announces itself.
    _presence: Option<Presence>,
}

impl Connection {
    /// Every answer that comes after this returns is seen.
    pub(super) fn open(mailbox: &Mailbox, options: &Options, sender: &Sender<WatchMessage>) -> Result<Self> {
        let hints = if options.poll.is_none() { Some(watch_folders(mailbox, sender.clone())?) } else { None };
        let presence = options.scope.is_service().then(|| presence::announce(mailbox)).transpose()?;
        let gone = || Error::failed("the mailbox vanished", "start the watcher again");
        let identity = availability::identity(mailbox.root()).ok_or_else(gone)?;
        Ok(Self { identity, hints, _presence: presence })
    }

    /// True if there are no file events. Every look around then reads every file.
    pub(super) fn polls(&self) -> bool {
        self.hints.is_none()
    }

    /// Returns the reason to leave the mailbox, if there is one.
    pub(super) fn broken(&self, mailbox: &Mailbox) -> Option<Left> {
        if availability::identity(mailbox.root()).as_ref() != Some(&self.identity) {
            return Some(Left::MailboxGone);
        }
        (!availability::is_trusted(mailbox.root())).then_some(Left::NotTrusted)
    }
}

/// Sends a message for every file event in the mailbox that matters to a watcher.
fn watch_folders(mailbox: &Mailbox, sender: Sender<WatchMessage>) -> Result<Hints> {
    let root = mailbox.root().to_path_buf();
    let mut hints = Hints::new(move |hint| {
        if !availability::is_noise(&root, &hint) {
            let _ = sender.send(WatchMessage::Hint(hint));
        }
    })?;
    for folder in availability::WATCHED {
        hints.watch(&mailbox.folder(folder))?;
    }
    // Tells of the mailbox's own removal or renaming. Watching the folder above would also tell of everything else there.
    let _ = hints.watch(mailbox.root());
    Ok(hints)
}
