//! Decides whether an answer counts. The operator says which channels are accepted, and whether answers must be signed.
//!
//! Where answers must be signed, a round decides something in a person's name only with that person's signature over the whole
//! question and the answer. This has three consequences. An asker's default decides nothing. A wait for an event, a task and news
//! of children begin or continue an agent as usual, but only if nothing in them was ever a question for a person. A claimed round
//! with a question but without an answer does not count.

use crate::documents::answer::BY_DEFAULT;
use crate::documents::checks::check_answer::{self, Given};
use crate::documents::checks::check_question;
use crate::trust::key::{self, PublicKey};
use crate::trust::sshsig::Wrong;
use crate::trust::{signed_bytes, withdrawn};
use crate::{Answer, AnswerValue, Matter, OnExpiry, Outcome, Question, Result, Through, Until, text, time};

/// The conditions that an answer must meet to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The accepted channels of a person's answer.
    pub accept: Vec<Through>,
    /// The trusted keys: one of them must have signed a person's answer. `None` if no signature is needed.
    pub signed_by: Option<Vec<PublicKey>>,
    /// Whether an unsigned answer whose writer is unknown may give a permission or a consent.
    pub permits_by_file: bool,
}

impl Default for Policy {
    /// Accepts every answer.
    fn default() -> Self {
        Self { accept: Through::ALL.to_vec(), signed_by: None, permits_by_file: true }
    }
}

/// The reason why an answer does not count, as a sentence for people. It does not quote the question or the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhyRefused(pub String);

impl Policy {
    /// True if the operator restricts neither the ways nor the keys of answers. A record of what a person decided then counts by itself.
    pub fn takes_everything(&self) -> bool {
        self.signed_by.is_none() && self.accept == Self::default().accept
    }

