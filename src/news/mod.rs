//! News: people hear of what happens to questions, at the desk or on the phone, without looking.
//!
//! One thread of the watcher tells all targets. What is to be told comes from the folders of the mailbox alone (`events`): a message to
//! the thread only says where to look. Of each round and target there is one record on disk, in which each event goes from `wanted` over
//! `sending` to `sent`, or is dropped. So a restart forgets nothing; and what a crash leaves at `sending` is told again with the same id,
//! by which the target replaces it or knows it.
//!
//! ```text
//! look    mailbox → facts → which events are wanted → record
//! tell    due, not in quiet hours, nobody at an inbox → a program of the target, at most four at a time, many events as one
//! hear    a button on a phone → a message in ntfy's topic for replies → the ordinary answer, once
//! ```
//! Among several watchers of a mailbox, the one that holds the lock `locks/news` tells.
//!
//! | file | idea |
//! |---|---|
//! | [`courier`] | the thread: look, tell, hear |
//! | `note` | what that thread is told |
//! | `desk` | one target at work |
//! | `events` | which events there are to tell, and how far each has come |
//! | `post` | which events are told now, and which together |
//! | `message` | an event in words and as JSON |
//! | `means` | how each kind of target is told |
//! | `call` | one run of a program, within a time limit |
//! | `buttons` | answers by buttons in a notification |
//! | [`arrivals`] | when a target was last told, and when that last failed |
//! | [`waiting`] | what should have been told long ago |
//! | [`trial`] | `askbox notify test`: one message now |
//!
//! # Limitations
//! That a target took an event is all that is known: no notification service says whether a person saw it. Records are not synced; after a
//! power cut, a target may be told an event twice, with the same id.

pub mod arrivals;
mod buttons;
mod call;
pub mod courier;
mod desk;
mod events;
mod means;
mod message;
mod note;
mod post;
pub mod trial;
pub mod waiting;

#[cfg(feature = "fuzzing")]
pub use buttons::fuzzed;

use std::path::Path;

use crate::config::{Means, Target};

/// The program that a target needs.
#[must_use]
pub fn program(target: &Target) -> Option<&Path> {
    match target.means()? {
        Means::Exec(command) => command.first().map(Path::new),
        Means::Desktop => Some(Path::new(means::DESKTOP)),
        Means::Webhook(_) | Means::Ntfy(_) => Some(Path::new(means::CURL)),
    }
}
