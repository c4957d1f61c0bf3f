//! The messages to an agent that speaks ACP. Each begins with a marker, which is searched for in the history of a session if nothing
//! else shows that the agent got a message.
//!
//! The words about work that a session does not have, because its agent died before it had written the history.

use crate::protocol::PlayedBack;
use askbox_config::Config;
use askbox_mailbox::{AttemptId, Mailbox, Question, RoundId, round};
use askbox_run::approval::permit;
use askbox_run::attempt::earlier::EarlierCalls;
use askbox_run::prompt::earlier_attempt::{self, Has};
use askbox_run::prompt::message::{self, behind};
use askbox_run::prompt::templates::CONTINUE;
use askbox_run::words::inserted::quoted;
use askbox_run::{Run, record};

/// Added to a message that the agent may have had before.
const LOOK: &str = "\n\nYou may have had this message before, and a process died since then. Look at what is there before you do anything: what you are \
    asked for may have been done already. Do not repeat it blindly.\n";

/// Added for a session whose history may say that its user cut it off.
const NOBODY_DECIDED: &str =
    "\n\nIf you have read that your user interrupted you, or rejected or cancelled a call: your user did not, your process had ended.\n";

/// To an agent whose turn ended without a result.
pub(crate) const NO_RESULT: &str = "\
Your turn ended, and nothing shows that your work is done. If it is done, end with a few sentences that say what you have done. If it is \
not, look at what is there before you repeat anything, and then go on. If you need a decision, ask with `ask-post` and end your turn.";

/// The beginning of the marker, which is the same in every message of a round.
pub(crate) fn marker_of_round(round: &RoundId) -> String {
    format!("[askbox round {}", round.question)
}

/// The marker of a message of an attempt. `number` counts the attempt's messages from 1.
pub(crate) fn marker(attempt: &AttemptId, number: u32) -> String {
    let further = if number > 1 { format!(" message {number}") } else { String::new() };
    format!("{} attempt {}{further}]", marker_of_round(&attempt.round), attempt.attempt)
}

/// A message with its marker.
pub(crate) fn marked(run: &Run, number: u32, text: &str) -> String {
    format!("{}\n\n{text}", marker(&run.id(), number))
}

/// A message that may come a second time.
pub(crate) fn perhaps_again(text: &str) -> String {
    format!("{}{LOOK}", text.trim_end())
}

/// The text for a session that has the round's message. `lost` is about work that it does not have.
pub(crate) fn to_continue(lost: Option<&str>) -> String {
    behind(&format!("{CONTINUE}{NOBODY_DECIDED}"), lost)
}

/// Added to an answer that allows a call. The agent has read that the call was rejected, and may have forgotten the call.
pub(crate) fn about_cut_call(question: &Question) -> String {
    if question.approval.is_none() || !permit::is_allowed(question) {
        return String::new();
    }
    format!(
        "\n\nIf you have read that this call was rejected, cancelled or aborted, that was not your user's decision: the run had ended to wait for \
         your user. Your user was asked this about it:\n{}\n",
        quoted(&question.question)
    )
}

/// In front of a message that the session does not have.
const NO_MESSAGE: &str = "You had this message before, and your program died before it had written it down. It is not a new task:";

/// An attempt whose work the session lacks, or a part of it.
pub(crate) struct Lost {
    /// The attempt.
    pub(crate) id: AttemptId,
    /// True if the session has the attempt's message.
    pub(crate) has_message: bool,
    /// The calls that the session has.
    pub(crate) played_back: PlayedBack,
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

/// The words about the attempts of a round that are lost: their calls. `None` if no call is missing.
pub(crate) fn calls(mailbox: &Mailbox, round: &RoundId, lost: &[Lost]) -> Option<String> {
    let of_round = || lost.iter().rev().filter(|lost| lost.id.round == *round);
    let has = if of_round().any(|lost| lost.has_message) { Has::Messages } else { Has::Nothing };
    let attempts = of_round().map(|lost| {
        let mut played_back = lost.played_back.clone();
        (lost.id.attempt, move |id: &str| played_back.take(id))
    });
    earlier_attempt::in_words(&EarlierCalls::of(mailbox, round, attempts), has)
}