    /// Checks that the answer of this document counts. If the document has no answer, checks that an agent may go on from it. The
    /// asker itself has written the default and named the event, so an answer by one of them has no signature. Where answers must be
    /// signed, such an answer decides nothing.
    ///
    /// # Errors
    /// [`WhyRefused`] if the answer does not count.
    pub fn judge(&self, question: &Question) -> Result<(), WhyRefused> {
        self.trusts(question)?;
        match &question.answer {
            Some(answer) if withdrawn::holds(question, question, answer) => Err(WhyRefused(withdrawn::WHY.into())),
            Some(answer) if answer.is_a_persons() && !is_to_this_question(question, answer) => {
                Err(WhyRefused("its question was changed after it was answered".into()))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the operator trusts the answer of this document.
    fn trusts(&self, question: &Question) -> Result<(), WhyRefused> {
        let Some(answer) = &question.answer else { return self.judge_without_answer(question) };
        if answer.is_a_persons() {
            self.permits(question, answer)?;
        }
        if self.takes_everything() {
            return Ok(());
        }
        if !answer.is_a_persons() {
            return self.judge_nobodys(question, answer);
        }
        self.accepts(answer.through.as_ref().unwrap_or(&Through::File))?;
        let Some(keys) = &self.signed_by else { return Ok(()) };
        let Some(signature) = &answer.signature else { return Err(WhyRefused("it is not signed (answers.require_signed)".into())) };
        // A signed answer names its question.
        let is_of_this = question.hash().is_ok_and(|hash| answer.question_hash == Some(hash));
        let bytes = signed_bytes::of_answer(question, answer).ok().filter(|_| is_of_this);
        match bytes.map_or(Err(Wrong::OtherBytes), |bytes| key::check(keys, &bytes, signature)) {
            Ok(()) => Ok(()),
            Err(Wrong::OtherBytes) => {
                Err(WhyRefused("its signature is not that of a key in answers.trusted_keys for this question and this answer".into()))
            }
            Err(wrong) => Err(WhyRefused(wrong.to_string())),
        }
    }

    /// Refuses an answer by an unknown writer, if the question is a person's to decide. A command of such a process is refused as well: see
    /// [`Caller::may_decide`](crate::who::caller::Caller::may_decide).
    fn permits(&self, question: &Question, answer: &Answer) -> Result<(), WhyRefused> {
        let is_known = !matches!(answer.through, None | Some(Through::File | Through::Other(_)));
        if is_known || self.permits_by_file || self.signed_by.is_some() || Matter::of_question(question) == Matter::Question {
            return Ok(());
        }
        Err(WhyRefused("it came through `file`, which gives no permission (answers.permits_by_file)".into()))
    }

    /// Returns the value that answers a question when its time is over and its asker has set a default. `None` if the question
    /// stays open, because nobody has decided. Where answers must be signed, only a wait for an event ends this way, with words of
    /// askbox.
    pub fn value_in_time(&self, question: &Question) -> Option<AnswerValue> {
        match (&self.signed_by, &question.until) {
            (None, _) => question.default.clone(),
            (Some(_), Some(until)) => Some(AnswerValue::Text(until.in_vain())),
            (Some(_), None) => None,
        }
    }

    /// Judges an answer that no person gave: a default or an event.
    fn judge_nobodys(&self, question: &Question, answer: &Answer) -> Result<(), WhyRefused> {
        let by_default = answer.by == BY_DEFAULT;
        // Such an answer has no note, because no person gave it.
        let is_plain = answer.outcome == Outcome::Answered && answer.note.is_none();
        let is_so = if by_default { self.is_what_came_in_time(question, answer) } else { is_the_event(question, answer) };
        if self.signed_by.is_some() {
            if question.until.is_none() && by_default {
                return Err(WhyRefused(
                    "it says `by: default`, and a default decides nothing where answers must be signed (answers.require_signed)".into(),
                ));
            }
            if let Some(field) = check_question::only_for_a_person(question) {
                return Err(WhyRefused(format!("it says `by: {}`, but has `{field}`, as only a question for a person has", answer.by)));
            }
        }
        if is_so && is_plain { Ok(()) } else { Err(WhyRefused(format!("it says `by: {}`, but the question does not say so", answer.by))) }
    }

    /// True if this is the answer that the question gets when its time is over.
    fn is_what_came_in_time(&self, question: &Question, answer: &Answer) -> bool {
        let says_so = question.on_expiry() == OnExpiry::Default;
        let value = self.value_in_time(question).filter(|_| says_so);
        let value = value.and_then(|value| check_answer::check(question, Answer::value(value, "", ""), Given::ByAsker).ok());
        let is_over = question.expires_at.is_some_and(|at| at <= time::now() && answer.at.is_some_and(|answered| at <= answered));
        is_over && value.is_some_and(|value| value.value == answer.value)
    }

    /// Judges a claimed round without an answer: it must be a task, or news of children.
    fn judge_without_answer(&self, question: &Question) -> Result<(), WhyRefused> {
        if question.content().asks_a_person() {
            return Err(WhyRefused("it is a question, and has no answer".into()));
        }
        if self.signed_by.is_none() {
            return Ok(());
        }
        let about_asking = [
            ("until", question.until.is_some()),
            ("default", question.default.is_some()),
            ("context", question.context.is_some()),
            ("asked_by", question.asked_by.is_some()),
            ("in_reply_to", question.in_reply_to.is_some()),
            ("taken_back", question.taken_back.is_some()),
        ];
        let asked = about_asking.into_iter().find(|(_, is_there)| *is_there).map(|(field, _)| field);
        match asked.or_else(|| check_question::only_for_a_person(question)) {
            Some(field) => Err(WhyRefused(format!("it is a task, but has `{field}`, as only a question has"))),
            None => Ok(()),
        }
    }

    /// Checks that a person's answer through this channel counts.
    ///
    /// # Errors
    /// [`WhyRefused`] if the operator does not accept the channel.
    pub fn accepts(&self, through: &Through) -> Result<(), WhyRefused> {
        // A channel that only a later version knows counts like a file.
        let known = if matches!(through, Through::Other(_)) { &Through::File } else { through };
        if self.accept.contains(known) {
            return Ok(());
        }
        Err(WhyRefused(format!("it came through `{}`, which answers.accept does not name", text::excerpt(through.word(), 40))))
    }
}

/// True if the question is still the one that the person was shown, as far as the answer names it. An answer that was made by hand
/// names no question, and counts.
fn is_to_this_question(question: &Question, answer: &Answer) -> bool {
    match (answer.shown, answer.question_hash) {
        (Some(shown), _) => shown.is_of(question),
        (None, Some(hash)) => question.hash().is_ok_and(|now| now == hash),
        (None, None) => true,
    }
}

/// True if the answer is the event of the question.
fn is_the_event(question: &Question, answer: &Answer) -> bool {
    let has_come = |until: &&Until| !matches!(until, Until::At(at) if *at > time::now());
    let event = question.until.as_ref().filter(has_come).map(Until::answer);
    event.is_some_and(|event| (&event.by, &event.channel, &event.value) == (&answer.by, &answer.channel, &answer.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::SecretKey;

    fn asked(more: &str) -> Question {
        let json = format!(r#"{{"workflow_id":"w","question":"?","question_id":"15c96f27-091a-5dc1-bcce-0d2e49721bc0"{more}}}"#);
        serde_json::from_str(&json).unwrap()
    }

    fn signed(key: &SecretKey, mut question: Question, through: Through) -> Question {
        let hash = question.hash().unwrap();
        let mut answer =
            Answer { through: Some(through), question_hash: Some(hash), ..Answer::value(AnswerValue::Text("yes".into()), "ann", "test") };
        answer.signature = Some(key.sign(&signed_bytes::of_answer(&question, &answer).unwrap()));
        question.answer = Some(answer);
        question
    }

    fn requires(key: &SecretKey) -> Policy {
        Policy { signed_by: Some(vec![SecretKey::generate().public("other"), key.public("ann")]), ..Policy::default() }
    }

    #[test]
    fn only_an_answer_that_a_trusted_key_signed_counts() {
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
    fn an_answer_through_a_way_that_is_not_accepted_does_not_count() {
        let key = SecretKey::generate();
        let policy = Policy { accept: vec![Through::Terminal, Through::Web], ..requires(&key) };
        assert!(policy.judge(&signed(&key, asked(""), Through::Agent)).unwrap_err().0.contains("`agent`"));
        let unsigned = Policy { signed_by: None, ..policy };
        let mut question = asked(r#","answer":{"value":"yes","by":"ann","channel":"x"}"#);
        assert!(unsigned.judge(&question).unwrap_err().0.contains("`file`"));
        question.answer.as_mut().unwrap().through = Some("pigeon".into());
        assert!(unsigned.judge(&question).is_err());
        question.answer.as_mut().unwrap().through = Some(Through::Web);
        assert_eq!((unsigned.judge(&question), Policy::default().judge(&question)), (Ok(()), Ok(())));
    }

    #[test]
    fn an_answer_by_an_unknown_writer_gives_no_permission() {
        let policy = Policy { permits_by_file: false, ..Policy::default() };
        let answered = |through: &str| format!(r#","answer":{{"value":"once","by":"ann","channel":"x"{through}}}"#);
        for through in ["", r#","through":"file""#, r#","through":"pigeon""#] {
            assert_eq!(policy.judge(&asked(&answered(through))), Ok(()), "an agent's own question");
            for matter in [r#","approval":{"tool":"Bash","sha256":"x"}"#, r#","elicited_by":"a server""#] {
                let question = asked(&format!("{matter}{}", answered(through)));
                assert!(policy.judge(&question).unwrap_err().0.contains("gives no permission"), "{through}");
                assert_eq!(Policy::default().judge(&question), Ok(()));
                let known = asked(&format!("{matter}{}", answered(r#","through":"web""#)));
                assert_eq!(policy.judge(&known), Ok(()));
            }
        }
    }

    #[test]
    fn a_question_without_an_answer_counts_under_no_policy() {
        let any = Policy { accept: vec![Through::Terminal], ..Policy::default() };
        for policy in [Policy::default(), any, requires(&SecretKey::generate())] {
            assert_eq!(policy.judge(&asked("")), Err(WhyRefused("it is a question, and has no answer".into())));
        }
    }

    #[test]
    fn a_default_and_an_event_count_only_if_the_question_says_so() {
        let policy = Policy { accept: vec![Through::Terminal], ..Policy::default() };
        let signed = requires(&SecretKey::generate());
        let over = r#","options":["a","b"],"default":"a","expires_at":"2026-01-01T00:00:00Z""#;
        let by =
            |by: &str, value: &str| format!(r#","answer":{{"value":"{value}","by":"{by}","channel":"file","at":"2026-01-01T00:00:01Z"}}"#);
        assert_eq!(policy.judge(&asked(&format!("{over}{}", by("default", "a")))), Ok(()));
        assert!(signed.judge(&asked(&format!("{over}{}", by("default", "a")))).is_err());
        let event = asked(&format!(r#","until":{{"file":"/a"}}{}"#, by("event", "/a")));
        assert_eq!((policy.judge(&event), signed.judge(&event)), (Ok(()), Ok(())));
        // The agent is told of a wait in vain, even if the question has a default.
        let wait = r#","until":{"file":"/a"},"default":"yes","expires_at":"2026-01-01T00:00:00Z""#;
        let in_vain = asked(&format!("{wait}{}", by("default", "the file /a did not come in time")));
        assert_eq!(signed.judge(&in_vain), Ok(()));
        assert_eq!(
            (policy.judge(&in_vain).is_err(), signed.judge(&asked(&format!("{wait}{}", by("default", "yes")))).is_err()),
            (true, true)
        );
        assert_eq!((signed.judge(&asked(r#","prompt":"do""#)), policy.judge(&asked(r#","prompt":"do""#))), (Ok(()), Ok(())));
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
        let results = r#","results":[{"workflow_id":"c","end":"delivered"}]"#;
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
                assert_eq!(judged(&format!(",\"{field}\":{value}")), Err(WhyRefused(problem)));
            }
            let of_both =
                r#","reads":["/x"],"type":"text","priority":1,"expires_at":"2026-01-01T00:00:00Z","on_expiry":"keep","remind_every":"4h""#;
            assert_eq!(judged(of_both), Ok(()));
            assert_eq!(judged(r#","answer":"a""#), Err(WhyRefused("it is not signed (answers.require_signed)".into())));
        }
        assert_eq!(signed.judge(&asked(r#","reads":["/x"]"#)), Err(WhyRefused("it is a question, and has no answer".into())));
    }
}
