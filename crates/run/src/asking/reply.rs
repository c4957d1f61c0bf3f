//! A person's answer, as the reply that a program is sent.

use serde_json::Value;

use crate::approval::permit::{self, Permit, Rules};
use crate::asking::questions::{self, Answers};
use crate::asking::request::{Input, Request, Subject};
use crate::words;
use askbox_config::Config;
use askbox_mailbox::documents::fields::live::Offered;
use askbox_mailbox::{AnswerValue, Error, Mailbox, Question, Result, RoundId};

/// The reply to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The call is made.
    Allow {
        /// Its input, which the person may have changed.
        input: Input,
        /// The permission that the person gives the session beside it.
        offered: Option<Offered>,
    },
    /// The call is not made, or the questions are not answered. The session goes on.
    Refuse {
        /// What the model reads.
        words: String,
        /// True if the person has given a reason, or asks back. Otherwise the words say no more than the refusal.
        has_reason: bool,
    },
    /// The same, and the session's turn ends.
    Stop {
        /// What the model reads, if the program lets it.
        words: String,
    },
    /// The answers to the questions.
    Answers(Answers),
    /// The content of the form.
    Form(Value),
}

impl Reply {
    /// The reply that follows from the answer to this round's question, which asks about the request.
    ///
    /// # Errors
    /// If the answer does not count, or is not about this request: the dialog stays at its terminal.
    pub fn of(mailbox: &Mailbox, config: &Config, round: &RoundId, question: &Question, request: &Request) -> Result<Self> {
        let not_asked = || Error::failed("the answer is to another call, or its file has changed since", "answer it at its terminal");
        let answer = question.answer.as_ref().ok_or_else(not_asked)?;
        let policy = config.answers.policy();
        policy.judge(question).map_err(|why| Error::failed(format!("the answer does not count: {}", why.0), "answer it again"))?;
        let refused = |words| match answer.stops {
            true => Self::Stop { words },
            false => Self::Refuse { words, has_reason: answer.note.is_some() || answer.counter_question().is_some() },
        };
        if request.subject == Subject::Questions {
            return match questions::answers(&request.input, question, answer) {
                Ok(answers) if answers.are_complete() => Ok(Self::Answers(answers)),
                Ok(_) => Err(Error::failed("a question of the dialog has no answer", "answer it at its terminal")),
                Err(words) => Ok(refused(words)),
            };
        }
        if request.subject == Subject::Form {
            let no_reply = |why: String| Error::failed(why, "fill in the form at its terminal");
            return match &answer.value {
                Some(value) => request.form().and_then(|form| form.content(value)).map(Self::Form).map_err(no_reply),
                None if answer.counter_question().is_some() => Err(no_reply("a server cannot be asked back".into())),
                None => Ok(refused(words::declined(answer))),
            };
        }
        let rules = Rules { policy, refuse: &config.approvals.refuse, takes_changes: true };
        match permit::permit(mailbox, &rules, round, question, &request.call())? {
            Permit::Allowed(allowed) => {
                let key = answer.value.as_ref().map(AnswerValue::to_text).unwrap_or_default();
                let offered = question.live.as_ref().and_then(|live| live.offer(&key));
                Ok(Self::Allow { offered: offered.cloned(), input: allowed.input })
            }
            Permit::Refused(words) => Ok(refused(words)),
            Permit::Ask(_) => Err(not_asked()),
        }
    }
}
