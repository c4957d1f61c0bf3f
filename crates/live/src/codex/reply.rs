//! The reply to the daemon, and the signs that the session took it.

use serde_json::{Map, Value, json};

use crate::codex::request::{Asked, Asks, Request};
use askbox_mailbox::programs::CODEX;
use askbox_run::Reply;
use askbox_run::asking::end::End;

/// A message to the daemon that follows from an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    /// The result of the request. `None` if the session's turn is ended instead.
    pub(super) result: Option<Value>,
    /// What the model is told behind it: a refusal has no place for words.
    pub(super) words: Option<String>,
    /// The effect in the session if it takes the message.
    pub(super) wanted: Wanted,
}

/// The effect in the session if it takes the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The call is made.
    Made,
    /// The call is refused, and the turn goes on.
    Refused,
    /// The turn ends.
    Stopped,
    /// The agent reads the answer.
    Told,
}

impl Message {
    /// The message with this reply.
    pub(super) fn of(request: &Request, reply: Reply) -> Self {
        match (reply, &request.asks) {
            (Reply::Stop { .. }, Asks::Input(_)) => Self { result: None, words: None, wanted: Wanted::Stopped },
            // It has no other place for the words.
            (Reply::Refuse { words, .. }, Asks::Input(asked)) => Self::answers(asked, vec![vec![words]; asked.len()]),
            (Reply::Answers(answers), Asks::Input(asked)) => Self::answers(asked, answers.lists()),
            (Reply::Stop { .. } | Reply::Answers(_) | Reply::Form(_), _) => Self::decision("cancel", None, Wanted::Stopped),
            (Reply::Refuse { words, has_reason }, _) => Self::decision("decline", has_reason.then_some(words), Wanted::Refused),
            (Reply::Allow { .. }, _) => Self::decision("accept", None, Wanted::Made),
        }
    }

    fn decision(decision: &str, words: Option<String>, wanted: Wanted) -> Self {
        Self { result: Some(json!({ "decision": decision })), words, wanted }
    }

    fn answers(asked: &[Asked], answers: Vec<Vec<String>>) -> Self {
        let each = asked.iter().zip(answers).map(|(asked, answers)| (asked.id.clone(), json!({ "answers": answers })));
        Self { result: Some(json!({ "answers": each.collect::<Map<_, _>>() })), words: None, wanted: Wanted::Told }
    }
}

/// A sign of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// The request has ended, whoever replied.
    Resolved,
    /// The call was made, or failed.
    Made,
    /// The call was refused.
    Refused,
    /// The turn has ended.
    TurnEnded { interrupted: bool },
}

/// Looks for the signs that the session took a reply. The daemon says that a request has ended, but not who replied first.
#[derive(Debug)]
pub(super) struct Receipt {
    wanted: Wanted,
    is_resolved: bool,
}

impl Receipt {
    /// For a reply that is sent now.
    pub(super) fn begin(wanted: Wanted) -> Self {
        Self { wanted, is_resolved: false }
    }

    /// Takes a sign. Returns the end, as far as it tells it.
    pub(super) fn take(&mut self, sign: Sign) -> End {
        match (self.wanted, sign) {
            (Wanted::Told, Sign::Resolved) | (Wanted::Made, Sign::Made) | (Wanted::Refused, Sign::Refused) => End::Confirmed,
            (Wanted::Stopped, Sign::TurnEnded { interrupted: true }) => End::Confirmed,
            // The turn went on without the call.
            (Wanted::Refused, Sign::TurnEnded { interrupted: false }) if self.is_resolved => End::Confirmed,
            (_, Sign::Resolved) => {
                self.is_resolved = true;
                End::NotKnownYet
            }
            // The turn's end follows.
            (Wanted::Stopped, Sign::Refused) => End::NotKnownYet,
            (_, Sign::Made) => End::too_late(&format!("{}: the call was made", CODEX.answered)),
            (_, Sign::Refused) => End::too_late(&format!("{}: the call was refused", CODEX.answered)),
            (_, Sign::TurnEnded { .. }) => End::too_late(&format!("{}: the turn has ended", CODEX.answered)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(wanted: Wanted, signs: &[Sign]) -> Option<bool> {
        let mut receipt = Receipt::begin(wanted);
        let mut ends = signs.iter().map(|sign| receipt.take(*sign));
        ends.find(|end| *end != End::NotKnownYet).map(|end| end == End::Confirmed)
    }

    #[test]
    fn only_the_sign_of_the_answer_itself_delivers_it() {
        use Sign::{Made, Refused, Resolved, TurnEnded};
        let (ended, cut) = (TurnEnded { interrupted: false }, TurnEnded { interrupted: true });
        for (wanted, signs, end) in [
            (Wanted::Made, &[Resolved, Made][..], Some(true)),
            (Wanted::Made, &[Resolved, Refused], Some(false)),
            (Wanted::Made, &[Resolved, cut], Some(false)),
            (Wanted::Made, &[Resolved], None),
            (Wanted::Refused, &[Resolved], None),
            (Wanted::Stopped, &[Resolved, Refused], None),
            (Wanted::Refused, &[Resolved, Refused], Some(true)),
            (Wanted::Refused, &[Resolved, Made], Some(false)),
            (Wanted::Refused, &[Resolved, cut], Some(false)),
            (Wanted::Refused, &[Resolved, ended], Some(true)),
            (Wanted::Refused, &[ended], Some(false)),
            (Wanted::Made, &[Resolved, ended], Some(false)),
            (Wanted::Stopped, &[Resolved, Refused, cut], Some(true)),
            (Wanted::Stopped, &[Resolved, Made], Some(false)),
            (Wanted::Stopped, &[Resolved, ended], Some(false)),
            (Wanted::Told, &[Resolved], Some(true)),
            (Wanted::Told, &[cut], Some(false)),
        ] {
            assert_eq!(after(wanted, signs), end, "{wanted:?} {signs:?}");
        }
    }
}
