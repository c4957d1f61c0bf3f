//! What a program finds out once, and hands down: what is above its process, and the operator's configuration.

use std::sync::{Arc, OnceLock};
#[cfg(feature = "relaunch")]
use std::sync::{Mutex, PoisonError};

#[cfg(feature = "relaunch")]
use crate::config::{self, Config, Loaded};
use crate::error::Result;
use crate::mailbox::documents::fields::through::Through;
use crate::mailbox::who::caller::{Below, Caller};
use crate::surface::program;

/// Where a program runs. Everything in it is found when it is first needed. Clones share what was found.
#[derive(Debug, Clone, Default)]
pub struct Context(Arc<Found>);

#[derive(Debug, Default)]
struct Found {
    below: OnceLock<Below>,
    #[cfg(feature = "relaunch")]
    config: Mutex<Option<Arc<Loaded>>>,
}

impl Context {
    /// What is above this process.
    pub fn below(&self) -> Below {
        *self.0.below.get_or_init(Below::of_this_process)
    }

    /// Who decides by a command of this process: the person named `by`, or else the user; `channel` is the program. The answers are signed as the
    /// configuration says.
    ///
    /// # Errors
    /// [`crate::error::Error::Usage`] if `by` is no person's name; [`crate::error::Error::Failed`] if the answer would not count.
    pub fn caller(&self, by: Option<&str>, channel: &str) -> Result<Caller> {
        self.caller_through(by.map_or_else(program::user, str::to_owned), channel, self.below().through())
    }

    /// Who decides through this process in another way than by a command.
    ///
    /// # Errors
    /// Those of [`Self::caller`].
    pub fn caller_through(&self, by: impl Into<String>, channel: &str, through: Through) -> Result<Caller> {
        #[cfg(feature = "relaunch")]
        let signer = match self.loaded() {
            Ok(loaded) => loaded.config.answers.signer(&through)?,
            // A mistake in the file keeps nobody from answering. Where an answer must be signed, this one is refused later, and asked for again.
            Err(e) => {
                program::say(&format!("warning: the answer is not signed: {e}\n"));
                None
            }
        };
        let caller = Caller::new(by, channel, through, self.below())?;
        #[cfg(feature = "relaunch")]
        let caller = caller.signing(signer);
        Ok(caller)
    }

    /// The configuration, with where it comes from. It is read once.
    ///
    /// # Errors
    /// Those of [`config::load`].
    #[cfg(feature = "relaunch")]
    pub fn loaded(&self) -> Result<Arc<Loaded>> {
        let mut known = self.0.config.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(loaded) => Ok(Arc::clone(loaded)),
            None => Ok(Arc::clone(known.insert(Arc::new(config::load()?)))),
        }
    }

    /// A copy of the configuration.
    ///
    /// # Errors
    /// Those of [`config::load`].
    #[cfg(feature = "relaunch")]
    pub fn config(&self) -> Result<Config> {
        self.loaded().map(|loaded| loaded.config.clone())
    }

    /// Forgets the configuration: what follows reads it anew. For a service, whose operator may have changed it.
    #[cfg(feature = "relaunch")]
    pub fn reload(&self) {
        *self.0.config.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// True if the configuration says that only signed answers count.
    #[must_use]
    pub fn only_signed_answers_count(&self) -> bool {
        #[cfg(feature = "relaunch")]
        return self.loaded().is_ok_and(|loaded| loaded.config.answers.require_signed);
        #[cfg(not(feature = "relaunch"))]
        false
    }

    /// True if the configuration can be read and names other machines.
    #[must_use]
    pub fn names_other_machines(&self) -> bool {
        #[cfg(feature = "relaunch")]
        return self.loaded().is_ok_and(|loaded| loaded.config.names_other_machines());
        #[cfg(not(feature = "relaunch"))]
        false
    }
}
