//! The words about work that a session does not have, because its agent died before it had written the history.

use crate::protocol::PlayedBack;
use askbox_config::Config;
use askbox_mailbox::{AttemptId, Mailbox, RoundId, round};
use askbox_run::attempt::earlier_calls::EarlierCalls;
use askbox_run::prompt::earlier_attempt::{self, Has};
use askbox_run::prompt::message;
use askbox_run::words::inserted::quoted;
use askbox_run::{Run, record};

/// In front of a message that the session does not have.
const NO_MESSAGE: &str = "You had this message before, and your program died before it had written it down. It is not a new task:";

/// An attempt whose work the session lacks, or a part of it.
#[derive(Debug)]
pub(crate) struct Lost {
    /// The attempt.
    pub(crate) id: AttemptId,
    /// True if the session has the attempt's message.
    pub(crate) has_message: bool,
    /// The calls that the session has.
    pub(crate) played_back: PlayedBack,
}

/// The words about the attempts of this round that are lost: their calls. `None` if no call is missing.
pub(crate) fn of_this_round(mailbox: &Mailbox, run: &Run, lost: &[Lost]) -> Option<String> {
    calls(mailbox, &run.round(), lost)
}

/// The words about the lost attempts of earlier rounds, the oldest round first: the message of each, and their calls.
pub(crate) fn of_earlier_rounds(mailbox: &Mailbox, config: &Config, run: &Run, lost: &[Lost]) -> Option<String> {
    let mut rounds: Vec<_> = lost.iter().map(|lost| &lost.id.round).filter(|round| **round != run.round()).collect();
    rounds.dedup();
    let words: Vec<_> = rounds.into_iter().rev().filter_map(|round| of_round(mailbox, config, round, lost)).collect();
    (!words.is_empty()).then(|| words.join("\n\n"))
}

fn of_round(mailbox: &Mailbox, config: &Config, id: &RoundId, lost: &[Lost]) -> Option<String> {
    let has_message = lost.iter().any(|lost| lost.id.round == *id && lost.has_message);
    let told = || {
        let run = record::latest(mailbox, id).ok()??;
        let question = round::find(mailbox, id)?.document.typed;
        let message = message::round_message(mailbox, config, &question, &run).ok()?;
        Some(format!("{NO_MESSAGE}\n{}", quoted(message.trim_end())))
    };
    let told = if has_message { None } else { told() };
    let words: Vec<_> = [told, calls(mailbox, id, lost)].into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join("\n\n"))
}

fn calls(mailbox: &Mailbox, round: &RoundId, lost: &[Lost]) -> Option<String> {
    let of_round = || lost.iter().rev().filter(|lost| lost.id.round == *round);
    let has = if of_round().any(|lost| lost.has_message) { Has::Messages } else { Has::Nothing };
    let attempts = of_round().map(|lost| {
        let mut played_back = lost.played_back.clone();
        (lost.id.attempt, move |id: &str| played_back.take(id))
    });
    earlier_attempt::in_words(&EarlierCalls::of(mailbox, round, attempts), has)
}
