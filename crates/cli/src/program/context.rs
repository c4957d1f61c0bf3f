//! Facts that a program finds out once and passes on: the agents and runs above its process, and the operator's configuration.
//!
//! The mailbox that the flags of a program name.

use std::sync::{Arc, Mutex, OnceLock};

use crate::args::common::Common;
use crate::program;
use askbox_config as config;
use askbox_config::{Config, Loaded};
use askbox_mailbox::{Below, Caller, Error, Mailbox, Result, Through, thread};

/// The surroundings of a program. Each part is found when it is first needed. Clones share what was found.
#[derive(Debug, Clone, Default)]
pub struct Context(Arc<Found>);

#[derive(Debug, Default)]
struct Found {
    below: OnceLock<Below>,
    config: Mutex<Option<Arc<Loaded>>>,
}

impl Context {
    /// The agents and runs above this process.
    pub fn below(&self) -> Below {
        *self.0.below.get_or_init(Below::of_this_process)
    }

    /// The caller for a decision by a command of this process: the person named `by`, or else the user. `channel` is the program. The
    /// answers are signed as the configuration says.
    ///
    /// # Errors
    /// [`askbox_mailbox::error::Error::Usage`] if `by` is not a person's name; [`askbox_mailbox::error::Error::Failed`] if the answer would not count.
    pub fn caller(&self, by: Option<&str>, channel: &str) -> Result<Caller> {
        self.caller_through(by.map_or_else(program::user, str::to_owned), channel, self.below().through())
    }

    /// The caller for a decision that reaches this process in another way than by a command.
    ///
    /// # Errors
    /// The errors of [`Self::caller`].
    pub fn caller_through(&self, by: impl Into<String>, channel: &str, through: Through) -> Result<Caller> {
        if through == Through::Mcp && program::is_for_fenced_run() {
            return Err(Error::conflict("an agent behind a fence answers no question", "ask your user, with `ask_user`"));
        }
        let signer = match self.loaded() {
            Ok(loaded) => loaded.config.answers.signer(&through)?,
            // A mistake in the file does not stop anybody from answering. If the answer must be signed, it is refused later and asked for
            // again.
            Err(e) => {
                program::say(&format!("warning: the answer is not signed: {e}\n"));
                None
            }
        };
        let caller = Caller::new(by, channel, through, self.below())?;
        let caller = caller.signing(signer);
        Ok(caller)
    }

    /// The configuration and its sources. It is read once.
    ///
    /// # Errors
    /// The errors of [`config::load`].
    pub fn loaded(&self) -> Result<Arc<Loaded>> {
        let mut known = thread::locked(&self.0.config);
        match &*known {
            Some(loaded) => Ok(Arc::clone(loaded)),
            None => Ok(Arc::clone(known.insert(Arc::new(config::load()?)))),
        }
    }

    /// A copy of the configuration.
    ///
    /// # Errors
    /// The errors of [`config::load`].
    pub fn config(&self) -> Result<Config> {
        self.loaded().map(|loaded| loaded.config.clone())
    }

    /// Forgets the configuration, so that it is read again when next needed. For a service, whose operator may have changed it.
    pub fn reload(&self) {
        *thread::locked(&self.0.config) = None;
    }

    /// True if the configuration says that only signed answers count.
    pub fn only_signed_answers_count(&self) -> bool {
        self.loaded().is_ok_and(|loaded| loaded.config.answers.require_signed)
    }

    /// True if the configuration can be read and names other machines.
    pub fn names_other_machines(&self) -> bool {
        self.loaded().is_ok_and(|loaded| loaded.config.names_other_machines())
    }
}

/// True if the configuration names other machines. This only searches its text: `askbox` then parses it.
pub fn has_peers() -> bool {
    use askbox_config as config;
    let text = config::location().and_then(|path| askbox_mailbox::disk::read(&path, config::MAX_CONFIG).ok());
    let is_section = |line: &str| line.trim_start().trim_start_matches(['[', ' ', '"']).starts_with("peers");
    text.is_some_and(|text| String::from_utf8_lossy(askbox_mailbox::text::without_bom(&text)).lines().any(is_section))
}

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
                missing(&message, &hint.to_string());
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
