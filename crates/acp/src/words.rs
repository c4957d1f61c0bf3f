//! The messages to an agent that speaks ACP. Each begins with a marker, which is searched for in the history of a session if nothing
//! else shows that the agent got a message.

use askbox_mailbox::{AttemptId, Question, RoundId};
use askbox_run::Run;
use askbox_run::approval::permit;
use askbox_run::prompt::message::behind;
use askbox_run::prompt::templates::CONTINUE;
use askbox_run::words::inserted::quoted;

/// Added to a message that the agent may have had before.
const LOOK: &str = "\n\nYou may have had this message before, and a process died since then. Look at what is there before you do anything: what you are \
    asked for may have been done already. Do not repeat it blindly.\n";

/// Added for a session whose history may say that its user cut it off.
const NOBODY_DECIDED: &str =
    "\n\nIf you have read that your user interrupted you, or rejected or cancelled a call: your user did not, your process had ended.\n";

/// To an agent whose turn ended without a result.
const UNCLEAR: &str = "\
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

/// The text for an agent whose turn ended without a result.
pub(crate) fn about_no_result() -> &'static str {
    UNCLEAR
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
