//! News: notifies people, at the desk or on the phone, about events of questions, so that they need not look.
//!
//! One thread of the watcher notifies all targets. The folders of the mailbox alone decide what is sent (`wanted`): a message to the
//! thread only says where to look. Each round has one record on disk for each target. In it, each event goes from `wanted` over
//! `sending` to `sent`, or is dropped. So a restart forgets nothing. An event that a crash leaves at `sending` is sent again with the
//! same id, so that the target can replace the first message or recognize the second.
//!
//! ```text
//! look    mailbox → facts → which events are wanted → record
//! tell    due, not in quiet hours, nobody sees it anyway → a program of the target, at most four at a time, many events as one
//! hear    a button on a phone → a message in ntfy's topic for replies → the ordinary answer, once
//! ```
//! If a mailbox has several watchers, the one that holds the lock `locks/news` notifies.
//!
//! | file | idea |
//! |---|---|
//! | [`courier`] | the thread: look, tell, hear |
//! | `note` | the messages to the thread |
//! | `desk` | one target at work |
//! | `wanted` | the state of a round in the mailbox, and the events to send that follow from it |
//! | `terminals` | the dialogs at terminals that nobody can answer from another place |
//! | `record` | how far each event of a round and a target has come, and these records on disk |
//! | `present` | whether a person sees a new question anyway |
//! | `post` | which events are sent now, and which together |
//! | `message` | an event in words and as JSON |
//! | `means` | the programs that notify each kind of target |
//! | `buttons` | answers by buttons in a notification |
//! | [`arrivals`] | when a target was last notified, and when that last failed; `askbox notify test`: one message now |
//! | [`reachable`] | whether the server of a target can be reached |
//! | [`waiting`] | the events that should have been sent long ago |
//!
//! # Limitations
//! It is only known that a target took an event: no notification service reports whether a person saw it. Records are not synced, so
//! after a power cut a target may get an event twice, with the same id.

pub mod arrivals;
mod buttons;
pub mod courier;
mod desk;
mod means;
mod message;
mod note;
mod post;
mod present;
pub mod reachable;
mod record;
mod terminals;
pub mod waiting;
mod wanted;

#[doc(hidden)]
pub use buttons::fuzzed;

use std::path::Path;

use crate::outgoing::curl;
use askbox_config::{Means, Target};

/// The program that a target needs.
pub fn program(target: &Target) -> Option<&Path> {
    match target.means()? {
        Means::Exec(command) => command.first().map(Path::new),
        Means::Desktop => Some(Path::new(means::NOTIFIER)),
        Means::Webhook(_) | Means::Ntfy(_) => Some(Path::new(curl::CURL)),
    }
}
