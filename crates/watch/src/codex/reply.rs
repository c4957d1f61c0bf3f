//! A person's answer as the reply to the daemon, and the signs that the session took it.

use serde_json::{Map, Value, json};

use crate::codex::dialog::ANSWERED;
use crate::codex::question::Shown;
use crate::codex::request::{Asked, Asks, Request};
use askbox_cli::ask_user_question_call;
use askbox_config::Config;
use askbox_mailbox::documents::answer::Outcome;
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::id::RoundId;
use askbox_mailbox::{Answer, Mailbox, Question};
use askbox_run::approval::permit::{self, Permit};
use askbox_run::dialog::end::End;
use askbox_run::prompt::inserted::at_the_end;
use askbox_run::prompt::remarks::they_say;

/// A message to the daemon that follows from an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reply {
    /// The result of the request. The words then go to the model, because a refusal has no place for them.
    Result { result: Value, words: Option<String>, wanted: Wanted },
    /// The session's turn is ended.
    Interrupt,
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

impl Reply {
    /// The reply that follows from the question's answer.
    ///
    /// # Errors
    /// If the answer does not count, or is not about this call.
    pub(super) fn of(
        mailbox: &Mailbox,
        config: &Config,
        round: &RoundId,
        question: &Question,
        request: &Request,
        shown: &Shown,
    ) -> Result<Self> {
        let not_asked = || Error::failed("the answer is to another call", "answer it at its terminal");
        let answer = question.answer.as_ref().ok_or_else(not_asked)?;
        let policy = config.answers.policy();
        policy.judge(question).map_err(|why| Error::failed(format!("the answer does not count: {}", why.0), "answer it again"))?;
        if let Asks::Input(asked) = &request.asks {
            return answers(asked, question, answer, &shown.input);
        }
        match permit::permit(mailbox, &policy, &config.approvals.refuse, round, question, &shown.call())? {
            Permit::Allowed => Ok(Self::decision("accept", None, Wanted::Made)),
            Permit::Refused(_) if answer.stops => Ok(Self::decision("cancel", None, Wanted::Stopped)),
            Permit::Refused(words) => {
                let words = (answer.note.is_some() || answer.counter_question().is_some()).then_some(words);
                Ok(Self::decision("decline", words, Wanted::Refused))
            }
            // Nothing of these calls can be edited.
            Permit::AllowedEdited(_) | Permit::Ask(_) => Err(not_asked()),
        }
    }

    fn decision(decision: &str, words: Option<String>, wanted: Wanted) -> Self {
        Self::Result { result: json!({ "decision": decision }), words, wanted }
    }
}

fn answers(asked: &[Asked], question: &Question, answer: &Answer, input: &Map<String, Value>) -> Result<Reply> {
    if answer.stops {
        return Ok(Reply::Interrupt);
    }
    let all_get = |words: String| asked.iter().map(|one| (one.id.clone(), json!({ "answers": [words] }))).collect::<Map<_, _>>();
    let answers = match (&answer.value, answer.counter_question()) {
        (_, Some(back)) => all_get(format!(
            "The user asks back before they decide:{}\nThis is no answer: decide nothing. Find out what they ask, then ask your question again with the reply in it.",
            at_the_end(back)
        )),
        (Some(value), None) if answer.outcome == Outcome::Answered => {
            let filled = Value::Object(ask_user_question_call::with_answers(input, question, answer, value));
            let of = |one: &Asked| {
                let said = filled["answers"][&one.question].as_str().filter(|said| !said.trim().is_empty())?;
                let note = filled["annotations"][&one.question]["notes"].as_str().map(|note| format!("user_note: {note}"));
                let said: Vec<_> = std::iter::once(said.to_owned()).chain(note).collect();
                Some((one.id.clone(), json!({ "answers": said })))
            };
            let missing = || Error::failed("a question of the dialog has no answer", "answer it at its terminal");
            asked.iter().map(of).collect::<Option<Map<_, _>>>().ok_or_else(missing)?
        }
        _ => all_get(format!(
            "The user declined to answer.{}Do not guess an answer: go on without it, or end your turn and say what is missing.",
            they_say(answer)
        )),
    };
    Ok(Reply::Result { result: json!({ "answers": answers }), words: None, wanted: Wanted::Told })
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
            (_, Sign::Made) => End::too_late(&format!("{ANSWERED}: the call was made")),
            (_, Sign::Refused) => End::too_late(&format!("{ANSWERED}: the call was refused")),
            (_, Sign::TurnEnded { .. }) => End::too_late(&format!("{ANSWERED}: the turn has ended")),
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
