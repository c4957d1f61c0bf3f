//! Whether an answer counts: what the operator accepts, and whether it must be signed.

use crate::error::Result;
use crate::mailbox::documents::answer::{Answer, BY_DEFAULT};
use crate::mailbox::documents::check_answer::{self, Given};
use crate::mailbox::documents::question::{OnExpiry, Question};
use crate::mailbox::documents::through::Through;
use crate::mailbox::documents::until::Until;
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

    /// Whether the answer of this document, if it has one, counts. Its default and its event are the asker's own words, and count if the
    /// document itself says so.
    ///
    /// # Errors
    /// Why it does not count.
    pub fn judge(&self, question: &Question) -> Result<(), Untrusted> {
        let Some(answer) = question.answer.as_ref().filter(|_| !self.takes_everything()) else { return Ok(()) };
        if !answer.is_a_persons() {
            let is_so = if answer.by == BY_DEFAULT { is_the_default(question, answer) } else { is_the_event(question, answer) };
            return if is_so { Ok(()) } else { Err(Untrusted(format!("it says `by: {}`, but the question does not say so", answer.by))) };
        }
        self.accepts(answer.through.as_ref().unwrap_or(&Through::File))?;
        let Some(keys) = &self.signed_by else { return Ok(()) };
        let Some(signature) = &answer.signature else { return Err(Untrusted("it is not signed (answers.require_signed)".into())) };
        // The hash in the answer is not believed: the question that lies there is the one that must have been seen.
        let is_of_this = question.hash().is_ok_and(|hash| answer.question_hash == Some(hash));
        let bytes = signed_bytes::of(question, answer).ok().filter(|_| is_of_this);
        match bytes.is_some_and(|bytes| keys.iter().any(|key| key.has_signed(&bytes, signature))) {
            true => Ok(()),
            false => Err(Untrusted("its signature is not that of a key in answers.trusted_keys for this question and this answer".into())),
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

/// Whether this is the asker's default, after its time.
fn is_the_default(question: &Question, answer: &Answer) -> bool {
    let default = question.default.as_ref().filter(|_| question.on_expiry() == OnExpiry::Default);
    let value = default.and_then(|default| check_answer::check(question, Answer::value(default.clone(), "", ""), Given::ByAsker).ok());
    let is_over = question.expires_at.is_some_and(|at| at <= time::now() && answer.at.is_some_and(|answered| at <= answered));
    is_over && value.is_some_and(|value| value.value == answer.value)
}

/// Whether this is the event that the question waits for.
fn is_the_event(question: &Question, answer: &Answer) -> bool {
    let has_come = |until: &&Until| !matches!(until, Until::At(at) if *at > time::now());
    let event = question.until.as_ref().filter(has_come).map(Until::answer);
    event.is_some_and(|event| (&event.by, &event.channel, &event.value) == (&answer.by, &answer.channel, &answer.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::documents::answer::AnswerValue;
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
        assert!(changed(&|q| q.question = "Something else?".into()) && changed(&|q| q.context = Some("else".into())));
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
        let policy = requires(&SecretKey::generate());
        let over = r#","options":["a","b"],"default":"a","expires_at":"2026-01-01T00:00:00Z""#;
        let by = |by: &str, value: &str| {
            format!(
                r#","answer":{{"value":"{value}","by":"{by}","channel":"file","at":"2026-01-01T00:00:01Z","question_hash":"20f2cba4-940b-5b05-aa8f-e8f823ba86c7"}}"#
            )
        };
        assert_eq!(policy.judge(&asked(&format!("{over}{}", by("default", "a")))), Ok(()));
        assert_eq!(policy.judge(&asked(&format!(r#","until":{{"file":"/a"}}{}"#, by("event", "/a")))), Ok(()));
        for forged in [
            format!("{over}{}", by("default", "b")),
            format!("{}{}", over.replace("2026-01-01", "2999-01-01"), by("default", "a")),
            format!(r#"{over},"on_expiry":"keep"{}"#, by("default", "a")),
            by("default", "a"),
            by("event", "/a"),
            format!(r#","until":{{"file":"/b"}}{}"#, by("event", "/a")),
        ] {
            assert!(policy.judge(&asked(&forged)).is_err(), "{forged}");
        }
    }
}
