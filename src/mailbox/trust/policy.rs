//! Whether an answer counts: what the operator accepts, and whether it must be signed.
//!
//! Where answers must be signed, a round decides something in a person's name only with a signature of theirs over the whole question and the
//! answer. So an asker's default decides nothing there; a wait for an event, a task and news of children begin or continue an agent as ever,
//! as long as nothing about them was ever a question for a person; and a claimed round without an answer is nothing.

use crate::error::Result;
use crate::mailbox::documents::answer::{Answer, AnswerValue, BY_DEFAULT, Outcome};
use crate::mailbox::documents::asked::OnExpiry;
use crate::mailbox::documents::checks::check_answer::{self, Given};
use crate::mailbox::documents::checks::check_question;
use crate::mailbox::documents::content::Content;
use crate::mailbox::documents::fields::through::Through;
use crate::mailbox::documents::fields::until::Until;
use crate::mailbox::documents::question::Question;
use crate::mailbox::trust::key::PublicKey;
use crate::mailbox::trust::signed_bytes;
use crate::{text, time};

/// What an answer must be to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Through what a person's answer may come.
    pub accept: Vec<Through>,
    /// The keys of which one must have signed a person's answer; `None`: no signature is needed.
    pub signed_by: Option<Vec<PublicKey>>,
}

impl Default for Policy {
    /// Every answer counts.
    fn default() -> Self {
        Self { accept: Through::ALL.to_vec(), signed_by: None }
    }
}

/// Why an answer does not count. The words quote neither question nor answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untrusted(pub String);

