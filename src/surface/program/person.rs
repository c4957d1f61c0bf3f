//! The person who answers through a command of this process.

use crate::error::Result;
use crate::mailbox::answerer::Answerer;
use crate::mailbox::documents::through::Through;
use crate::platform::ancestry;
use crate::surface::program;

/// The person named `by`, or else the user, who answers through `channel` at a terminal: or an agent, if this is a command of one.
///
/// # Errors
/// [`crate::error::Error::Usage`] if `by` is no person's name.
pub fn person(by: Option<&str>, channel: &str) -> Result<Answerer> {
    let through = if ancestry::is_below_an_agent() { Through::Agent } else { Through::Terminal };
    Answerer::person(by.map_or_else(program::user, str::to_owned), channel, through)
}
