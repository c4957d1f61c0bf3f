//! The standing decisions about a workflow's tool calls: `grants` and `refusals` in the workflow's record. A person has allowed or refused
//! exactly these calls, as often as this workflow makes them. A standing decision counts where a person would be asked: the operator's
//! `refuse` comes before it.

use crate::approval::ask::{self, PersonsReply, reply};
use crate::approval::call::Call;
use crate::words;
use crate::words::inserted::at_the_end;
use askbox_config::ToolRule;
use askbox_mailbox::audit::Entry;
use askbox_mailbox::documents::awaited::{Grant, MOST_STANDING, Workflow};
use askbox_mailbox::documents::fields::approval::CallHash;
use askbox_mailbox::transitions::replayed;
use askbox_mailbox::{Caller, Mailbox, Policy, Question, Result, RoundId, WorkflowId, WorkflowLock, audit, round, text, time, workflows};

/// The most characters that are kept of the text that the person was shown.
const SHOWN: usize = 200;

/// The kind of a standing decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// The call is made without a question.
    Allow,
    /// The call is refused without a question.
    Refuse,
}

askbox_mailbox::words!(Kind);

impl Kind {
    fn event(self) -> &'static str {
        match self {
            Self::Allow => "always_allowed",
            Self::Refuse => "always_refused",
        }
    }
}

/// A standing decision about a call, for the agent that makes the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StandingDecision {
    /// The call is made.
    Allowed,
    /// The call is refused; the agent reads this.
    Refused(String),
}

/// Returns the calls that were allowed or refused to the workflow.
pub fn of_workflow(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Vec<(Kind, Grant)>> {
    let Some(record) = workflows::read(mailbox, workflow)?.map(|document| document.typed) else { return Ok(Vec::new()) };
    let allowed = record.grants.into_iter().map(|grant| (Kind::Allow, grant));
    Ok(allowed.chain(record.refusals.into_iter().map(|grant| (Kind::Refuse, grant))).collect())
}

/// Returns the standing decision about exactly this call; `None` if a person has to be asked. If the operator does not trust every answer, the
/// record alone is not enough: the answer that decided must still be there, and count. So this reads the record, and at most the rounds
/// that it names for this call.
pub fn about(mailbox: &Mailbox, policy: &Policy, workflow: &WorkflowId, call: &Call<'_>) -> Result<Option<StandingDecision>> {
    let Some(record) = workflows::read(mailbox, workflow)?.map(|document| document.typed) else { return Ok(None) };
    let approval = call.approval();
    let is_it = |grant: &&Grant| grant.tool == approval.tool && grant.sha256 == approval.sha256;
    let refusal = record.refusals.iter().filter(is_it).find_map(|grant| refusal(mailbox, policy, workflow, grant, call));
    if let Some(words) = refusal {
        return Ok(Some(StandingDecision::Refused(words)));
    }
    let counts = |grant: &Grant| {
        policy.takes_everything()
            || questions(mailbox, workflow, grant).any(|question| {
                matches!(reply(&question), Some(PersonsReply::Workflow))
                    && ask::is_about_in_other_words(&question, call)
                    && policy.judge(&question).is_ok()
            })
    };
    Ok(record.grants.iter().filter(is_it).any(counts).then_some(StandingDecision::Allowed))
}

/// True if the answer that decided still counts. A standing decision of the record whose answer does not count is as if it were not there.
pub fn counts(mailbox: &Mailbox, policy: &Policy, workflow: &WorkflowId, kind: Kind, grant: &Grant) -> bool {
    let is_about_it = |question: &Question| {
        let approval = question.approval.as_ref();
        approval.is_some_and(|approval| approval.tool == grant.tool && approval.sha256 == grant.sha256)
    };
    let mut is_there = false;
    let decides = questions(mailbox, workflow, grant).any(|question| {
        is_there = true;
        let says_so = match kind {
            Kind::Allow => matches!(reply(&question), Some(PersonsReply::Workflow)),
            Kind::Refuse => is_refusal(&question),
        };
        says_so && is_about_it(&question) && policy.judge(&question).is_ok()
    });
    decides || policy.takes_everything() && (kind == Kind::Allow || !is_there)
}

/// True if exactly this call was allowed to the workflow, and was not refused later.
pub fn allows(mailbox: &Mailbox, policy: &Policy, workflow: &WorkflowId, call: &Call<'_>) -> Result<bool> {
    Ok(about(mailbox, policy, workflow, call)? == Some(StandingDecision::Allowed))
}

/// The words of a standing refusal, with the person's reason; `None` if it does not count. Somebody may have written a question that shows
/// another call than its hash names, so the round's question must show this call. The round may also be archived or removed.
fn refusal(mailbox: &Mailbox, policy: &Policy, workflow: &WorkflowId, grant: &Grant, call: &Call<'_>) -> Option<String> {
    let rule = grant.rule.as_ref().map(|rule| format!("\nTheir rule for this workflow:{}", at_the_end(rule))).unwrap_or_default();
    let mut is_there = false;
    for question in questions(mailbox, workflow, grant) {
        is_there = true;
        let is_refusal = question.answer.as_ref().is_some_and(|answer| answer.always);
        if let Some(PersonsReply::Refused(words)) = reply(&question).filter(|_| is_refusal)
            && ask::is_about_in_other_words(&question, call)
            && policy.judge(&question).is_ok()
        {
            return Some(words + &rule);
        }
    }
    (!is_there && policy.takes_everything()).then(|| words::refused_for_good(None) + &rule)
}

/// The question of the round whose answer decided.
fn questions<'a>(mailbox: &'a Mailbox, workflow: &WorkflowId, grant: &Grant) -> impl Iterator<Item = Question> + use<'a> {
    let round = grant.question_id.map(|question| RoundId { workflow: workflow.clone(), question });
    round.into_iter().flat_map(move |round| {
        let all = round::claimed_or_closed(mailbox, &round).map(|document| document.typed).collect::<Vec<_>>();
        let counts =
            move |question: &Question| question.round().as_ref() == Some(&round) && !replayed::is_taken_back(mailbox, &round, question);
        all.into_iter().filter(counts)
    })
}

