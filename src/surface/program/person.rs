//! The person who answers through a program.

use crate::error::Result;
use crate::mailbox::documents::fields::through::Through;
use crate::mailbox::who::answerer::Answerer;
use crate::platform::ancestry;
use crate::surface::program;

/// The person named `by`, or else the user, who answers through `channel` at a terminal: or an agent, if this is a command of one. The answers
/// are signed as the configuration says.
///
/// # Errors
/// [`crate::error::Error::Usage`] if `by` is no person's name; [`crate::error::Error::Failed`] if the answer would not count.
pub fn person(by: Option<&str>, channel: &str) -> Result<Answerer> {
    let through = if ancestry::is_below_an_agent() { Through::Agent } else { Through::Terminal };
    answerer(by.map_or_else(program::user, str::to_owned), channel, through)
}

/// Somebody who answers through this. The answers are signed as the configuration says.
///
/// # Errors
/// Those of [`person`].
#[cfg(feature = "relaunch")]
pub fn answerer(by: impl Into<String>, channel: &str, through: Through) -> Result<Answerer> {
    let signer = match crate::config::load() {
        Ok(loaded) => loaded.config.answers.signer(&through)?,
        // A mistake in the file keeps nobody from answering. Where an answer must be signed, this one is refused later, and asked for again.
        Err(e) => {
            program::say(&format!("warning: the answer is not signed: {e}\n"));
            None
        }
    };
    Ok(Answerer::person(by, channel, through)?.signing(signer))
}

/// Whether the configuration says that only signed answers count. It is read once.
#[must_use]
pub fn only_signed_answers_count() -> bool {
    #[cfg(feature = "relaunch")]
    {
        static COUNT: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        *COUNT.get_or_init(|| crate::config::load().is_ok_and(|loaded| loaded.config.answers.require_signed))
    }
    #[cfg(not(feature = "relaunch"))]
    false
}

/// Without the `relaunch` feature there is no configuration.
///
/// # Errors
/// Those of [`person`].
#[cfg(not(feature = "relaunch"))]
pub fn answerer(by: impl Into<String>, channel: &str, through: Through) -> Result<Answerer> {
    Answerer::person(by, channel, through)
}
