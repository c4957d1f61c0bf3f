//! What the answer to an approval question allows.

use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::trust::Policy;
use crate::mailbox::{Mailbox, Question};
use crate::run::approval::ask::{self, Shown};
use crate::run::approval::call::Call;
use crate::run::approval::grants;
use crate::run::approval::reply::{Reply, reply};
use crate::run::attempt::used_answer::Use;

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permit {
    /// It may be made now, once. The answer is used.
    Allowed,
    /// It is refused; the agent reads this.
    Refused(String),
    /// Nobody has decided about it: a person has to be asked.
    Ask(Shown),
}

/// What becomes of a call whose approval question was answered in this round. Only an answer to exactly this call counts. Once this says
/// *allowed*, it never says so again for this round, whatever dies.
///
/// # Errors
/// If the mark or the grant cannot be written: the call must not be made.
pub fn permit(mailbox: &Mailbox, policy: &Policy, round: &RoundId, question: &Question, call: &Call<'_>) -> Result<Permit> {
    let Some(reply) = reply(question).filter(|_| ask::shows(question, call)) else { return Ok(Permit::Ask(Shown::First)) };
    if let Err(why) = policy.judge(question) {
        return Ok(Permit::Refused(format!("Nobody has allowed this call: an answer lies there that does not count ({}).", why.0)));
    }
    match reply {
        Reply::Refused(words) => return Ok(Permit::Refused(words)),
        // The person said so for every call of this kind. A revoked grant is asked for again.
        Reply::Workflow if is_used(mailbox, round) && grants::covers(mailbox, policy, &round.workflow, call)? => {
            return Ok(Permit::Allowed);
        }
        Reply::Once | Reply::Workflow => {}
    }
    if !Use::Approved.take(mailbox, round)? {
        return Ok(Permit::Ask(Shown::PerhapsMade));
    }
    let by = question.answer.as_ref().map(|answer| answer.by.as_str()).unwrap_or_default();
    if matches!(reply, Reply::Workflow) {
        grants::add(mailbox, round, call, by)?;
    }
    audit::record(mailbox, Entry::of("allowed", round).by(by));
    Ok(Permit::Allowed)
}

/// What the agent reads if the answer refuses the call; `None` if it allows it, or if there is none.
#[must_use]
pub fn refusal(question: &Question) -> Option<String> {
    match reply(question) {
        Some(Reply::Refused(words)) => Some(words),
        Some(Reply::Once | Reply::Workflow) | None => None,
    }
}

/// What a session reads that makes a call again, because it does not wait with that call. The message itself allows nothing.
#[must_use]
pub fn in_words(question: &Question) -> String {
    let how = match reply(question) {
        Some(Reply::Refused(words)) => return words,
        Some(Reply::Once) => "once (exactly this call, one time)",
        Some(Reply::Workflow) => "workflow (exactly this call, whenever you make it)",
        None => return "Nobody has decided about this call: it is not allowed.".into(),
    };
    format!(
        "User chose: {how}.\nThe call was not made. Make it again now, with exactly the same input and in the same folder: it is let through. A call that differs in anything is asked about anew."
    )
}

/// Whether the answer counts and allows exactly this call, used or not.
#[must_use]
pub fn allows(policy: &Policy, question: &Question, call: &Call<'_>) -> bool {
    policy.judge(question).is_ok() && ask::shows(question, call) && matches!(reply(question), Some(Reply::Once | Reply::Workflow))
}

/// Whether the round's answer has allowed a call.
#[must_use]
pub fn is_used(mailbox: &Mailbox, round: &RoundId) -> bool {
    Use::Approved.is_taken(mailbox, round)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk;
    use crate::id::{QuestionId, WorkflowId};
    use crate::mailbox::{Answer, AnswerValue};
    use serde_json::{Map, Value, json};
    use std::path::Path;

    struct Answered {
        _folder: tempfile::TempDir,
        mailbox: Mailbox,
        round: RoundId,
        input: Map<String, Value>,
    }

    impl Answered {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let mailbox = Mailbox::open_or_create(folder.path().join("mailbox")).unwrap();
            let round = RoundId { workflow: "w".parse::<WorkflowId>().unwrap(), question: QuestionId::generate() };
            disk::create_folder(&mailbox.runs_of(&round)).unwrap();
            Self { _folder: folder, mailbox, round, input: json!({"command": "git push"}).as_object().unwrap().clone() }
        }

        fn call(&self) -> Call<'_> {
            Call { tool: "Bash", input: &self.input, cwd: Path::new("/work") }
        }

        fn permit(&self, answer: Option<Answer>, call: &Call<'_>) -> Permit {
            let mut question = ask::question(&self.round.workflow, &self.call(), Shown::First).unwrap();
            question.answer = answer;
            permit(&self.mailbox, &Policy::default(), &self.round, &question, call).unwrap()
        }
    }

    fn word(word: &str, by: &str) -> Option<Answer> {
        Some(Answer::value(AnswerValue::Text(word.into()), by, "ask-answer"))
    }

    #[test]
    fn an_answer_allows_its_call_once() {
        let world = Answered::new();
        assert_eq!(world.permit(word("once", "ann"), &world.call()), Permit::Allowed);
        assert_eq!(world.permit(word("once", "ann"), &world.call()), Permit::Ask(Shown::PerhapsMade));
        assert!(is_used(&world.mailbox, &world.round));
    }

    #[test]
    fn no_other_call_and_no_other_answer_is_an_approval_and_none_of_them_uses_the_answer() {
        let world = Answered::new();
        let other = json!({"command": "git push --force"});
        let other = Call { input: other.as_object().unwrap(), ..world.call() };
        assert_eq!(world.permit(word("once", "ann"), &other), Permit::Ask(Shown::First));
        assert_eq!(world.permit(None, &world.call()), Permit::Ask(Shown::First));
        for answer in [word("Once", "ann"), word("", "ann"), word("yes", "ann"), word("once", "default"), word("workflow", "event")] {
            assert!(matches!(world.permit(answer.clone(), &world.call()), Permit::Refused(_)), "{answer:?}");
        }
        let refused = world.permit(Some(Answer::declined(Some("not today".into()), "ann", "ask-answer")), &world.call());
        assert!(matches!(&refused, Permit::Refused(words) if words.contains("They say: not today")), "{refused:?}");
        assert!(!is_used(&world.mailbox, &world.round));
    }

    #[test]
    fn what_is_allowed_to_a_workflow_stays_allowed_until_it_is_revoked() {
        let world = Answered::new();
        assert!(!grants::covers(&world.mailbox, &Policy::default(), &world.round.workflow, &world.call()).unwrap());
        assert_eq!(world.permit(word("workflow", "ann"), &world.call()), Permit::Allowed);
        assert!(grants::covers(&world.mailbox, &Policy::default(), &world.round.workflow, &world.call()).unwrap());
        assert_eq!(world.permit(word("workflow", "ann"), &world.call()), Permit::Allowed);
        assert_eq!(grants::revoke(&world.mailbox, &world.round.workflow, None, "ann").unwrap().len(), 1);
        assert!(!grants::covers(&world.mailbox, &Policy::default(), &world.round.workflow, &world.call()).unwrap());
        assert_eq!(world.permit(word("workflow", "ann"), &world.call()), Permit::Ask(Shown::PerhapsMade));
    }
}