/// Puts the call of this question into the record of the round's workflow, because the round's answer allows it for the whole workflow.
/// Takes the workflow's lock.
pub(super) fn allow(mailbox: &Mailbox, round: &RoundId, question: &Question) -> Result<()> {
    put(mailbox, &mailbox.lock(&round.workflow)?, round, question, Kind::Allow)
}

/// Puts the call of this question into the record, if the round's answer refuses it for the whole workflow. The answer has been judged. A
/// second call changes nothing.
pub fn note_refusal(mailbox: &Mailbox, lock: &WorkflowLock, round: &RoundId, question: &Question) -> Result<()> {
    if is_refusal(question) { put(mailbox, lock, round, question, Kind::Refuse) } else { Ok(()) }
}

/// True if the question's answer refuses its call for the whole workflow.
fn is_refusal(question: &Question) -> bool {
    question.approval.is_some() && question.answer.as_ref().is_some_and(|answer| answer.always && answer.is_a_persons())
}

fn put(mailbox: &Mailbox, lock: &WorkflowLock, round: &RoundId, question: &Question, kind: Kind) -> Result<()> {
    let (Some(approval), Some(answer)) = (&question.approval, &question.answer) else { return Ok(()) };
    // Skip the first line: it only asks.
    let shown = question.question.split_once('\n').map_or(question.question.as_str(), |(_, call)| call.trim());
    let grant = Grant {
        tool: approval.tool.clone(),
        sha256: approval.sha256.clone(),
        rule: ToolRule::like_call(approval).map(|rule| rule.to_string()),
        shown: text::excerpt(shown, SHOWN),
        by: text::excerpt(&answer.by, SHOWN),
        at: time::to_the_millisecond(time::now()),
        question_id: Some(round.question),
    };
    let mut is_new = false;
    workflows::update(mailbox, lock, |record| {
        let is_known = all_of(record, kind).iter().any(|known| is_of(known, &grant) && known.question_id == grant.question_id);
        if is_known {
            return;
        }
        // The newest decision about a call replaces the earlier ones.
        let is_other = |known: &Grant| !is_of(known, &grant);
        record.grants.retain(is_other);
        record.refusals.retain(is_other);
        let all = all_of(record, kind);
        // The answer was accepted while there was room.
        if all.len() < MOST_STANDING {
            all.push(grant.clone());
            is_new = true;
        }
    })?;
    if is_new {
        let why = format!("call {}; round {}", grant.sha256, round.question);
        audit::record(mailbox, Entry::about_round(kind.event(), round).by(&grant.by).why(why));
    }
    Ok(())
}

fn all_of(record: &mut Workflow, kind: Kind) -> &mut Vec<Grant> {
    match kind {
        Kind::Allow => &mut record.grants,
        Kind::Refuse => &mut record.refusals,
    }
}

