//! How each kind of target is told: the program that is run, and what it reads.
//!
//! | file | target |
//! |---|---|
//! | `exec` | the operator's program |
//! | `desktop` | a notification on this desktop |
//! | `webhook` | a signed request |
//! | `ntfy` | a message to a topic of an ntfy server, with buttons |
//! | `curl` | a request by `curl`, which the last two make |

mod curl;
mod desktop;
mod exec;
pub(super) mod ntfy;
mod webhook;

use crate::config::{Means, Target};
use crate::error::{Error, Result};
use crate::news::call::Call;
use crate::news::message::Message;

pub(super) use curl::PROGRAM as CURL;
pub(super) use desktop::PROGRAM as DESKTOP;

/// The program that tells a target. `replies` makes the texts by which buttons answer.
pub(super) fn call(target: &Target, message: &Message, replies: &[String]) -> Result<Call> {
    match target.means() {
        Some(Means::Exec(command)) => exec::call(command, message),
        Some(Means::Desktop) => Ok(desktop::call(message)),
        Some(Means::Webhook(url)) => webhook::call(url, target, message),
        Some(Means::Ntfy(url)) => ntfy::call(url, target, message, replies),
        None => Err(Error::failed("the target says no way to be told", "add exec, desktop, webhook or ntfy to it")),
    }
}