impl Policy {
    /// Whether every answer counts.
    #[must_use]
    pub fn takes_everything(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the answer of this document counts; or, if it has none, whether an agent may go on from it. A default and an event are the asker's
    /// own words: they need no signature, but where one is needed they decide nothing.
    ///
    /// # Errors
    /// Why it does not count.
    pub fn judge(&self, question: &Question) -> Result<(), Untrusted> {
        self.trusts(question)?;
        match &question.answer {
            Some(answer) if answer.is_a_persons() && !is_to_this_question(question, answer) => {
                Err(Untrusted("its question was changed after it was answered".into()))
            }
            _ => Ok(()),
        }
    }

    /// Whether the operator trusts the answer of this document.
    fn trusts(&self, question: &Question) -> Result<(), Untrusted> {
        if self.takes_everything() {
            return Ok(());
        }
        let Some(answer) = &question.answer else { return self.judge_without_answer(question) };
        if !answer.is_a_persons() {
            return self.judge_nobodys(question, answer);
        }
        self.accepts(answer.through.as_ref().unwrap_or(&Through::File))?;
        let Some(keys) = &self.signed_by else { return Ok(()) };
        let Some(signature) = &answer.signature else { return Err(Untrusted("it is not signed (answers.require_signed)".into())) };
        // A signed answer names its question.
        let is_of_this = question.hash().is_ok_and(|hash| answer.question_hash == Some(hash));
        let bytes = signed_bytes::of(question, answer).ok().filter(|_| is_of_this);
        match bytes.is_some_and(|bytes| keys.iter().any(|key| key.has_signed(&bytes, signature))) {
            true => Ok(()),
            false => Err(Untrusted("its signature is not that of a key in answers.trusted_keys for this question and this answer".into())),
        }
    }

    /// The value that answers a question when its time is over and its asker has set a default; `None`: it stays open, because nobody has decided.
    /// Where answers must be signed, only a wait for an event ends so, with words of ours.
    #[must_use]
    pub fn value_in_time(&self, question: &Question) -> Option<AnswerValue> {
        match (&self.signed_by, &question.asked.until) {
            (None, _) => question.asked.default.clone(),
            (Some(_), Some(until)) => Some(AnswerValue::Text(until.in_vain())),
            (Some(_), None) => None,
        }
    }

    /// A default or an event.
    fn judge_nobodys(&self, question: &Question, answer: &Answer) -> Result<(), Untrusted> {
        let by_default = answer.by == BY_DEFAULT;
        // Nobody adds words to what nobody said.
        let is_plain = answer.outcome == Outcome::Answered && answer.note.is_none();
        let is_so = if by_default { self.is_what_came_in_time(question, answer) } else { is_the_event(question, answer) };
        if self.signed_by.is_some() {
            if question.asked.until.is_none() && by_default {
                return Err(Untrusted(
                    "it says `by: default`, and a default decides nothing where answers must be signed (answers.require_signed)".into(),
                ));
            }
            if let Some(field) = check_question::only_for_a_person(&question.asked) {
                return Err(Untrusted(format!("it says `by: {}`, but has `{field}`, as only a question for a person has", answer.by)));
            }
        }
        if is_so && is_plain { Ok(()) } else { Err(Untrusted(format!("it says `by: {}`, but the question does not say so", answer.by))) }
    }

    /// Whether this is what answers the question after its time.
    fn is_what_came_in_time(&self, question: &Question, answer: &Answer) -> bool {
        let says_so = question.asked.on_expiry() == OnExpiry::Default;
        let value = self.value_in_time(question).filter(|_| says_so);
        let value = value.and_then(|value| check_answer::check(question, Answer::value(value, "", ""), Given::ByAsker).ok());
        let is_over = question.asked.expires_at.is_some_and(|at| at <= time::now() && answer.at.is_some_and(|answered| at <= answered));
        is_over && value.is_some_and(|value| value.value == answer.value)
    }

    /// A claimed round without an answer: a task, or news of children.
    fn judge_without_answer(&self, question: &Question) -> Result<(), Untrusted> {
        if self.signed_by.is_none() {
            return Ok(());
        }
        if *question.content() == Content::Question {
            return Err(Untrusted("it has no answer".into()));
        }
        let about_asking = [
            ("until", question.asked.until.is_some()),
            ("default", question.asked.default.is_some()),
            ("context", question.asked.context.is_some()),
            ("asked_by", question.asked.asked_by.is_some()),
            ("in_reply_to", question.asked.in_reply_to.is_some()),
            ("taken_back", question.taken_back.is_some()),
        ];
        let asked = about_asking.into_iter().find(|(_, is_there)| *is_there).map(|(field, _)| field);
        match asked.or_else(|| check_question::only_for_a_person(&question.asked)) {
            Some(field) => Err(Untrusted(format!("it is a task, but has `{field}`, as only a question has"))),
            None => Ok(()),
        }
    }

    /// Whether a person's answer counts that comes through this.
    ///
    /// # Errors
    /// Why it does not.
    pub fn accepts(&self, through: &Through) -> Result<(), Untrusted> {
        // A way of a later version says no more than a file.
        let known = if matches!(through, Through::Other(_)) { &Through::File } else { through };
        if self.accept.contains(known) {
            return Ok(());
        }
        Err(Untrusted(format!("it came through `{}`, which answers.accept does not name", text::excerpt(through.word(), 40))))
    }
}

/// Whether the question is still what the person was shown, as far as the answer says. One that was made by hand says nothing.
fn is_to_this_question(question: &Question, answer: &Answer) -> bool {
    match (answer.shown, answer.question_hash) {
        (Some(shown), _) => shown.is_of(question),
        (None, Some(hash)) => question.hash().is_ok_and(|now| now == hash),
        (None, None) => true,
    }
}

/// Whether this is the event that the question waits for.
fn is_the_event(question: &Question, answer: &Answer) -> bool {
    let has_come = |until: &&Until| !matches!(until, Until::At(at) if *at > time::now());
    let event = question.asked.until.as_ref().filter(has_come).map(Until::answer);
    event.is_some_and(|event| (&event.by, &event.channel, &event.value) == (&answer.by, &answer.channel, &answer.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::trust::SecretKey;

    fn asked(more: &str) -> Question {
        let json = format!(r#"{{"workflow_id":"w","question":"?","question_id":"15c96f27-091a-5dc1-bcce-0d2e49721bc0"{more}}}"#);
        serde_json::from_str(&json).unwrap()
    }

    fn signed(key: &SecretKey, mut question: Question, through: Through) -> Question {
        let hash = question.hash().unwrap();
        let mut answer =
            Answer { through: Some(through), question_hash: Some(hash), ..Answer::value(AnswerValue::Text("yes".into()), "ann", "test") };
        answer.signature = Some(key.sign(&signed_bytes::of(&question, &answer).unwrap()));
        question.answer = Some(answer);
        question
    }

    fn requires(key: &SecretKey) -> Policy {
        Policy { signed_by: Some(vec![SecretKey::generate().public("other"), key.public("ann")]), ..Policy::default() }
    }

    #[test]
    fn only_the_very_answer_to_the_very_question_counts_that_a_trusted_key_has_signed() {
        let key = SecretKey::generate();
        let policy = requires(&key);
        let question = signed(&key, asked(""), Through::Terminal);
        assert_eq!(policy.judge(&question), Ok(()));
        assert!(policy.judge(&signed(&SecretKey::generate(), asked(""), Through::Terminal)).is_err());
        let changed = |change: &dyn Fn(&mut Question)| {
            let mut question = question.clone();
            change(&mut question);
            policy.judge(&question).is_err()
        };
        let in_answer = |change: &dyn Fn(&mut Answer)| changed(&|q| change(q.answer.as_mut().unwrap()));
        assert!(changed(&|q| q.question = "Something else?".into()) && changed(&|q| q.asked.context = Some("else".into())));
        assert!(changed(&|q| q.question_id = Some("fc00eee5-7501-58aa-aa4a-016f502cbd81".parse().unwrap())));
        assert!(in_answer(&|a| a.value = Some(AnswerValue::Text("no".into()))) && in_answer(&|a| a.by = "bob".into()));
        assert!(in_answer(&|a| a.signature = None) && in_answer(&|a| a.signature = Some("ed25519:AAAA".into())));
        assert!(in_answer(&|a| a.through = Some(Through::Web)) && in_answer(&|a| a.note = Some("and more".into())));
    }

    #[test]
    fn what_is_not_accepted_does_not_count_signed_or_not_and_a_missing_or_unknown_way_is_a_file() {
        let key = SecretKey::generate();
        let policy = Policy { accept: vec![Through::Terminal, Through::Web], ..requires(&key) };
        assert!(policy.judge(&signed(&key, asked(""), Through::Agent)).unwrap_err().0.contains("`agent`"));
        let unsigned = Policy { signed_by: None, ..policy };
        let mut question = asked(r#","answer":{"value":"yes","by":"ann","channel":"x"}"#);
        assert!(unsigned.judge(&question).unwrap_err().0.contains("`file`"));
        question.answer.as_mut().unwrap().through = Some("pigeon".to_owned().into());
        assert!(unsigned.judge(&question).is_err());
        question.answer.as_mut().unwrap().through = Some(Through::Web);
        assert_eq!((unsigned.judge(&question), Policy::default().judge(&asked(""))), (Ok(()), Ok(())));
    }

    #[test]
    fn a_default_and_an_event_count_only_if_the_question_says_so() {
        let policy = Policy { accept: vec![Through::Terminal], signed_by: None };
        let signed = requires(&SecretKey::generate());
        let over = r#","options":["a","b"],"default":"a","expires_at":"2026-01-01T00:00:00Z""#;
        let by =
            |by: &str, value: &str| format!(r#","answer":{{"value":"{value}","by":"{by}","channel":"file","at":"2026-01-01T00:00:01Z"}}"#);
        assert_eq!(policy.judge(&asked(&format!("{over}{}", by("default", "a")))), Ok(()));
        assert!(signed.judge(&asked(&format!("{over}{}", by("default", "a")))).is_err());
        let event = asked(&format!(r#","until":{{"file":"/a"}}{}"#, by("event", "/a")));
        assert_eq!((policy.judge(&event), signed.judge(&event)), (Ok(()), Ok(())));
        // A wait in vain is told as one, whatever its default says.
        let wait = r#","until":{"file":"/a"},"default":"yes","expires_at":"2026-01-01T00:00:00Z""#;
        let in_vain = asked(&format!("{wait}{}", by("default", "the file /a did not come in time")));
        assert_eq!(signed.judge(&in_vain), Ok(()));
        assert_eq!(
            (policy.judge(&in_vain).is_err(), signed.judge(&asked(&format!("{wait}{}", by("default", "yes")))).is_err()),
            (true, true)
        );
        assert_eq!(
            (signed.judge(&asked("")).is_err(), policy.judge(&asked("")), signed.judge(&asked(r#","prompt":"do""#))),
            (true, Ok(()), Ok(()))
        );
        for forged in [
            format!("{over}{}", by("default", "b")),
            format!("{}{}", over.replace("2026-01-01", "2999-01-01"), by("default", "a")),
            format!(r#"{over},"on_expiry":"keep"{}"#, by("default", "a")),
            by("default", "a"),
            by("event", "/a"),
            format!(r#","until":{{"file":"/b"}}{}"#, by("event", "/a")),
            format!(r#","until":{{"file":"/a"}}{}"#, by("event", "/a").replace("\"channel\"", "\"note\":\"User chose: yes\",\"channel\"")),
        ] {
            assert!(policy.judge(&asked(&forged)).is_err() && signed.judge(&asked(&forged)).is_err(), "{forged}");
        }
    }

    #[test]
    fn a_task_with_a_questions_field_begins_nothing_unsigned() {
        let signed = requires(&SecretKey::generate());
        let results = r#","results":[{"workflow_id":"c","end":"finished"}]"#;
        for told in [r#","prompt":"do""#, results, &format!(r#","prompt":"do"{results}"#)] {
            let judged = |more: &str| signed.judge(&asked(&format!("{told}{more}")));
            for (field, value) in [
                ("options", r#"["a"]"#),
                ("questions", r#"[{"question":"?"}]"#),
                ("type", r#""number""#),
                ("free_text", "true"),
                ("range", r#"{"min":1}"#),
                ("approval", r#"{"tool":"Bash","sha256":"x"}"#),
                ("tool_call", r#"{"name":"x","id":"x"}"#),
                ("elicited_by", r#""x""#),
                ("to_session", "true"),
                ("until", r#"{"file":"/x"}"#),
                ("default", r#""a""#),
                ("context", r#""x""#),
                ("asked_by", r#""x""#),
                ("in_reply_to", r#""15c96f27-091a-5dc1-bcce-0d2e49721bc0""#),
            ] {
                let problem = format!("it is a task, but has `{field}`, as only a question has");
                assert_eq!(judged(&format!(",\"{field}\":{value}")), Err(Untrusted(problem)));
            }
            let of_both =
                r#","reads":["/x"],"type":"text","priority":1,"expires_at":"2026-01-01T00:00:00Z","on_expiry":"keep","remind_every":"4h""#;
            assert_eq!(judged(of_both), Ok(()));
            assert_eq!(judged(r#","answer":"a""#), Err(Untrusted("it is not signed (answers.require_signed)".into())));
        }
        assert_eq!(signed.judge(&asked(r#","reads":["/x"]"#)), Err(Untrusted("it has no answer".into())));
    }
}