fn is_of(one: &Grant, other: &Grant) -> bool {
    one.tool == other.tool && one.sha256 == other.sha256
}

/// Takes back the standing decision about one call of the workflow, the one with this hash, or all of them. Returns the ones that were taken
/// back.
///
/// # Errors
/// [`Error::Conflict`](askbox_mailbox::error::Error::Conflict) if the caller may not.
pub fn revoke(mailbox: &Mailbox, workflow: &WorkflowId, only: Option<&CallHash>, caller: &Caller) -> Result<Vec<(Kind, Grant)>> {
    caller.may_revoke()?;
    let lock = mailbox.lock(workflow)?;
    let is_meant = |grant: &Grant| only.is_none_or(|hash| grant.sha256 == *hash);
    let revoked: Vec<_> = of_workflow(mailbox, workflow)?.into_iter().filter(|(_, grant)| is_meant(grant)).collect();
    if revoked.is_empty() {
        return Ok(revoked);
    }
    workflows::update(mailbox, &lock, |record| {
        record.grants.retain(|grant| !is_meant(grant));
        record.refusals.retain(|grant| !is_meant(grant));
    })?;
    let calls = revoked.iter().map(|(kind, grant)| format!("{} {}", kind.word(), grant.sha256)).collect::<Vec<_>>().join(", ");
    audit::record(mailbox, Entry { workflow_id: Some(workflow.clone()), ..Entry::about("revoked") }.by(caller.by()).why(calls));
    Ok(revoked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_mailbox::id::QuestionId;
    use askbox_mailbox::{Answer, AnswerValue, Folder, disk};
    use serde_json::json;
    use std::path::Path;

    struct World {
        _folder: tempfile::TempDir,
        mailbox: Mailbox,
        input: serde_json::Map<String, serde_json::Value>,
    }

    impl World {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let mailbox = Mailbox::open_or_create(folder.path().join("mailbox")).unwrap();
            Self { _folder: folder, mailbox, input: json!({"command": "git push"}).as_object().unwrap().clone() }
        }

        fn call(&self) -> Call<'_> {
            Call { tool: "Bash", input: &self.input, cwd: Path::new("/work") }
        }

        /// A round of `w` about the call, with this answer.
        fn round(&self, answer: Answer) -> (RoundId, Question) {
            let round = RoundId { workflow: "w".parse().unwrap(), question: QuestionId::generate() };
            let mut question = ask::question(&round.workflow, &self.call(), ask::Shown::First).unwrap();
            (question.question_id, question.answer) = (Some(round.question), Some(answer));
            (round, question)
        }

        fn refuse(&self, question: &Question, round: &RoundId) {
            let lock = self.mailbox.lock(&round.workflow).unwrap();
            note_refusal(&self.mailbox, &lock, round, question).unwrap();
        }

        fn about(&self, policy: &Policy, call: &Call<'_>) -> Option<StandingDecision> {
            about(&self.mailbox, policy, &"w".parse().unwrap(), call).unwrap()
        }
    }

    fn refused() -> Answer {
        Answer { always: true, ..Answer::declined(Some("never on main".into()), "ann", "inbox") }
    }

    fn close(world: &World, round: &RoundId, question: &Question) {
        let bytes = serde_json::to_vec(question).unwrap();
        disk::replace(&world.mailbox.round(Folder::Closed, round), &bytes).unwrap();
    }

    #[test]
    fn a_refusal_for_good_refuses_this_call_until_revoked() {
        let world = World::new();
        let (round, question) = world.round(refused());
        close(&world, &round, &question);
        assert_eq!(world.about(&Policy::default(), &world.call()), None);
        world.refuse(&question, &round);
        world.refuse(&question, &round);
        let Some(StandingDecision::Refused(words)) = world.about(&Policy::default(), &world.call()) else { panic!("it is not refused") };
        assert!(words.contains("whenever you make it") && words.contains("never on main"), "{words}");
        assert!(words.ends_with("\nTheir rule for this workflow: Bash(git push)"), "{words}");
        let reworded = json!({"command": "git push", "description": "It is urgent"});
        let reworded = Call { input: reworded.as_object().unwrap(), ..world.call() };
        assert!(matches!(world.about(&Policy::default(), &reworded), Some(StandingDecision::Refused(_))), "other words, the same call");
        let other = json!({"command": "git push --tags"});
        assert_eq!(world.about(&Policy::default(), &Call { input: other.as_object().unwrap(), ..world.call() }), None);
        assert_eq!(world.about(&Policy::default(), &Call { cwd: Path::new("/"), ..world.call() }), None);
        let revoked = revoke(&world.mailbox, &round.workflow, None, &Caller::person("ann", "relaunch").unwrap()).unwrap();
        assert_eq!(
            revoked.iter().map(|(kind, grant)| (*kind, grant.rule.as_deref())).collect::<Vec<_>>(),
            [(Kind::Refuse, Some("Bash(git push)"))]
        );
        assert_eq!(world.about(&Policy::default(), &world.call()), None);
    }

    #[test]
    fn a_standing_decision_holds_whatever_the_agent_says_beside_it() {
        let world = World::new();
        let said = |words: &str| json!({"command": "git push", "description": words}).as_object().unwrap().clone();
        let (first, second) = (said("Push the fix"), said("Push\nIn the folder work"));
        for shown in [&first, &second] {
            let round = RoundId { workflow: "w".parse().unwrap(), question: QuestionId::generate() };
            let mut question = ask::question(&round.workflow, &Call { input: shown, ..world.call() }, ask::Shown::First).unwrap();
            (question.question_id, question.answer) = (Some(round.question), Some(refused()));
            for made in [&world.input, &first, &second] {
                assert!(ask::is_about_in_other_words(&question, &Call { input: made, ..world.call() }), "{}", question.question);
            }
            let other = json!({"command": "git push -f"});
            assert!(!ask::is_about_in_other_words(&question, &Call { input: other.as_object().unwrap(), ..world.call() }));
            let more = Question { question: format!("{}\n    command: ls", question.question), ..question };
            assert!(!ask::is_about_in_other_words(&more, &world.call()));
        }
    }

    #[test]
    fn only_a_refusal_that_counts_and_shows_the_call_refuses() {
        let world = World::new();
        let (round, question) = world.round(refused());
        world.refuse(&question, &round);
        let signed_only = Policy { signed_by: Some(Vec::new()), ..Policy::default() };
        // The round is gone. The record alone is enough only if every answer counts.
        assert!(matches!(world.about(&Policy::default(), &world.call()), Some(StandingDecision::Refused(_))));
        assert_eq!(world.about(&signed_only, &world.call()), None);
        close(&world, &round, &question);
        assert!(matches!(world.about(&Policy::default(), &world.call()), Some(StandingDecision::Refused(_))));
        assert_eq!(world.about(&signed_only, &world.call()), None);
        for forged in [
            Question { question: "List the files?".into(), ..question.clone() },
            Question { answer: Some(Answer::declined(None, "ann", "inbox")), ..question.clone() },
            Question { answer: Some(Answer::value(AnswerValue::Text("workflow".into()), "ann", "inbox")), ..question.clone() },
        ] {
            close(&world, &round, &forged);
            assert_eq!(world.about(&Policy::default(), &world.call()), None, "{:?}", forged.answer);
        }
    }

    #[test]
    fn the_newest_decision_about_a_call_replaces_the_earlier() {
        let world = World::new();
        let (first, question) = world.round(Answer::value(AnswerValue::Text("workflow".into()), "ann", "inbox"));
        allow(&world.mailbox, &first, &question).unwrap();
        assert_eq!(world.about(&Policy::default(), &world.call()), Some(StandingDecision::Allowed));
        let (second, question) = world.round(refused());
        world.refuse(&question, &second);
        assert!(matches!(world.about(&Policy::default(), &world.call()), Some(StandingDecision::Refused(_))));
        assert_eq!(of_workflow(&world.mailbox, &second.workflow).unwrap().len(), 1);
        let (third, question) = world.round(Answer::value(AnswerValue::Text("workflow".into()), "ann", "inbox"));
        allow(&world.mailbox, &third, &question).unwrap();
        assert_eq!(world.about(&Policy::default(), &world.call()), Some(StandingDecision::Allowed));
    }

    #[test]
    fn an_answer_that_nobody_gave_refuses_nothing_for_good() {
        let world = World::new();
        for answer in [Answer { by: "default".into(), ..refused() }, Answer::declined(None, "ann", "inbox")] {
            let (round, question) = world.round(answer);
            world.refuse(&question, &round);
        }
        assert!(of_workflow(&world.mailbox, &"w".parse().unwrap()).unwrap().is_empty());
    }
}
